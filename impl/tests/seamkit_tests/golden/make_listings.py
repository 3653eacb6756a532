"""Keep of a real table what lists its files: names, timeline, metadata table; rows become zeros.

Run: python make_listings.py TABLE NAME, for a table that Spark and Hudi wrote with
`hoodie.metadata.enable` on. The result is NAME.zip beside this file.
"""

import sys
import zipfile
from pathlib import Path


def pack(table: Path, target: Path) -> None:
    """Write the archive."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(table.rglob("*")):
            if not path.is_file() or path.suffix == ".crc":
                continue
            name = path.relative_to(table)
            content = path.read_bytes()
            if name.parts[0] != ".hoodie" and path.name != ".hoodie_partition_metadata":
                content = bytes(len(content))
            entry = zipfile.ZipInfo(str(name), (2020, 1, 1, 0, 0, 0))
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(__file__).parent / f"{sys.argv[2]}.zip")
