"""The data folder: where data sets lie, how they come to lie there whole, and what they tell.

`DATA/sf<scale>/<layout>/manifest.json` describes a data set; one folder per table holds its files.
A data set is written to `.tmp-<layout>-<pid>` in the same folder and renamed when its manifest
stands in it, so that a folder with a layout's name is always complete. Tables whose own bytes say
where they lie are written under their final name, which until then is a link to that folder. One
process at a time writes to a data folder; what a killed one left behind is removed by the next.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seambase.errors import InputError, RefusedError, UnavailableError, UsageError
from seambench.data.tpch import format_scale
from seambench.records.model import Stored

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
_TEMPORARY = ".tmp-"

#: `snapshot` is what a merged read must return, `base` what the base files alone hold.
State = Literal["snapshot", "base"]


@dataclass(frozen=True)
class DatasetTable:
    """One table of a data set, as readers see it."""

    name: str
    kind: str  # name of its table format, or `parquet` for a folder of Parquet files
    path: Path  # its folder; tables that no layout changes lie in the `parquet` data set beside

    @property
    def is_plain(self) -> bool:
        """Whether it is a folder of Parquet files that any engine reads."""
        return self.kind == "parquet"


@dataclass(frozen=True)
class ExpectedTable:
    """What a table must contain in some state, by the oracle."""

    name: str
    path: Path  # Parquet file, or folder of Parquet files
    ts: int | None  # value of the `ts` column to be added to the stored rows, or None
    rows: int
    digest: str  # digest of the rows, `ts` included where the table has it

    @property
    def sql(self) -> str:
        """Query that yields the rows in DuckDB."""
        pattern = self.path / "*.parquet" if self.path.is_dir() else self.path
        quoted = "'" + str(pattern).replace("'", "''") + "'"
        extra = "" if self.ts is None else f", {self.ts}::BIGINT AS ts"
        return f"SELECT *{extra} FROM read_parquet({quoted})"  # noqa: S608 - our own path, quoted


@dataclass(frozen=True)
class Dataset:
    """A complete data set on disk."""

    path: Path
    manifest: Mapping[str, Any]  # the manifest as it stands in the file

    @property
    def layout(self) -> str:
        """Name of the layout, e.g. `mor-v9-event-avro-u20-s100`."""
        return str(self.manifest["layout"])

    @property
    def scale(self) -> float:
        """TPC-H scale."""
        return float(self.manifest["scale"])

    @property
    def name(self) -> str:
        """Scale and layout, as in the data folder: `sf0.1/parquet`."""
        return f"sf{format_scale(self.scale)}/{self.layout}"

    @property
    def formats(self) -> list[str]:
        """Names of the table formats in it, none of a data set of plain Parquet alone."""
        return sorted({table.kind for table in self.tables.values() if not table.is_plain})

    @property
    def dimensions(self) -> dict[str, Any]:
        """What results over it are grouped by: an open map in the words of its table format."""
        tables = {f"{name}_tables" for name in self.formats}
        own = {"generator", "digest_kind", "seed"} | tables
        found = {name: value for name, value in self.manifest["knobs"].items() if name not in own}
        counted = [
            len(entry["slices_with_logs"])
            for entry in self.manifest["tables"].values()
            if "slices_with_logs" in entry
        ]
        return found | ({"slices_with_logs": max(counted)} if counted else {})

    @property
    def stored(self) -> Stored | None:
        """What its tables in a table format cost; None: made before that was noted."""
        entries = [
            entry
            for entry in self.manifest["tables"].values()
            if "bytes" in entry and "seconds" in entry
        ]
        if not entries:
            return None
        seconds: dict[str, float] = {}
        for entry in entries:
            for operation, taken in entry["seconds"].items():
                seconds[operation] = round(seconds.get(operation, 0.0) + taken, 3)
        return Stored(bytes=sum(entry["bytes"] for entry in entries), seconds=seconds)

    @property
    def digest(self) -> str:
        """Text that changes with any table's expected rows: the snapshot digests, one per table."""
        tables = self.manifest["expected"]["snapshot"]
        return ";".join(f"{name}={tables[name]['digest']}" for name in sorted(tables))

    @property
    def tables(self) -> dict[str, DatasetTable]:
        """The eight tables by name."""
        return {
            name: DatasetTable(name, entry["kind"], self._resolve(entry["path"]))
            for name, entry in self.manifest["tables"].items()
        }

    def expected(self, state: State = "snapshot") -> dict[str, ExpectedTable]:
        """What the oracle expects of each table in a state."""
        return {
            name: ExpectedTable(
                name, self._resolve(entry["path"]), entry["ts"], entry["rows"], entry["digest"]
            )
            for name, entry in self.manifest["expected"][state].items()
        }

    def _resolve(self, path: str) -> Path:
        return Path(os.path.normpath(self.path / path))


