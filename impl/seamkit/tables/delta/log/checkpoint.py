"""Checkpoints: the actions of a whole version, as Parquet (or, for the second kind, JSON).

The classic kind is one file or several parts; the second kind (`v2Checkpoint`) has a top file that
may name further files of adds, its sidecars. Rows of `remove` are tombstones of files that no add
of the same checkpoint names, so they are not read. One commit is what a reader of changes sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambase.errors import InputError
from seambase.wording import counted
from seamkit.files.parquet import PARQUET_ERRORS, open_parquet
from seamkit.files.reader import check_rows, check_texts
from seamkit.files.spreading import check_whole, long_dictionaries
from seamkit.files.storage import Storage, read_part
from seamkit.tables.delta.log.actions import (
    AddFile,
    Metadata,
    Protocol,
    add_file,
    canonical,
    changed_file,
    changes_data,
    metadata,
    parse_line,
    protocol,
    stated_millis,
)
from seamkit.tables.delta.log.adds import adds_of_checkpoint, adds_of_lines, those_of
from seamkit.tables.delta.log.folder import LOG, Checkpoint

Action = tuple[str, Any, str]
"""Of a log: its name, its content or columns of files that it adds, and where it stands."""

_FEW = 100  # below so many lines one by one are as fast
_SIDECARS = f"{LOG}/_sidecars"
#: A name, or an address: all lie in the table's own folder for them.
_SIDECAR = re.compile(rf"(?:(?:[\w+.-]+:)?/[^\\]*/{_SIDECARS}/)?([^/\\]+)")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "add": (
        "path",
        "partitionValues",
        "size",
        "stats",
        "deletionVector",
        "baseRowId",
        "defaultRowCommitVersion",
    ),
    "metaData": ("schemaString", "partitionColumns", "configuration", "format"),
    "protocol": ("minReaderVersion", "readerFeatures", "writerFeatures"),
    "sidecar": ("path", "sizeInBytes"),
}
#: Of files that were there once; read where somebody asks for them alone.
_REMOVALS: Mapping[str, tuple[str, ...]] = {"remove": ("path", "deletionVector")}


def checkpoint_actions(
    storage: Storage, checkpoint: Checkpoint, sidecars: list[str], *, removals: bool = False
) -> Iterator[Action]:
    """Actions of a checkpoint.

    `sidecars` gets the paths of further files that these name. `removals` tells also of files that
    were removed, as far as a Parquet file has them.
    """
    fields = {**_FIELDS, **(_REMOVALS if removals else {})}
    in_parquet = partial(_parquet_actions, fields=fields)
    for path in checkpoint.paths:
        read = json_actions if path.endswith(".json") else in_parquet
        for name, content, where in read(storage, path):
            if name != "sidecar":
                yield name, content, where
                continue
            sidecar = content.get("path")
            match = _SIDECAR.fullmatch(sidecar) if isinstance(sidecar, str) else None
            if match is None:
                raise InputError(f"{where}: {sidecar!r} is no name of a sidecar")
            sidecars.append(f"{_SIDECARS}/{canonical(match[1])}")
            yield from in_parquet(storage, sidecars[-1], content.get("sizeInBytes"))


def json_actions(storage: Storage, path: str, *, by_column: bool = True) -> Iterator[Action]:
    """Actions of a file of JSON lines, many adds `by_column`; blank lines are none."""
    full, content = storage.full(path), storage.read(path)
    count = content.count(b"\n") + 1
    odd: Sequence[int] = range(count)
    if by_column and count > _FEW:
        made, odd = adds_of_lines(content, count)
        if made:
            yield "add", made, full
    lines = content.split(b"\n", odd[-1] + 1) if odd else []
    rest = [(at, lines[at]) for at in odd if lines[at].strip()]
    if not rest and len(odd) == count:
        raise InputError(f"{full}: the file holds no action")
    for at, line in rest:
        where = f"{full}, line {at + 1}"
        yield *parse_line(line, where), where


def _parquet_actions(
    storage: Storage, path: str, length: int | None = None, *, fields: Mapping[str, tuple[str, ...]]
) -> Iterator[Action]:
    """Actions of a Parquet file, of which the checkpoint may tell the size in bytes."""
    where = storage.full(path)
    try:
        content = storage.open(path)
        if length is not None and length != content.size():
            raise InputError(
                f"{where}: {counted(content.size(), 'byte')}, the checkpoint says {length}"
            )
        file = open_parquet(content, where, storage.bound)
        names = _columns(file.schema_arrow, fields)
        if storage.bound.is_stated:
            groups, read = range(file.num_row_groups), partial(read_part, content)
            long = long_dictionaries(file.metadata, names, groups, read, storage.bound, where)
            again = partial(_with_dictionaries, content, where, file.metadata)
            check_whole(again, long, storage.bound, where)
        table = file.read(columns=names, use_threads=False)
    except PARQUET_ERRORS as error:
        raise InputError(f"{where}: not readable as a checkpoint ({error})") from error
    check_rows(table.num_rows, file.metadata.num_rows, where)
    for batch in table.to_batches():
        check_texts(batch, where)
    for name in fields:
        if name in table.schema.names:
            for chunk in table.column(name).chunks:
                odd = column = those_of(chunk, chunk.is_valid())
                if name == "add":
                    made, numbers = adds_of_checkpoint(column)
                    yield name, made, where
                    odd = column.take(pa.array(numbers, pa.int64()))
                for content in odd.to_pylist():
                    yield name, content, where


def _with_dictionaries(
    content: pa.NativeFile, where: str, footer: pq.FileMetaData, paths: Sequence[str]
) -> pq.ParquetFile:
    return open_parquet(content, where, metadata=footer, read_dictionary=list(paths))


def _columns(schema: pa.Schema, wanted: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Paths of the fields that are read."""
    paths = []
    for name, fields in wanted.items():
        at = schema.get_field_index(name)
        if at >= 0 and pa.types.is_struct(schema.field(at).type):
            own = {field.name for field in schema.field(at).type}
            paths += [f"{name}.{field}" for field in fields if field in own]
    return paths


