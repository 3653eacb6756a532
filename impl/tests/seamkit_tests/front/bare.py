"""Reads tables in an environment that has the wheel and nothing else.

    python bare.py FOLDER

The folder holds golden tables (`FORMAT/NAME/table.zip`); of each format one is read.
Then the library must import quickly, and the command must say what it lacks.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_PACKAGES = 9
#: What an environment itself may bring.
_TOOLS = {"pip", "setuptools", "wheel"}
#: A table of each format, the folder of its metadata, and how many rows a real engine reads.
_TABLES = {
    "hudi": ("mor-v9-event", ".hoodie", 8),
    "delta": ("vectors-several", "_delta_log", 4),
    "iceberg": ("vectors-shared", "metadata", 2),
}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def packages() -> set[str]:
    """Names of the installed packages besides our own."""
    names = {dist.metadata["Name"].lower() for dist in importlib.metadata.distributions()}
    return names - _TOOLS - {"seambench"}


def rows_of(golden: Path, name: str, marker: str) -> int:
    """Rows of a golden table, through the library's front door."""
    import seamkit

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(golden / name / "table.zip") as archive:
            archive.extractall(folder)
        (found, *_) = sorted(path.parent for path in Path(folder).rglob(marker))
        return int(seamkit.open_table(found).scan().count_rows())


def main() -> int:
    """Check the number of packages, read the tables, try the command; the exit code."""
    found = packages()
    if len(found) > MOST_PACKAGES:
        _say(f"{len(found)} packages, at most {MOST_PACKAGES} are meant: {sorted(found)}")
        return 1
    for format_ in _TABLES:
        golden = Path(sys.argv[1]) / format_
        name, marker, expected = _TABLES[golden.name]
        rows = rows_of(golden, name, marker)
        if rows != expected:
            _say(f"{golden.name}/{name}: {rows} rows, {expected} are right")
            return 1
        _say(f"{golden.name}/{name}: {rows} rows")
    done = subprocess.run(["seambench", "list"], capture_output=True, text=True, check=False)
    if done.returncode != 2 or "pip install '.[bench]'" not in done.stderr:
        _say(f"seambench without its extra: code {done.returncode}, {done.stderr!r}")
        return 1
    _say(f"{len(found)} packages: {', '.join(sorted(found))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
