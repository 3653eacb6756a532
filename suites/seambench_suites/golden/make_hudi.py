"""Build the golden Hudi tables: Spark and Hudi write what each `hudi/*/table.toml` tells.

Usage: `python make_hudi.py [NAME | NAME/VARIANT ...]`; without names, every table whose declaration
has changed since it was written. `python make_hudi.py --spec FILE --to FOLDER` writes the tables of
any declaration, unpacked, for a look. Each version of Hudi runs in a process of its own.

The bytes are Hudi's own; only left-over temporary folders and, unless `side_files` is set, Hadoop's
checksum side files are left out. Instants, writer versions and digests go into `origin.toml` beside
the archive, so that cases can name commits by their number.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seambench.formats.golden import declaration, load_origin, table_folders
from seambench.formats.hudi.golden import TableSpec, load_table
from seambench_suites.hudi.writer import Written, bundle, session, write_table

__all__ = ["main"]

ROOT = Path(__file__).parent.parent
#: Some of Hudi's plans hold absolute paths; tables are made where no path tells of a machine.
WORK = Path(tempfile.gettempdir()) / "golden-hudi"


def _pack(table: Path, archive: Path, *, side_files: bool) -> None:
    """Write a table's folder as a zip, entries sorted and dated alike."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(table.rglob("*")):
            name = file.relative_to(table).as_posix()
            if file.suffix == ".crc" and not side_files:
                continue
            info = zipfile.ZipInfo(name + ("/" if file.is_dir() else ""), (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, b"" if file.is_dir() else file.read_bytes())


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_fresh(folder: Path) -> bool:
    """Whether a table is there and was made from its declaration as it now is."""
    if not (folder / "table.zip").exists():
        return False
    made_from = load_origin(folder).spec
    return made_from in ("", _digest(declaration(folder)))


def _build(spark: Any, folder: Path) -> None:
    """Write one golden table and its origin into `folder`."""
    spec = load_table(folder)
    table = WORK / spec.name
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    written = write_table(spark, spec, table)
    shutil.rmtree(table / ".hoodie" / ".temp", ignore_errors=True)
    folder.mkdir(exist_ok=True)
    archive = folder / "table.zip"
    _pack(table, archive.with_suffix(".tmp"), side_files=spec.side_files)
    archive.with_suffix(".tmp").replace(archive)
    shutil.rmtree(table)
    text = _origin(spark.version, spec, written, archive, declaration(folder))
    (folder / "origin.toml").write_text(text, encoding="utf-8")


def _origin(spark: str, spec: TableSpec, written: Written, archive: Path, toml: Path) -> str:
    """Text of `origin.toml`."""
    lines = [
        "# Written by make_hudi.py.",
        f'writer = "Spark {spark}, {bundle(spec.hudi)}"',
        f"made = {dt.date.today().isoformat()}",
        f"instants = {_strings(written.instants)}",
    ]
    if any(written.completions):
        lines.append(f"completions = {_strings(written.completions)}")
    lines += [f'sha256 = "{_digest(archive)}"', f'spec = "{_digest(toml)}"']
    return "\n".join(lines) + "\n"


def _strings(values: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _work(hudi: str, jobs: Sequence[str], to: Path | None) -> None:
    """Make tables with one version of Hudi, in this process.

    Args:
        hudi: the version.
        jobs: folders of golden tables; with `to`, one declaration and names of its variants.
        to: folder for unpacked tables.
    """
    spark = session(hudi)
    failed = []
    for job in jobs if to is None else jobs[1:]:
        sys.stderr.write(f"{job} ...\n")
        try:
            if to is None:
                _build(spark, Path(job))
            else:
                _write_unpacked(spark, Path(jobs[0]), job, to)
        except Exception as error:  # one that cannot be made should not keep others from it
            failed.append(job)
            sys.stderr.write(f"{job} FAILED: {type(error).__name__}: {str(error)[:2000]}\n")
    spark.stop()
    if failed:
        raise SystemExit(f"not made: {', '.join(failed)}")


def _write_unpacked(spark: Any, file: Path, variant: str, to: Path) -> None:
    """Write a declaration's variant into `to/NAME-VARIANT`, its origin beside it."""
    spec = load_table(file.parent / variant, file)
    table = to / f"{file.stem}-{variant}"
    shutil.rmtree(table, ignore_errors=True)
    written = write_table(spark, spec, table)
    lines = [f"instants = {_strings(written.instants)}"]
    lines.append(f"completions = {_strings(written.completions)}")
    (to / f"{file.stem}-{variant}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _start(hudi: str, jobs: Sequence[str], to: Path | None) -> int:
    """Make tables in a process of their own; its exit code."""
    command = [sys.executable, __file__, "--worker", hudi, *jobs]
    return subprocess.run(command + (["--to", str(to)] if to else []), check=False).returncode


def main() -> None:
    """Build the tables named on the command line, or all that are not fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--spec", type=Path, help="a declaration anywhere")
    parser.add_argument("--to", type=Path, help="folder for its tables")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        _work(asked.worker, asked.names, asked.to)
        return
    jobs: dict[str, list[str]] = {}
    if asked.spec:
        if not asked.to:
            parser.error("--spec needs --to")
        asked.to.mkdir(parents=True, exist_ok=True)
        variants = tomllib.loads(asked.spec.read_text(encoding="utf-8"))["variants"]
        for variant in asked.names or variants:
            hudi = load_table(asked.spec.parent / variant, asked.spec).hudi
            jobs.setdefault(hudi, [str(asked.spec)]).append(variant)
    else:
        for folder in table_folders(ROOT, "hudi"):
            name = folder.relative_to(ROOT / "golden" / "hudi").as_posix()
            named = name in asked.names or name.partition("/")[0] in asked.names
            if named or (not asked.names and not _is_fresh(folder)):
                jobs.setdefault(load_table(folder).hudi, []).append(str(folder))
    codes = [_start(hudi, listed, asked.to) for hudi, listed in sorted(jobs.items())]
    if any(codes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
