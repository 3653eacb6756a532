"""Build golden tables: Spark carries out what each `<format>/*/table.toml` declares.

Usage: `python make_tables.py [--format NAME] [TABLE | TABLE/VARIANT ...]`; without tables, every
one whose declaration has changed since it was written. `python make_tables.py --format NAME --spec
FILE --to FOLDER` writes the tables of any declaration, unpacked, for a look. Each version of a
format's writer runs in a process of its own.

The bytes are the writer's own; only left-over temporary folders and, unless `side_files` is set,
Hadoop's checksum side files are left out. Commits, writer versions and digests go into
`origin.toml` beside the archive, so that cases can name commits by the number of their step, and
what the engine itself reads after each step into `witness.json`, where the format keeps that.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.contracts.formats import TableFormat, format_names, resolve_format
from seambench.formats.golden import (
    declaration,
    file_digest,
    load_origin,
    origin_text,
    pack,
    small_session,
    table_folders,
)

ROOT = Path(__file__).parent.parent
#: Some plans hold absolute paths; tables are made where no path tells of a machine.
WORK = Path(tempfile.gettempdir())

Key = tuple[str, str]
"""Name of a format, and version of its writer or an empty text."""


def _is_fresh(folder: Path) -> bool:
    """Whether a table is there and was made from its declaration as it now is."""
    if not (folder / "table.zip").exists():
        return False
    return load_origin(folder).spec in ("", file_digest(declaration(folder)))


def _build(session: Any, format_: TableFormat, folder: Path) -> None:
    """Write one golden table and its origin into `folder`."""
    spec: Any = format_.golden.load_table(folder)
    if recipe := getattr(spec, "recipe", ""):
        raise UsageError(f"another writer made it: python -m {recipe}")
    table = WORK / f"golden-{format_.name}" / spec.name
    shutil.rmtree(table, ignore_errors=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    written = format_.writer.write_table(session, spec, table)
    folder.mkdir(exist_ok=True)
    archive = folder / "table.zip"
    pack(table, archive, side_files=getattr(spec, "side_files", False))
    shutil.rmtree(table)
    packages = format_.bundle(format_.writer.writer_version(spec)).packages
    writer = f"Spark {session.version}, {', '.join(packages)}"
    text = origin_text(writer, archive, declaration(folder), written)
    (folder / "origin.toml").write_text(text, encoding="utf-8")
    if written.witness:
        lines = ",\n".join(json.dumps(step, ensure_ascii=False) for step in written.witness)
        (folder / "witness.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _write_unpacked(session: Any, format_: TableFormat, file: Path, variant: str, to: Path) -> None:
    """Write a declaration's variant into `to/NAME-VARIANT`, its commits beside it."""
    spec = format_.golden.load_table(file.parent / variant, file)
    table = to / f"{file.stem}-{variant}"
    shutil.rmtree(table, ignore_errors=True)
    written = format_.writer.write_table(session, spec, table)
    lines = [f"instants = {written.instants}", f"completions = {written.completions}"]
    (to / f"{file.stem}-{variant}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _work(key: Key, jobs: Sequence[str], to: Path | None) -> None:
    """Make tables with one version of a writer, in this process.

    Jobs are folders of golden tables; with `to`, a folder for unpacked tables, one declaration and
    names of its variants.
    """
    format_, failed = resolve_format(key[0]), []
    with small_session(format_, key[1] or None) as session:
        for job in jobs if to is None else jobs[1:]:
            sys.stderr.write(f"{job} ...\n")
            try:
                if to is None:
                    _build(session, format_, Path(job))
                else:
                    _write_unpacked(session, format_, Path(jobs[0]), job, to)
            except Exception as error:  # one that cannot be made should not keep others from it
                failed.append(job)
                sys.stderr.write(f"{job} FAILED: {type(error).__name__}: {str(error)[:2000]}\n")
    if failed:
        raise SystemExit(f"not made: {', '.join(failed)}")


def _start(key: Key, jobs: Sequence[str], to: Path | None) -> int:
    """Make tables in a process of their own; its exit code."""
    command = [sys.executable, __file__, "--worker", "@".join(key), *jobs]
    return subprocess.run(command + (["--to", str(to)] if to else []), check=False).returncode


def _chosen(format_: TableFormat, names: Sequence[str]) -> dict[Key, list[str]]:
    """Folders of the golden tables to be made, by their writer."""
    jobs: dict[Key, list[str]] = {}
    for folder in table_folders(ROOT, format_.name):
        name = folder.relative_to(ROOT / "golden" / format_.name).as_posix()
        named = name in names or name.partition("/")[0] in names
        if named or (not names and not _is_fresh(folder)):
            version = format_.writer.writer_version(format_.golden.load_table(folder))
            jobs.setdefault((format_.name, version or ""), []).append(str(folder))
    return jobs


def _of_declaration(format_: TableFormat, file: Path, names: Sequence[str]) -> dict[Key, list[str]]:
    """Variants of a declaration to be made, by their writer."""
    jobs: dict[Key, list[str]] = {}
    declared = tomllib.loads(file.read_text(encoding="utf-8"))
    for variant in names or declared.get("variants", [file.stem]):
        spec = format_.golden.load_table(file.parent / variant, file)
        key = format_.name, format_.writer.writer_version(spec) or ""
        jobs.setdefault(key, [str(file)]).append(variant)
    return jobs


def main() -> None:
    """Build the tables named on the command line, or all that are not fresh."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--format", help="of the tables; all formats if none is named")
    parser.add_argument("--spec", type=Path, help="a declaration anywhere")
    parser.add_argument("--to", type=Path, help="folder for its tables")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        name, _, version = given.worker.partition("@")
        _work((name, version), given.names, given.to)
        return
    jobs: dict[Key, list[str]] = {}
    if given.spec:
        if not (given.to and given.format):
            parser.error("--spec needs --format and --to")
        given.to.mkdir(parents=True, exist_ok=True)
        jobs = _of_declaration(resolve_format(given.format), given.spec, given.names)
    else:
        for name in [given.format] if given.format else format_names():
            jobs |= _chosen(resolve_format(name), given.names)
    codes = [_start(key, listed, given.to) for key, listed in sorted(jobs.items())]
    if any(codes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