def bytes_below(folder: Path) -> int:
    """Bytes of all files of a folder but the checksums that Hadoop puts beside local ones."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(
        path.stat().st_size
        for path in files
        if not (path.name.startswith(".") and path.suffix == ".crc")
    )


def default_data_folder() -> Path:
    """SEAMBENCH_DATA if it is set, else `data` in the current folder."""
    return Path(os.environ.get("SEAMBENCH_DATA") or "data")


def dataset_folder(data: Path, scale: float, layout: str) -> Path:
    """Where a data set lies (or would lie)."""
    return data / f"sf{format_scale(scale)}" / layout


def open_dataset(path: Path) -> Dataset:
    """Open a data set by its folder."""
    file = path / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{path} is no data set: it has no {MANIFEST}; make one with `seambench data`"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    version = manifest.get("schema_version") if isinstance(manifest, dict) else None
    if version != SCHEMA_VERSION:
        raise RefusedError(
            f"{file} has schema version {version!r}, this Seambench reads {SCHEMA_VERSION}: "
            "make the data again with --force"
        )
    missing = {"layout", "scale", "tables", "expected", "knobs"} - set(manifest)
    if missing:
        raise InputError(f"{file} lacks {', '.join(sorted(missing))}")
    # Readers in Java take no address that depends on the folder one is in.
    return Dataset(path.absolute(), manifest)


def list_datasets(data: Path, scale: float | None = None) -> list[Dataset]:
    """All complete data sets of a data folder, by name; an empty list if there is no folder."""
    scales = f"sf{format_scale(scale)}" if scale is not None else "sf*"
    found = sorted(data.glob(f"{scales}/*/{MANIFEST}"))
    return [open_dataset(file.parent) for file in found if not file.parent.name.startswith(".")]


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write a data set's manifest, stamped with schema version and time."""
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    whole = {"schema_version": SCHEMA_VERSION, **content, "created_utc": now}
    (folder / MANIFEST).write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


@contextlib.contextmanager
def os_errors(doing: str) -> Iterator[None]:
    """Say in one sentence what is wrong with the disk."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UnavailableError(
                f"no space left on the disk while {doing}: free some and run again"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise UsageError(
                f"no permission to write {error.filename or 'there'} while {doing}: "
                "choose another folder with --data"
            ) from error
        if error.errno in (errno.ENOTDIR, errno.EEXIST):
            raise UsageError(
                f"{error.filename} is in the way while {doing}: choose another folder with --data"
            ) from error
        raise


@contextlib.contextmanager
def data_lock(
    data: Path, *, wait: bool = True, on_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold a data folder, made if need be, for writing."""
    with os_errors(f"opening data folder {data}"):
        data.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(data / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            message = f"data folder {data} is being written by process {holder}"
            if not wait:
                raise UsageError(f"{message}: wait for it, or choose another with --data") from None
            if on_wait is not None:
                on_wait(f"{message}; waiting for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def remove_leftovers(data: Path) -> list[Path]:
    """Remove what killed runs left behind. Only the holder of the lock may call this."""
    leftovers = sorted(data.glob(f"sf*/{_TEMPORARY}*"))
    for link in filter(is_half_made, data.glob("sf*/*")):
        link.unlink()
    for path in leftovers:
        shutil.rmtree(path, ignore_errors=True)
    return leftovers


def is_half_made(folder: Path) -> bool:
    """Whether a data set's name leads to where it is being written, or was when that was killed."""
    return folder.is_symlink() and folder.readlink().name.startswith(_TEMPORARY)


@contextlib.contextmanager
def staging(target: Path, *, replace: bool = False, in_place: bool = False) -> Iterator[Path]:
    """A folder to write into, that becomes `target` when the block ends without an exception.

    It lies in the same folder and is removed if the block fails. With `replace` an existing target
    gives way; its place is never empty for long. With `in_place` the folder is reached by its final
    name, for tables whose bytes say where they lie; an existing target is put aside meanwhile.
    """
    parent, pid = target.parent, os.getpid()
    temporary = parent / f"{_TEMPORARY}{target.name}-{pid}"
    old = parent / f"{_TEMPORARY}old-{target.name}-{pid}"
    with os_errors(f"writing {target}"):
        temporary.mkdir(parents=True)
        try:
            named = contextlib.nullcontext(temporary)
            with _linked(target, temporary, old) if in_place else named as folder:
                yield folder
            if replace and target.exists():
                target.rename(old)
                temporary.rename(target)
                shutil.rmtree(old, ignore_errors=True)
            else:
                temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _linked(target: Path, temporary: Path, old: Path) -> Iterator[Path]:
    """For as long as this lasts a name leads to a folder beside it; what has it is put aside."""
    if target.exists():
        target.rename(old)
    try:
        target.symlink_to(temporary.name)
        try:
            yield target
        finally:
            target.unlink()
    finally:
        if old.exists():
            old.rename(target)
