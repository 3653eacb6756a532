"""The files of a table: what their names say, which lie in which partition, and file slices.

A partition is a folder that carries Hudi's marker, at any depth. A slice is an optional base file
and the logs on top of it.

Hudi 1.2.0 takes the values of partition columns from the path, not from the rows, unless a key
generator made the path from a time, or the column orders versions of a record
(`SparkHoodieTableFileIndex`, `SparkParsePartitionUtil`, `partitionColumnsToRead`). The difference
shows where an empty text became the default partition (null), and where a global index kept a row
in its old partition. What cannot be read from the path comes from the rows, and is refused where
these do not have the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from queue import SimpleQueue
from typing import Any, Literal

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.values import value_class
from seamkit.files.storage import FileStatus, Storage
from seamkit.tables.hudi.config.properties import (
    BOOTSTRAP_ROOT,
    DROPS,
    PROPERTIES,
    TableConfig,
)
from seamkit.tables.hudi.timeline.timeline import FileNames, Timeline
from seamkit.tables.hudi.timeline.window import Window, file_names

_BASE = re.compile(r"^([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_([0-9]+)(\.[a-zA-Z0-9]+)$")
_LOG = re.compile(
    r"^\.([^._]+)_([^.]*)\.(?:log|archive)\.(\d{1,18})(?:_((\d+)-(\d+)-(\d+))(\.cdc)?)?$"
)
#: What ends the name of a file that Hudi did not write, and a commit took up: its own name and the
#: commit's instant stand before it (`ExternalFilePathUtil`). Apache XTable makes such tables.
TAKEN_UP = "_hudiext"
_OF_A_FOLDER = "_fg%3D"
_NATIVE_LOG = re.compile(r"^[^.]+_.*\.(?:log|deletes|cdc)\.parquet$")


@dataclass(frozen=True)
class External:
    """A file outside the table that holds the columns which a skeleton lacks."""

    root: str  # folder or address that it lies below
    path: str  # the file, below the root
    # what the names of its folders say of columns that it lacks; None is null
    values: Mapping[str, str | None]


@value_class
class BaseFile:
    """A base file: the rows of a file group at one instant.

    `external` is there for a skeleton of a bootstrapped table, which has the meta columns alone,
    `names` for a file from before columns were renamed. `stated_bytes`, `stated_rows` and
    `stated_columns` are what the commit that wrote it states; 0, and none, where it is not at hand.
    `needed` are columns that nothing but it tells, of a file that may lack them.
    """

    path: str
    partition: str
    file_id: str
    write_token: str
    instant: str
    size_bytes: int
    external: External | None = None
    names: FileNames | None = None
    stated_bytes: int = 0
    stated_rows: int = 0
    stated_columns: Sequence[str] = ()
    needed: Sequence[str] = ()

    @property
    def is_taken_up(self) -> bool:
        """Whether Hudi did not write it: it has no token of a write."""
        return not self.write_token

    def as_stated(self, size_bytes: int, rows: int, columns: Sequence[str]) -> BaseFile:
        """The file with what the commit that wrote it states."""
        name = self.path, self.partition, self.file_id, self.write_token, self.instant
        names = self.external, self.names
        return BaseFile(*name, self.size_bytes, *names, size_bytes, rows, columns)


@value_class
class LogFile:
    """A log file.

    Attributes:
        instant: in its name: the base's (version 6) or its own delta commit's (8 and up). SQL's
            updates of a table with consistent hashing bear that of the rows which they change.
        writers: of an incremental query: the instants that say that they wrote it.
    """

    path: str
    partition: str
    file_id: str
    instant: str
    version: int
    write_token: str | None
    size_bytes: int
    writers: Sequence[str] = ()

    @property
    def order(self) -> tuple[str, int, bool, str]:
        """Scan order inside a slice: instant, numeric version, write token as text."""
        return (self.instant, self.version, self.write_token is not None, self.write_token or "")


@dataclass(slots=True)
class FileSlice:
    """What one task reads: `base` may be missing, `logs` may be empty, never both."""

    partition: str
    file_id: str
    instant: str
    base: BaseFile | None = None
    logs: list[LogFile] = field(default_factory=list)


def may_have_changed(slice_: FileSlice, timeline: Timeline, window: Window) -> bool:
    """Whether rows of an incremental query may lie in a slice.

    A row that an instant wrote lies in a file of that instant or of a later one.
    """
    if slice_.base is not None and window.hands_out(slice_.base.instant):
        return True
    by_name = timeline.config.timeline_layout == 1  # the name does not tell who wrote a log
    begin = "" if slice_.base is None else slice_.base.instant  # nor does that of a dual write
    return any(
        by_name or log.instant == begin or any(map(window.hands_out, (log.instant, *log.writers)))
        for log in slice_.logs
    )


def instant_in_name(path: str) -> tuple[Literal["base", "log"], str] | None:
    """Whether a path is that of a base file or of a log, and the instant that its name bears.

    A log's is that of its base up to version 6, its writer's from version 8 on. Change logs
    (`.cdc`) are logs, too; None for any other file.
    """
    name = path.rpartition("/")[2]
    if match := _BASE.match(name):
        return "base", match[3]
    return ("log", match[2]) if (match := _LOG.match(name)) else None


def is_native_log(name: str) -> bool:
    """Whether a file is a log in the format of newer table versions."""
    return _NATIVE_LOG.match(name) is not None


def base_file(status: FileStatus, partition: str, timeline: Timeline) -> BaseFile | None:
    """The base file that a listed file is; None if it is none."""
    match = _BASE.match(status.name)
    if match is None:
        return _taken_up(status, partition) if status.name.endswith(TAKEN_UP) else None
    assert status.size_bytes is not None  # folders were left out
    known = (".hfile",) if timeline.config.metadata_table else (".parquet", ".orc", ".lance")
    if match[4] not in known:
        raise RefusedError(
            f"{timeline.storage.full(status.path)}: base files in {match[4][1:]} are not supported"
        )
    return BaseFile(status.path, partition, match[1], match[2], match[3], status.size_bytes)


def _taken_up(status: FileStatus, partition: str) -> BaseFile:
    """A file that Hudi did not write, as metadata names it: `NAME_INSTANT`, folder, the end."""
    # Its group is called by its path below the partition, which may have a folder (a bucket's).
    assert status.size_bytes is not None  # folders were left out
    folder, slash, marked = status.path.removesuffix(TAKEN_UP).rpartition("/")
    name, _, instant = marked.partition(_OF_A_FOLDER)[0].rpartition("_")
    path = f"{folder}{slash}{name}"
    group = path.removeprefix(f"{partition}/")
    return BaseFile(path, partition, group, "", instant, status.size_bytes)


def log_file(status: FileStatus, partition: str) -> LogFile | None:
    """The log that a listed file is.

    None for anything else, and for change logs (`.cdc`), which ordinary reads leave out.
    """
    match = _LOG.match(status.name)
    if match is None or match[8]:
        return None
    assert status.size_bytes is not None  # folders were left out
    return LogFile(
        status.path, partition, match[1], match[2], int(match[3]), match[4], status.size_bytes
    )


def with_file_names(
    slices: Sequence[FileSlice], timeline: Timeline, window: Window
) -> list[FileSlice]:
    """The slices, with what their base files called the columns."""
    if timeline.schema_history is None:
        return list(slices)
    return [
        slice_
        if slice_.base is None
        else replace(
            slice_,
            base=replace(slice_.base, names=file_names(timeline, window, slice_.base.instant)),
        )
        for slice_ in slices
    ]


def unlisted(where: str) -> RefusedError:
    """Of a file that Hudi did not write, where folders were listed."""
    return RefusedError(
        f"{where}: Hudi did not write the file that this names, so the metadata table alone tells "
        "which such files a table has, and folders were listed"
    )


_Visit = Future[tuple[frozenset[object], list[FileStatus]]]

_PARTITION_MARKER = ".hoodie_partition_metadata"


@dataclass(frozen=True)
class Listing:
    """The files of a table, by partition."""

    # files of each partition, by the partition's path below the table ("" for the table's own
    # folder)
    partitions: Mapping[str, Sequence[FileStatus]] = field(repr=False)
    # whether a partition was to be listed at all; of others the listing knows nothing
    covers: Callable[[str], bool] = lambda _: True

    def size_bytes(self, path: str) -> int | None:
        """How long a file of that path below the table is; None if no listed partition has it."""
        partition, _, name = path.rpartition("/")
        return self._sizes.get(partition, {}).get(name)

    @cached_property
    def _sizes(self) -> dict[str, dict[str, int | None]]:
        return {
            partition: {status.name: status.size_bytes for status in files}
            for partition, files in self.partitions.items()
        }


def list_files(storage: Storage) -> Listing:
    """List a table folder by folder, several at once."""
    partitions: dict[str, list[FileStatus]] = {}

    def visit(folder: str, above: frozenset[object]) -> tuple[frozenset[object], list[FileStatus]]:
        identity = storage.identity(folder)
        if identity is not None and identity in above:
            raise InputError(f"{storage.full(folder)}: a link leads to a folder that holds it")
        return above | {identity}, storage.list(folder)

    def folders_in(folder: str, entries: Sequence[FileStatus]) -> list[str]:
        if folder and any(entry.name == ".hoodie" for entry in entries):
            return []  # another table's
        if any(entry.name.startswith(_PARTITION_MARKER) for entry in entries):
            partitions[folder] = [e for e in entries if e.size_bytes is not None]
        return [e.path for e in entries if e.size_bytes is None and e.name != ".hoodie"]

    above, entries = visit("", frozenset())
    folders = folders_in("", entries)
    if not folders:  # threads would cost more than such a table
        return Listing(partitions)
    with ThreadPoolExecutor(storage.parallel, thread_name_prefix="seambench-list") as pool:
        running: dict[_Visit, str] = {}
        # To wait for any of them would look at all of them each time.
        done: SimpleQueue[_Visit] = SimpleQueue()

        def begin(folders: Sequence[str], above: frozenset[object]) -> None:
            for folder in folders:
                future = pool.submit(visit, folder, above)
                running[future] = folder
                future.add_done_callback(done.put)

        begin(folders, above)
        while running:
            future = done.get()
            folder = running.pop(future)
            above, entries = future.result()
            begin(folders_in(folder, entries), above)
    return Listing(partitions)


_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# What stands for no value up to version 4, and is a text like others.
_NULL_BEFORE_5 = "default"
_INTEGER = re.compile(r"[+-]?\d+")
# Not `20240102` or `2024-W01-2`, which ISO 8601 has as well: Spark reads no date of these.
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Of key generators since Hudi 1.2.0: a date is three folders, one in the other.
_SLASHES_DATES = "hoodie.datasource.write.slash.separated.date.partitioning"


def partition_schema(schema: pa.Schema, config: TableConfig) -> pa.Schema:
    """The table's schema with its partition columns as Hudi 1.2.0 shows them.

    Dropped ones that the schema does not tell come last, as text; those of which a key generator
    made times are text. Points in time stay what they are: Hudi's text of them depends on whether
    a log applies ("2024-01-01 01:30:00" or microseconds).
    """
    for name in config.partition_fields:
        at = schema.get_field_index(name)
        if at < 0 and config.drops_partition_columns:
            schema = schema.append(pa.field(name, pa.string()))
        elif (
            at < 0
            and not {DROPS, BOOTSTRAP_ROOT} & config.raw.keys()
            and name.split(".")[0] not in schema.names
        ):
            # Before 0.11 no table dropped one, but bootstrapped ones that folders alone tell.
            raise InputError(f"{PROPERTIES}: {DROPS} is missing, and the schema has no {name!r}")
        elif (
            at >= 0
            and config.key_generator == "timestamp"
            and not pa.types.is_timestamp(schema.field(at).type)
        ):
            schema = schema.set(at, pa.field(name, pa.string()))
    return schema


class PartitionColumns:
    """What the path of a partition says of its rows.

    Of a table with files that Hudi did not write (`taken_up`) it says all that it can: no key
    generator made their paths.
    """

    def __init__(self, config: TableConfig, schema: pa.Schema, *, taken_up: bool = False) -> None:
        self._fields, self._drops = config.partition_fields, config.drops_partition_columns
        self._slashes_dates = config.raw.get(_SLASHES_DATES, "").lower() == "true"
        self._unsure = (_NULL_BEFORE_5,) if config.version < 5 else ()
        in_rows = (*config.time_partition_fields, *config.ordering_fields)
        own = () if self._drops or taken_up else in_rows
        self._read = {
            name: schema.field(name)
            for name in self._fields
            if name not in own and schema.get_field_index(name) >= 0
        }
        self._known: dict[str, Mapping[str, pa.Scalar]] = {}

    def values(self, partition: str) -> Mapping[str, pa.Scalar]:
        """Values that all rows of a partition have, by column; others stand in the rows."""
        if partition not in self._known:
            self._known[partition] = self._parse(partition)
        return self._known[partition]

    def _parse(self, partition: str) -> Mapping[str, pa.Scalar]:
        if not self._fields or not partition:
            return {}
        told = self._told(partition)
        for name in self._read if self._drops else ():
            if name not in told:
                raise InputError(
                    f"the partition {partition!r} does not tell the value of the column {name!r}, "
                    "which no file has"
                )
        return told

    def _told(self, partition: str) -> Mapping[str, pa.Scalar]:
        """What the path tells, part by part."""
        parts = partition.split("/")
        if len(parts) != len(self._fields):
            return self._whole(partition) if len(self._fields) == 1 else self._joined(parts)
        found = {}
        for name, part in zip(self._fields, parts, strict=True):
            key, equals, text = part.partition("=")
            if equals and key != name:
                if self._drops:
                    raise InputError(
                        f"the partition {partition!r} has the column {key!r} in its path, and "
                        f"{name!r} is the table's partition field, which no file has"
                    )
                return {}
            own = text if equals else part
            if name in self._read and own not in self._unsure:
                value = _value(own, self._read[name].type)
                if value is not None:
                    found[name] = value
        return found

    def _whole(self, partition: str) -> Mapping[str, pa.Scalar]:
        """A single column whose value has slashes: the whole path, as it stands."""
        # Of dates that a key generator took apart (`2024/01/02`) it is the date again.
        (name,) = self._fields
        if name not in self._read or not pa.types.is_string(self._read[name].type):
            return {}
        text = partition.removeprefix(f"{name}=")
        if self._slashes_dates and text == partition:
            text = text.replace("/", "-")
        return {name: pa.scalar(text)}

    def _joined(self, parts: Sequence[str]) -> Mapping[str, pa.Scalar]:
        """Dropped columns whose values have slashes: `name=` begins each, the rest is as it is."""
        texts: dict[str, str] = {}
        name = ""
        for part in parts if self._drops else ():
            key, equals, text = part.partition("=")
            name = key if equals else name
            texts[name] = text if equals else f"{texts.get(name, '')}/{part}"
        if (*texts,) != self._fields:
            return {}
        kinds = {name: field.type for name, field in self._read.items()}
        values = {name: _value(texts[name], kind, plain=True) for name, kind in kinds.items()}
        return {name: value for name, value in values.items() if value is not None}


def _value(text: str, kind: pa.DataType, *, plain: bool = False) -> pa.Scalar | None:
    """The value that a part of a path stands for, or None if it is none of the column's type."""
    # In a `plain` text `%XX` stands for itself.
    if text == _DEFAULT_PARTITION:
        return pa.scalar(None, kind)
    if plain and pa.types.is_string(kind):
        return pa.scalar(text)
    try:
        return pa.scalar(_python_value(text, kind), kind)
    except (ValueError, InvalidOperation, pa.ArrowException, OverflowError):
        return None


def _python_value(text: str, kind: pa.DataType) -> Any:
    """Raises ValueError if the text is none of the type."""
    if pa.types.is_string(kind):
        return re.sub(r"%([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text)
    if pa.types.is_integer(kind) and _INTEGER.fullmatch(text):
        return int(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_decimal(kind):
        return Decimal(text)
    if pa.types.is_date32(kind) and _DATE.fullmatch(text):
        return date.fromisoformat(text)
    if pa.types.is_boolean(kind) and text.lower() in ("true", "false"):
        return text.lower() == "true"
    raise ValueError(f"{text!r} is no {kind}")