_COUNTS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass
class Commit:
    """The actions of one commit that a change feed is made of."""

    version: int
    # files that it added, those aside that it merely wrote anew
    adds: list[AddFile] = field(default_factory=list)
    # files that it removed, those aside likewise
    removes: list[AddFile] = field(default_factory=list)
    # files of changes, whose rows say themselves what happened to them
    feed: list[AddFile] = field(default_factory=list)
    metadata: Metadata | None = None  # schema and properties, if it changes them
    protocol: Protocol | None = None  # what is asked of readers, if it changes that
    is_void: bool = False  # whether it says that it changed no row (a merge that matched none)
    millis: int | None = None  # since 1970, the time that it states; None if it states none


def load_commit(storage: Storage, path: str, version: int) -> Commit:
    """Read a commit."""
    commit = Commit(version)
    removes: list[tuple[Mapping[str, Any], str]] = []
    for name, content, where in json_actions(storage, path, by_column=False):
        if name == "add" and changes_data(content, where):
            commit.adds.append(add_file(content, where))
        elif name == "remove" and changes_data(content, where):
            removes.append((content, where))
        elif name == "cdc":
            commit.feed.append(changed_file(content, where))
        elif name == "metaData":
            commit.metadata = metadata(content, where)
        elif name == "protocol":
            commit.protocol = protocol(content, where)
        elif name == "commitInfo":
            commit.is_void, commit.millis = _is_void(content), stated_millis(content, where)
    if not commit.feed and not commit.is_void:
        commit.removes = [changed_file(content, where) for content, where in removes]
    return commit


def _is_void(info: Mapping[str, Any]) -> bool:
    """Whether a commit is a merge that counts no changed row: its files hold the rows they held."""
    counts = info.get("operationMetrics")
    counted: Sequence[Any] = (
        [counts.get(n) for n in _COUNTS] if isinstance(counts, dict) else [None]
    )
    return info.get("operation") == "MERGE" and all(n == "0" for n in counted)
