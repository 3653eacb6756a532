"""Checkpoints: the actions of a whole version, as Parquet (or, for the second kind, JSON).

The classic kind is one file or several parts; the second kind (`v2Checkpoint`) has a top file that
may name further files of adds, its sidecars. Rows of `remove` are tombstones of files that no add
of the same checkpoint names, so they are not read. One commit is what a reader of changes sees.

Actions `add` by their columns: a log of many files has one for each of them. What most of them have
is taken column by column. An action that has more, or something wrong, is None here and is to be
read by itself, which says what is wrong. So are all that Arrow's reader of JSON refuses: it is the
stricter one but for bytes that are no UTF-8, several objects in a line, and fields that it is not
asked for.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
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
    changed_file,
    changes_data,
    metadata,
    parse_line,
    protocol,
)
from seamkit.tables.delta.log.folder import LOG, Checkpoint

Action = tuple[str, Any, str]
"""Of a log: its name, its content or a list of files that it adds, and where it stands."""

_SIDECARS = f"{LOG}/_sidecars"
_NAME = re.compile(r"[^/\\]+")
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
            if not isinstance(sidecar, str) or not _NAME.fullmatch(sidecar):
                raise InputError(f"{where}: {sidecar!r} is no name of a sidecar")
            sidecars.append(f"{_SIDECARS}/{sidecar}")
            yield from in_parquet(storage, sidecars[-1], content.get("sizeInBytes"))


def json_actions(storage: Storage, path: str, *, by_column: bool = True) -> Iterator[Action]:
    """Actions of a file of JSON lines, many adds `by_column`; blank lines are none."""
    full = storage.full(path)
    adding: list[tuple[int, bytes]] = []
    rest: list[tuple[int, bytes]] = []
    for own in enumerate(storage.read(path).split(b"\n"), 1):
        if own[1].strip():
            (adding if own[1].startswith(FORMS) else rest).append(own)
    if not adding and not rest:
        raise InputError(f"{full}: the file holds no action")
    if by_column and len(adding) >= FEW:
        made = adds_of_lines([line for _, line in adding])
        yield "add", [add for add in made if add is not None], full
        adding = [own for own, add in zip(adding, made, strict=True) if add is None]
    for number, line in sorted(adding + rest):
        where = f"{full}, line {number}"
        yield *parse_line(line, where), where


def _parquet_actions(
    storage: Storage, path: str, told: int | None = None, *, fields: Mapping[str, tuple[str, ...]]
) -> Iterator[Action]:
    """Actions of a Parquet file, of which the checkpoint may tell the size in bytes."""
    where = storage.full(path)
    try:
        content = storage.open(path)
        if told is not None and told != content.size():
            raise InputError(
                f"{where}: {counted(content.size(), 'byte')}, the checkpoint says {told}"
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
            column = table.column(name).combine_chunks()
            column = column.filter(column.is_valid())
            if name == "add":
                made = adds_of_checkpoint(column)
                yield name, [add for add in made if add is not None], where
                column = column.filter(pa.array([add is None for add in made], pa.bool_()))
            for content in column.to_pylist():
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
    """The actions of one commit that a change feed is made of.

    Attributes:
        adds: files that it added, those aside that it merely wrote anew.
        removes: files that it removed, those aside likewise.
        feed: files of changes, whose rows say themselves what happened to them.
        metadata: schema and properties, if it changes them.
        protocol: what is asked of readers, if it changes that.
        is_void: whether it says that it changed no row (a merge that met none).
    """

    version: int
    adds: list[AddFile] = field(default_factory=list)
    removes: list[AddFile] = field(default_factory=list)
    feed: list[AddFile] = field(default_factory=list)
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    is_void: bool = False


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
            commit.is_void = _is_void(content)
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


Adds = Sequence[AddFile | None]
_Values = Mapping[str, str | None]

FORMS = (b'{"add":{', b'{"add": {')
"""With which lines of JSON begin that add a file, as writers spell it."""

FEW = 100
"""Below so many lines one by one are as fast."""

_BEGIN, _PARTITION = b'{"add":', b'"partitionValues"'
_OWN_PARTITION = re.compile(_PARTITION + rb": *+(\{[^}\n]*+\}).*+")
_BLOCK_BYTES = 1 << 24
_OPTIONAL = ("baseRowId", "defaultRowCommitVersion")
_TYPES: Mapping[str, Callable[[pa.DataType], bool]] = {
    **dict.fromkeys(("path", "stats"), pa.types.is_string),
    **dict.fromkeys(("size", *_OPTIONAL), pa.types.is_integer),
}
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("path", "stats")),
        *((name, pa.int64()) for name in ("size", *_OPTIONAL)),
        # Whether they are there is all that is asked of these.
        *((name, pa.struct([])) for name in ("partitionValues", "deletionVector")),
    ]
)


def adds_of_lines(lines: Sequence[bytes]) -> Adds:
    """The adds of lines in one of `FORMS`."""
    nothing: Adds = [None] * len(lines)
    joined = b"\n".join(lines)
    # Without what stands around the contents nothing beside them is JSON. No text holds a newline.
    content = joined.replace(b"}}\n" + _BEGIN, b"}\n")
    cut_off = (len(lines) - 1) * len(b"}" + _BEGIN)
    texts = _partition_texts(joined, len(lines))
    if not joined.endswith(b"}}") or len(joined) - len(content) != cut_off or texts is None:
        return nothing
    try:
        content.decode()
        values = {text: json.loads(text) for text in set(texts)}
        read = pj.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
        parse = pj.ParseOptions(explicit_schema=_SCHEMA, unexpected_field_behavior="ignore")
        table = pj.read_json(io.BytesIO(content[len(_BEGIN) : -1]), read, parse)
    except (ValueError, RecursionError, pa.ArrowException):
        return nothing
    if len(table) != len(lines) or table.column("partitionValues").null_count:
        return nothing
    known = {text: own if _are_texts(own) else None for text, own in values.items()}
    columns = {name: table.column(name) for name in table.schema.names}
    return _made(columns, [known[text] for text in texts])


def _partition_texts(joined: bytes, count: int) -> list[bytes] | None:
    """The partition values of each line; None where they do not stand once in each, plainly."""
    # Each match takes the rest of its line: as many as lines are one in each.
    found: list[bytes] = _OWN_PARTITION.findall(joined)
    return found if len(found) == joined.count(_PARTITION) == count else None


def _are_texts(values: Any) -> bool:
    return all(value is None or isinstance(value, str) for value in values.values())


def adds_of_checkpoint(column: pa.StructArray) -> Adds:
    """The adds of a checkpoint's column, all of which are there."""
    columns = {one.name: column.field(at) for at, one in enumerate(column.type)}
    held = columns.get("partitionValues")
    odd = [name for name in _TYPES if name in columns and not _TYPES[name](columns[name].type)]
    if odd or held is None or held.type != pa.map_(pa.string(), pa.string()):
        return [None] * len(column)
    ends = held.offsets.to_pylist()
    pairs = list(zip(held.keys.to_pylist(), held.items.to_pylist(), strict=True))
    rows = [tuple(pairs[begin:end]) for begin, end in itertools.pairwise(ends)]
    known = {row: dict(row) for row in set(rows)}
    return _made(columns, [known[row] for row in rows])


def _made(columns: Mapping[str, Any], values: Sequence[_Values | None]) -> Adds:
    """The adds of columns, of which only those that none must have may be missing."""
    nulls = pa.nulls(len(values), pa.int64())
    own = {name: columns.get(name, nulls) for name in _SCHEMA.names}
    plain = pc.and_(own["path"].is_valid(), own["deletionVector"].is_null())
    plain = pc.and_(plain, own["partitionValues"].is_valid())
    plain = pc.and_(plain, pc.fill_null(pc.greater_equal(own["size"], 0), False))
    for name in _OPTIONAL:
        plain = pc.and_(plain, pc.fill_null(pc.greater_equal(own[name], 0), True))
    try:
        lists = [own[name].to_pylist() for name in ("path", "size", "stats", *_OPTIONAL)]
    except UnicodeDecodeError:
        return [None] * len(values)
    return [
        AddFile(path, held, size, stats, None, *others) if fits and held is not None else None
        for fits, held, path, size, stats, *others in zip(
            plain.to_pylist(), values, *lists, strict=True
        )
    ]
