"""The table formats, by what each says of itself, and `open_table`: a folder tells its format."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from seambase import wording
from seambase.errors import InputError, SeambenchError, UsageError
from seamkit.catalogs.metastore import SCHEME
from seamkit.files.storage import Storage, table_address
from seamkit.scan.hints import did_you_mean
from seamkit.scan.scan import Scan
from seamkit.tables.catalog_table import CatalogTable
from seamkit.tables.partition_folder import PartitionFolder
from seamkit.tables.table import ScanKeywords, Table, by_name

#: A module for each, whose `FORMAT` says how its tables are known and who opens them.
_MODULES = (
    "seamkit.tables.hudi.table_format",
    "seamkit.tables.delta.table_format",
    "seamkit.tables.iceberg.table_format",
    "seamkit.tables.paimon.table_format",
    "seamkit.tables.hive.table_format",
)


@cache
def table_formats() -> tuple[TableFormat, ...]:
    """All formats."""
    return tuple(importlib.import_module(module).FORMAT for module in _MODULES)


def find_format(name: str) -> TableFormat:
    """The format of a name."""
    known = {one.name: one for one in table_formats()}
    if not isinstance(name, str) or name not in known:
        hint = wording.did_you_mean(str(name), known)
        raise UsageError(f"format is {name!r}: one of {', '.join(known)} is meant{hint}")
    return known[name]


@dataclass(frozen=True)
class TableFormat:
    """How tables of a format are known, and who opens them."""

    name: str  # as in capabilities, `formats.NAME`
    title: str  # its name in sentences
    # the class of its tables, `package.module:Class`; imported when a table is opened. It is called
    # with an address, `storage_options`, and options of its own by name
    table: str
    # the functions that its plans call, and the classes that these do not name but that stand where
    # a protocol is asked for, `module:NAME` below the package of `table`; see
    # `seamkit.ranges.codec`
    words: Sequence[str]
    mark: str  # the folder of metadata in a table's folder by which it is known
    is_file: bool = False  # whether it is a file instead
    # part of a file's name that this folder must hold, where its own name tells too little; empty
    # if it need not
    holds: str = ""
    # those that every table has besides the user's; read only when named
    meta_columns: Sequence[str] = ()
    # of an opened table, further lines of an explanation: names and texts
    facts: Callable[[Any], Iterator[tuple[str, str]]] = lambda _: iter(())
    # tells what a table says, `package.module:function`; empty where the lines that all formats
    # share are enough
    inspect_table: str = ""
    inspect_log: str = ""  # tells what one of its logs says; empty where there are no logs
    log_magic: bytes = b""  # what these logs begin with
    # what addresses begin with that are no folders and mean a table of this format
    schemes: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()  # what such addresses end with

    @property
    def class_name(self) -> str:
        """The class of its tables, as `seamkit` exports it."""
        return self.table.rpartition(":")[2]

    def is_in(self, storage: Storage, entries: Mapping[str, bool]) -> bool:
        """Whether a folder is a table of this format, by its entries, and which are folders."""
        if entries.get(self.mark) is not (not self.is_file):
            return False
        return not self.holds or any(self.holds in e.name for e in storage.list(self.mark))


_NAMES_SHOWN = 5
_DATA_ENDINGS = {".parquet": "Parquet", ".orc": "ORC", ".avro": "Avro", ".csv": "CSV"}


class OpenOptions(TypedDict, total=False):
    """Options of the classes of all formats; each refuses those that are not its own."""

    allow: Sequence[str]
    listing: Literal["auto", "files", "metadata"]
    staged_commits: Sequence[str]
    version: int | None
    branch: str | None
    columns: Mapping[str, str] | None
    partitions: Mapping[str, str] | None
    file_format: str
    properties: Mapping[str, str] | None
    folders: Callable[[], Sequence[PartitionFolder]] | None
    max_age_s: float


Format = Literal["hudi", "delta", "iceberg", "paimon", "hive"]
_Path: TypeAlias = str | os.PathLike[str]
_Storage: TypeAlias = Mapping[str, Any] | None


def open_table(
    path: _Path,
    storage_options: _Storage = None,
    *,
    format: Format | None = None,  # noqa: A002  (the word of every engine for it)
    **options: Unpack[OpenOptions],
) -> Table:
    """Open the table that lies in a folder.

    Args:
        path: the table's folder, or its address on any storage that fsspec reaches: `s3://`,
            `gs://`, `hdfs://`, `memory://`, ... Of an Iceberg table also one of its metadata
            files, or `iceberg://CATALOG/NAMESPACE.TABLE`, for which pyiceberg asks the catalog. A
            table of any format by its name in a Hive metastore: `hive://HOST:PORT/DATABASE.TABLE`.
        storage_options: arguments of the fsspec file system (`key`, `secret`, `endpoint_url`, ...);
            a local folder has none.
        format: the table's format, such as `delta`, where a folder is a table of several; None for
            the one that its metadata tells.
        **options: of the format's own class. Each has `allow`, addresses of folders (or schemes,
            such as `s3://`) in which files may lie that the metadata names on another host or
            storage than the table's; others are refused, and nobody is asked.

    Returns:
        A table of the format's own class, such as `HudiTable`.

    Raises:
        UsageError: an argument of the wrong kind, or a folder that is a table of several formats.
        InputError: there is no such folder, or no table in it, or a broken one.
        RefusedError: a version or a feature that is not supported.
        UnavailableError: the library for this kind of storage is not installed.
    """
    root = table_address(path)
    given = {} if storage_options is None else storage_options
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise UsageError(f"storage_options is {storage_options!r}: names and values are meant")
    if root.startswith(SCHEME):
        if format is not None:
            raise UsageError(
                f"{root}: the metastore says of which format the table is, not format="
            )
        return CatalogTable(root, storage_options, opened=open_table, **options)
    chosen = find_format(format) if format else recognised_format(root, storage_options)
    module, _, name = chosen.table.partition(":")
    kind = getattr(importlib.import_module(module), name)
    unknown = options.keys() - _options_of(kind)
    if unknown:
        hint = did_you_mean(min(unknown), _options_of(kind), {})
        raise UsageError(
            f"{root}: {chosen.title} tables have no option {', '.join(sorted(unknown))}{hint}"
        )
    try:
        table: Table = kind(root, storage_options, **options)
    except InputError as error:
        raise _of_other_format(root, storage_options, chosen) or error from error
    return table


def _of_other_format(root: str, storage_options: _Storage, named: TableFormat) -> InputError | None:
    """What is wrong with the format that was asked for, where the folder is of another one."""
    try:
        other = recognised_format(root, storage_options)
    except SeambenchError:
        return None
    if other is named:
        return None
    return InputError(
        f"{root} is no {named.title} table but one of {other.title}, as {other.mark} in it shows: "
        f"leave format={named.name!r} out"
    )


@cache
def _options_of(kind: type[Table]) -> frozenset[str]:
    """What a format's class takes beside the table's place."""
    return frozenset(inspect.signature(kind).parameters) - {"path"}


@by_name
def scan_table(
    path: _Path,
    /,
    columns: Sequence[str] | None = None,
    *,
    storage_options: _Storage = None,
    **keywords: Unpack[ScanKeywords],
) -> Scan:
    """Plan a read of the table that lies in a folder: `open_table(path).scan(...)`.

    Args:
        path: as for `open_table`.
        columns: names in the order wanted; None for all.
        storage_options: as for `open_table`.
        **keywords: of the table's `scan`.

    Raises:
        SeambenchError: as `open_table` and the table's `scan` do.
    """
    return open_table(path, storage_options).scan(columns, **keywords)


def recognised_format(
    root: str,
    storage_options: Mapping[str, Any] | None = None,
    *,
    readable: Collection[str] | None = None,
) -> TableFormat:
    """The format of the table that lies in a folder.

    Of a folder that is a table of several formats only the `readable` ones count, if there are any
    of them.
    """
    for one in table_formats():
        if root.startswith(one.schemes) or root.endswith(one.endings):
            return one
    require_folder(root)
    storage = Storage(root, storage_options)
    entries = {entry.name: entry.size_bytes is None for entry in storage.list()}
    formats = [one for one in table_formats() if one.is_in(storage, entries)]
    if readable is not None:
        formats = [one for one in formats if one.name in readable] or formats
    if len(formats) > 1:
        marks = " and ".join(one.mark for one in formats)
        classes = " or ".join(f"seamkit.{one.class_name}" for one in formats)
        raise UsageError(
            f"{root} is a table of several formats, with {marks}: say which is meant with {classes}"
        )
    if not formats:
        raise _no_table(storage, entries)
    return formats[0]


def require_folder(root: str, hint: str = "") -> None:
    """What a local path without a folder is, in words; storages elsewhere have no folders.

    `hint` ends the sentence where there is nothing of that name.
    """
    if "://" in root or root.startswith("file:"):
        return
    path = Path(root)
    if path.is_dir():
        return
    if not path.exists():
        raise InputError(f"{root}: there is no such folder{hint}")
    kind = _DATA_ENDINGS.get(path.suffix)
    what = f"a {kind} file" if kind else "a file"
    raise InputError(f"{root} is {what}: a table is a folder, so name the one it lies in")


def _no_table(storage: Storage, entries: Mapping[str, bool]) -> InputError:
    """The error for a folder without a table that can be read: what it looks like instead."""
    root, formats = storage.root, table_formats()
    if not entries:
        return InputError(f"{root} is empty, or is not there: no table lies in it")
    own = root.rstrip("/").rpartition("/")[2]
    if any(one.mark == own and any(one.holds in name for name in entries) for one in formats):
        return InputError(f"{root} is a table's own folder of metadata: name the folder above it")
    if any(is_folder and name.endswith(".db") for name, is_folder in entries.items()):
        return InputError(f"{root} holds databases, no table lies in it: call open_catalog")
    looks = _looks_like(entries)
    if looks:
        *others, last = (one.title for one in formats)
        known = f"{', '.join(others)} and {last}"
        return InputError(f"{root} looks like {looks}; {known} tables can be read")
    listed = ", ".join(sorted(entries)[:_NAMES_SHOWN])
    more = ", ..." if len(entries) > _NAMES_SHOWN else ""
    marks = " or ".join(one.mark for one in formats)
    return InputError(f"{root} looks like no table: it holds {listed}{more}, and no folder {marks}")


def _looks_like(entries: Mapping[str, bool]) -> str:
    """What is known and not read here; empty where a folder looks like nothing known."""
    kinds = {kind for name in entries if (kind := _DATA_ENDINGS.get(Path(name).suffix))}
    if kinds:
        return f"a folder of {' and '.join(sorted(kinds))} files, no table"
    if any(is_folder and "=" in name for name, is_folder in entries.items()):
        return "a folder of partitions, as Hive has them"
    return ""
