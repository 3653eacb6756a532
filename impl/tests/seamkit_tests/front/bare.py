"""Reads tables in an environment that has the library's wheel and nothing else.

    python bare.py FOLDER

The folder holds golden tables (`FORMAT/NAME/table.zip`); of each format one is read. What an extra
would bring is refused with what to install.
"""

import importlib.metadata
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

MOST_PACKAGES = 8
_OURS = {"seamkit", "seambase"}
#: What an environment itself may bring.
_TOOLS = {"pip", "setuptools", "wheel"}
#: A table of each format, a folder or file beside its data, and how many rows a real engine reads.
_TABLES = {
    "hudi": ("mor-v9-event", ".hoodie", 8),
    "delta": ("vectors-several", "_delta_log", 4),
    "iceberg": ("vectors-shared", "metadata", 2),
    "paimon": ("pk-levels", "snapshot", 31),
    "hive": ("orc-evolved", "_hive_table.json", 2),
}


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def packages() -> set[str]:
    """Names of the installed packages besides our own."""
    names = {dist.metadata["Name"].lower() for dist in importlib.metadata.distributions()}
    return names - _TOOLS - _OURS


def rows_of(golden: Path, name: str, marker: str) -> int:
    """Rows of a golden table, through `open_table`."""
    import seamkit

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(golden / name / "table.zip") as archive:
            archive.extractall(folder)
        (found, *_) = sorted(path.parent for path in Path(folder).rglob(marker))
        table = seamkit.open_table(found)
        _require_advice(table)
        _require_command(found)
        return int(table.scan().to_table().num_rows)


def _require_advice(table: Any) -> None:
    """What a condition in SQL needs is named, as a user would type it."""
    import seamkit

    try:
        table.scan(filter="k = 1").to_table()
    except seamkit.UnavailableError as error:
        if "pip install duckdb" in str(error):
            return
        raise
    sys.exit("a condition in SQL was read without DuckDB")


def _require_command(folder: Path) -> None:
    """The command needs no more than the library."""
    program = Path(sys.executable).parent / "seamkit"
    done = subprocess.run([program, "scan", folder], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.rstrip().endswith("rows"):
        sys.exit(f"seamkit scan {folder}: {done.returncode}\n{done.stdout}{done.stderr}")


def _require_vectors() -> None:
    """Of the core's copies for several instruction sets that runs which fits the machine."""
    from seamkit.core._seam import ffi, lib

    known = Path("/proc/cpuinfo")
    flags = set(known.read_text().split()) if known.exists() else set()
    wide = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "bmi2", "fma"}
    fits = "avx512" if wide <= flags else "avx2" if "avx2" in flags else "portable"
    runs = ffi.string(lib.seam_vectors()).decode()
    if runs != fits and platform.machine() == "x86_64":
        sys.exit(f"the core runs its loops for {runs}, this machine has {fits}")
    _say(f"the core's loops: {runs}")


def main() -> int:
    """Check the number of packages, and read the tables; the exit code."""
    found = packages()
    _require_vectors()
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
    _say(f"{len(found)} packages: {', '.join(sorted(found))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
