"""Golden tables: small tables of real engines, how they are written, kept and put in their place.

A folder `golden/<format>/<table>` of a suite holds `table.toml` (the steps, declared), `table.zip`
(the engine's bytes; an archive, so that names with leading dots survive packaging) and
`origin.toml` (writer, commits, digest). Where `table.toml` names `variants`, archive and origin lie
in a folder for each: the same steps as other versions of the engine carried them out. What the
steps are called and what a variant's name means is the format's.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import hashlib
import json
import os
import threading
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from seambase.errors import InputError, UnavailableError, UsageError
from seambench.contracts.data_files import build
from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import CommitRequest, Edit, Origin, TableSpec, Written
from seambench.engines.spark import SparkOptions, spark_session
from seambench.formats.edits import apply_edits


@dataclass(frozen=True)
class GoldenTable:
    """A golden table, or a variant of one."""

    format: TableFormat  # what its bytes are
    folder: Path  # folder of its archive
    spec: TableSpec

    @cached_property
    def origin(self) -> Origin:
        """Who wrote it."""
        return load_origin(self.folder)

    def needs(self, request: CommitRequest) -> tuple[str, ...]:
        """Capabilities that a reader must state to be asked something of it."""
        special = self.format.golden.needs(self.spec, request)
        needs = [f"formats.{self.format.name}", f"query.{request.query}", *special]
        if request.as_of is not None:
            needs.append("as-of")
        if request.strict:
            needs.append("strict")
        if request.row_kinds:
            needs.append("row-kinds")
        return tuple(dict.fromkeys(needs))

    def unpack(self, target: Path, edits: Sequence[Edit] = ()) -> Path | None:
        """Unpack it into a folder, after checking its digest, and edit it.

        Where its own bytes say that it lies is told, if they name a place.
        """
        archive = self.folder / "table.zip"
        if hashlib.sha256(archive.read_bytes()).hexdigest() != self.origin.sha256:
            raise InputError(
                f"{archive} is not the archive that origin.toml describes; make it again"
            )
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(target)
        self.format.golden.settle(target)
        home = None if self.format.home is None else self.format.home(target)
        apply_edits(target, edits, self.origin, self.format.damage)
        return home


@cache
def golden_table(format_: TableFormat, folder: Path) -> GoldenTable:
    """The golden table of a folder."""
    return GoldenTable(format_, folder, format_.golden.load_table(folder))


def table_folders(root: Path, format_name: str) -> list[Path]:
    """Folders of all golden tables of a format below a suite's root, one per variant."""
    folders = []
    for file in sorted(root.glob(f"golden/{format_name}/*/table.toml")):
        variants = _read(file).get("variants")
        folders += [file.parent / v for v in variants] if variants else [file.parent]
    return folders


def declaration(folder: Path) -> Path:
    """The `table.toml` of a table or variant."""
    own = folder / "table.toml"
    return own if own.exists() else folder.parent / "table.toml"


def read_declaration(
    folder: Path, file: Path | None, variant: Callable[[str, Path], Mapping[str, Any]]
) -> tuple[Path, dict[str, Any]]:
    """Content of a declaration, with `name`, and for a variant with what its name means.

    It is the folder's own `table.toml` or, for a variant, that of the folder above.
    """
    file = file or declaration(folder)
    data = _read(file)
    data["name"] = folder.name
    if variants := data.pop("variants", None):
        if folder.name not in variants:
            raise UsageError(f"{file} has no variant {folder.name!r}; it has {variants}")
        data |= variant(folder.name, file)
        data["name"] = f"{file.parent.name}/{folder.name}"
    return file, data


def load_origin(folder: Path) -> Origin:
    """Read `origin.toml` of a golden table."""
    file = folder / "origin.toml"
    data = _read(file)
    data["made"] = str(data.get("made"))
    return build(Origin, data, file)


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


#: Homes that are taken in this process, with the threads that took them.
_TAKEN: dict[Path, int] = {}


@contextmanager
def placed(table: Path, home: Path | None) -> Iterator[None]:
    """For as long as this lasts, a table can be reached at the home that its bytes name, if any.

    By one process at a time: the next one may have damaged the same table.
    """
    if home is None:
        yield
        return
    if _TAKEN.get(home) == threading.get_ident():
        raise UsageError(f"{home}: two tables that name this place are not read at once: end one")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        lock = (home.parent / f".{home.name}.lock").open("a")
    except OSError as error:
        raise _cannot(home, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if home.is_symlink():  # of a process that was killed
                home.unlink()
            home.symlink_to(table.absolute())
        except FileExistsError as error:
            raise UnavailableError(
                f"{home}: something lies where a table must be that names this place: move it away"
            ) from error
        except OSError as error:
            raise _cannot(home, error) from error
        _TAKEN[home] = threading.get_ident()
        try:
            yield
        finally:
            del _TAKEN[home]
            home.unlink()


def _cannot(home: Path, error: OSError) -> UnavailableError:
    return UnavailableError(f"{home}: a table that names this place cannot be put there ({error})")


#: One task at a time, so that a table is written in the same way each time.
_SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.default.parallelism": "1"}


@contextmanager
def small_session(
    format_: TableFormat, version: str | None = None, *, brief: bool = True
) -> Iterator[Any]:
    """A Spark session for small tables, with one version of a format's jars; times are UTC.

    See `SparkOptions` for `brief`; of hundreds of tables Java's second compiler pays.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    options = SparkOptions(
        "local[1]", "1500m", conf=_SETTINGS, brief=brief, bundle=format_.bundle(version)
    )
    with spark_session(options) as (session, _log):
        yield session


def pack(table: Path, archive: Path, *, side_files: bool = False, below: str = "") -> None:
    """Write a table's folder as a zip, entries sorted and dated alike, whole or not at all.

    `below` is a folder, with a slash behind it, in which they come out.
    """
    partial = archive.with_suffix(".tmp")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(table.rglob("*")):
            name = file.relative_to(table).as_posix()
            if file.name.startswith(".") and file.suffix == ".crc" and not side_files:
                continue
            info = zipfile.ZipInfo(
                below + name + ("/" if file.is_dir() else ""), (2020, 1, 1, 0, 0, 0)
            )
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, b"" if file.is_dir() else file.read_bytes())
    partial.replace(archive)


def origin_text(writer: str, archive: Path, declaration: Path | None, written: Written) -> str:
    """Text of `origin.toml` (`seambench.contracts.tables.Origin`)."""
    lines = [
        "# Written by a program, together with the archive.",
        f'writer = "{writer}"',
        f"made = {dt.date.today().isoformat()}",
        f"instants = {json.dumps(written.instants)}",
    ]
    if any(written.completions):
        lines.append(f"completions = {json.dumps(written.completions)}")
    lines.append(f'sha256 = "{file_digest(archive)}"')
    if declaration is not None:
        lines.append(f'spec = "{file_digest(declaration)}"')
    return "\n".join(lines) + "\n"


def file_digest(file: Path) -> str:
    """SHA-256 of a file, as it stands in `origin.toml`."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
