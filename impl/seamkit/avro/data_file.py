"""Files in Avro: plain values, records by columns, and rows as batches of the table's types.

Plain values of instants, archives and indexes are fastavro's, and whoever wrote the bytes wrote the
schema, too. So schemas are checked before it meets them: a type that holds itself could be nested
until the stack ends, an item that takes no byte could come ten billion times, and a block that was
compressed a thousandfold could take all memory. Each is refused here; what is left takes time and
memory in proportion to its bytes. All else is decoded by the core, which refuses these itself.
"""

from __future__ import annotations

import functools
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.avro.decoder import AvroDecoder
from seamkit.avro.plan import Plan
from seamkit.avro.schema import AvroType, arrow_schema, arrow_type, parse_schema
from seamkit.core.border import numpy_of
from seamkit.core.unpack import Bound
from seamkit.core.varints import signed, varint
from seamkit.files.footers.calendars import check_days, first_of_avro
from seamkit.files.promotion import (
    LOSSLESS,
    TypeRules,
    has_within,
    nullable_throughout,
    resolve_batch,
)
from seamkit.files.reader import FileReader, RowsWanted, rows_of_nulls
from seamkit.files.storage import Storage

RecordReader = Callable[[io.BytesIO], Any]
"""Reads one datum from where the stream stands; raises whatever broken bytes lead fastavro to."""

_MAGIC = b"Obj\x01"
_HEADER = fastavro.parse_schema({"type": "map", "values": "bytes"})
_SYNC_BYTES = 16
_CHECKSUM_BYTES = 4  # of the decompressed bytes, behind a block of Snappy

#: Codecs by the names that files give them.
_CODECS: Mapping[bytes, str | None] = {
    b"null": None,
    b"deflate": "deflate",
    b"snappy": "snappy",
    b"zstandard": "zstd",
    b"bzip2": "bz2",
    b"xz": "xz",
}


def record_reader(schema_text: str | bytes, where: str) -> RecordReader:
    """A reader for data of one schema."""
    why = _unbounded(schema_text)
    if why is not None:
        raise RefusedError(f"{where}: {why}")
    try:
        parsed = _parsed(schema_text)
    except Exception as error:  # fastavro raises whatever the schema leads it to
        raise InputError(f"{where}: its schema is no Avro schema ({error})") from error
    return functools.partial(fastavro.schemaless_reader, writer_schema=parsed, reader_schema=None)


def read_container(content: bytes, where: str, bound: Bound | None = None) -> Iterator[Any]:
    """The records of an Avro object container file; see `AvroContainer`."""
    return AvroContainer(content, where, bound).records()


class AvroContainer:
    """An Avro object container file: its writer's schema (JSON), and its blocks.

    A block may become what `bound` says. `properties` are all that the header says by key, the
    schema among it; `size_bytes` has the file.
    """

    def __init__(self, content: bytes, where: str, bound: Bound | None = None) -> None:
        self._content = content
        self._where = where
        self._bound = bound or Bound()
        stream = io.BytesIO(content)
        metadata = _header(stream, where)
        self._sync = stream.read(_SYNC_BYTES)
        if len(self._sync) != _SYNC_BYTES:
            raise InputError(f"{where}: cut off within the marker behind its header")
        self._begin = stream.tell()
        self._codec = metadata.get("avro.codec", b"null")
        if self._codec not in _CODECS:
            known = b", ".join(_CODECS).decode()
            raise RefusedError(f"{where}: compressed by {self._codec!r:.40}; {known} are read")
        self.schema = metadata.get("avro.schema", b"")
        self.properties: Mapping[str, bytes] = metadata
        self.size_bytes = len(content)

    @property
    def rows(self) -> int:
        """How many records its blocks say they have."""
        return sum(count for _, count, _ in self._packed_blocks())

    def records(self) -> Iterator[Any]:
        """Its records; those before a broken one have been handed out."""
        read = record_reader(self.schema, self._where)
        for at, count, packed in self._packed_blocks():
            where = f"{self._where}, block at byte {at}"
            block = self._whole(packed, where)
            stream = io.BytesIO(block)
            for number in range(count):
                if number and stream.tell() >= len(block):
                    raise InputError(
                        f"{where}: it ends after {number} of {counted(count, 'record')}"
                    )
                try:
                    record = read(stream)
                except Exception as error:
                    raise _unreadable(f"{where}: record {number}", error) from error
                yield record
            if stream.tell() != len(block):
                raise InputError(f"{where}: bytes follow its {counted(count, 'record')}")

    def blocks(self) -> Iterator[tuple[int, int, bytes]]:
        """Where each block begins, how many records it says it has, and its decompressed bytes."""
        for at, count, block in self._packed_blocks():
            yield at, count, self._whole(block, f"{self._where}, block at byte {at}")

    def _whole(self, block: bytes, where: str) -> bytes:
        """A block's bytes without their compression."""
        name = _CODECS[self._codec]
        packed = block[:-_CHECKSUM_BYTES] if name == "snappy" else block
        whole = block if name is None else self._bound.unpack(name, packed, where)
        if name == "snappy" and zlib.crc32(whole) != int.from_bytes(block[len(packed) :], "big"):
            raise InputError(f"{where}: its checksum is wrong")
        return whole

    def _packed_blocks(self) -> Iterator[tuple[int, int, bytes]]:
        stream = io.BytesIO(self._content)
        stream.seek(self._begin)
        while stream.tell() < len(self._content):
            at = stream.tell()
            count, size = self._long(stream), self._long(stream)
            block = stream.read(max(size, 0))
            if count < 0 or len(block) != size or stream.read(_SYNC_BYTES) != self._sync:
                raise InputError(f"{self._where}: the block at byte {at} is broken")
            yield at, count, block

    def _long(self, stream: io.BytesIO) -> int:
        value, end = varint(self._content, stream.tell(), self._where)
        stream.seek(end)
        return signed(value)


def _header(stream: io.BytesIO, where: str) -> dict[str, bytes]:
    if stream.read(4) != _MAGIC:
        raise InputError(f"{where}: no Avro file")
    try:
        entries: dict[str, bytes] = fastavro.schemaless_reader(stream, _HEADER, None)
    except Exception as error:
        raise _unreadable(f"{where}: the header of an Avro file", error) from error
    return entries


def _unreadable(what: str, error: Exception) -> InputError:
    """What an error of fastavro's tells, which raises whatever the bytes lead it to."""
    return InputError(f"{what} is not readable ({str(error) or 'it ends too early'})")


# Files of one writer share a schema: each is looked through once.
@functools.lru_cache(maxsize=64)
def _parsed(schema_text: str | bytes) -> Any:
    return fastavro.parse_schema(json.loads(schema_text))


@functools.lru_cache(maxsize=64)
def _unbounded(schema_text: str | bytes) -> str | None:
    """Why data of a schema may take more than their bytes say; None where they do not."""
    known: dict[int, bool | None] = {}  # whether each datum takes a byte; None while it is open

    def takes_bytes(avro: AvroType) -> bool:
        if id(avro) not in known:
            known[id(avro)] = None
            inner = [takes_bytes(child) for child in avro.children]
            if avro.kind == "array" and not all(inner):
                raise ValueError("its schema has a list of items that take no bytes")
            own = any(inner) if avro.kind == "record" else avro.kind != "null"
            known[id(avro)] = avro.size > 0 if avro.kind == "fixed" else own
        found = known[id(avro)]
        if found is None:
            raise ValueError("a type of its schema holds itself, which is not supported")
        return found

    try:
        takes_bytes(parse_schema(schema_text))
    except ValueError as error:
        return str(error)
    return None


_ROW = "row"


class AvroReader(FileReader):
    """One open Avro file, whose rows are records: a `FileReader`."""

    def __init__(
        self,
        storage: Storage,
        path: str,
        rules: TypeRules = LOSSLESS,
        content: bytes | None = None,
        first_days: Callable[[Mapping[str, bytes]], tuple[int, int] | None] = first_of_avro,
    ) -> None:
        """Open a file, whose `content` need not be read again.

        Rows with days or instants before those that `first_days` says of the header are refused.
        """
        self._rules = rules
        self.name = storage.full(path)
        content = storage.read(path) if content is None else content
        self._container = AvroContainer(content, self.name, storage.bound)
        self.size_bytes = self._container.size_bytes
        self._schema_text = _of_records(self._container.schema, self.name)
        [row] = arrow_schema(self._schema_text)
        if not pa.types.is_struct(row.type):
            raise InputError(f"{self.name}: its rows are no records")
        self.schema = pa.schema(map(nullable_throughout, row.type))
        self.num_rows = self._container.rows
        # Those whose days are to be held to a calendar; most files have none.
        self._dated = {own.name for own in row.type if has_within(_is_dated, own.type)}
        self._first = first_days(self._container.properties) if self._dated else None

    @property
    def properties(self) -> Mapping[str, bytes]:
        """All that the header says by key."""
        return self._container.properties

    @property
    def writer_schema(self) -> bytes:
        """The writer's schema, JSON."""
        return self._container.schema

    def read(self, wanted: RowsWanted) -> Iterator[pa.RecordBatch]:
        """See `FileReader.read`; texts are as they are. Small blocks are decoded into one batch."""
        schema, batch_rows = wanted.schema, wanted.batch_rows
        own_names = set(self.schema.names)
        present = [name for name in schema.names if name in own_names]
        if not present:
            yield from rows_of_nulls(schema, self.num_rows, batch_rows)
            return
        for rows in self._decoded(pa.struct([self.schema.field(name) for name in present]), wanted):
            columns = pa.RecordBatch.from_arrays(rows.flatten(), schema=pa.schema(list(rows.type)))
            if self._first is not None:
                for name in filter(self._dated.__contains__, present):
                    check_days(columns.column(name), self._first, name, self.name)
            decoded = resolve_batch(columns, schema, self._rules, self.name)
            yield from (decoded.slice(i, batch_rows) for i in range(0, len(rows), batch_rows))

    def _decoded(self, own: pa.StructType, wanted: RowsWanted) -> Iterator[pa.StructArray]:
        """Rows of whole blocks, of as many as a batch needs at least."""
        decoder = AvroDecoder(self._schema_text, pa.schema([(_ROW, own)]), source=self.name)
        waiting = 0
        for count in _decode_blocks(self._container, decoder, self.name):
            waiting += count
            if waiting >= wanted.batch_rows:
                yield self._finished(decoder, waiting)
                waiting = 0
        if waiting:
            yield self._finished(decoder, waiting)

    def _finished(self, decoder: AvroDecoder, count: int) -> pa.StructArray:
        rows = decoder.finish().column(0)
        if rows.null_count or len(rows) != count:
            raise InputError(f"{self.name}: a row is null, or missing")
        return rows


def _is_dated(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _of_records(schema: bytes, where: str) -> str:
    """The schema of a record whose one field is the file's datum."""
    # Its bytes are the same. The datum itself may be a union of a record and null, which the core
    # takes as a field alone.
    try:
        datum = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: its schema is no JSON ({error})") from error
    return json.dumps(
        {"type": "record", "name": "outermost", "fields": [{"name": _ROW, "type": datum}]}
    )


def _decode_blocks(container: AvroContainer, decoder: AvroDecoder, where: str) -> Iterator[int]:
    """Decode one block after the other, and say how many records each had."""
    for at, count, block in container.blocks():
        decoder.decode_plain(block, count, f"{where}, block at byte {at}")
        yield count


_IDS_OF: Mapping[type, frozenset[int]] = {
    kind: frozenset(one.id for one in types)
    for kind, types in {
        int: [pa.int8(), pa.int16(), pa.int32(), pa.int64()],
        str: [pa.string()],
        bytes: [pa.binary(), pa.binary(1)],
        bool: [pa.bool_()],
        list: [pa.list_(pa.null())],
        dict: [pa.struct([])],
        Mapping: [pa.map_(pa.string(), pa.null())],
    }.items()
}
_NULL = pa.null().id


Wanted = tuple[str | tuple[str, "Wanted"], ...]
"""A record's fields; behind that of records within it, in lists and maps, too, those of their own,
none for all with an id."""


class Records:
    """Records of metadata by columns, each of which is held to its type when it is asked for.

    Attributes:
        rows: the records, none of which is null.
        where: what messages call the file.
    """

    def __init__(self, rows: pa.StructArray, where: str) -> None:
        """Refuses records that are null."""
        self.rows, self.where = rows, where
        self._numbers = {field.name: number for number, field in enumerate(rows.type)}
        if rows.null_count:
            raise InputError(f"{where}: an entry is null")

    @classmethod
    def of(
        cls, container: AvroContainer, wanted: Wanted, where: str, *, by_ids: bool = False
    ) -> Records:
        """Some columns of a file's records, `by_ids` called by those of their fields."""
        return cls.of_all([container], wanted, [where], by_ids=by_ids)[0]

    @classmethod
    def of_all(
        cls,
        containers: Sequence[AvroContainer],
        wanted: Wanted,
        wheres: Sequence[str],
        *,
        by_ids: bool = False,
    ) -> tuple[Records, Sequence[int]]:
        """The same of files of one schema, one after the other, and how many each has.

        What is wrong with the columns is said of the first.
        """
        where = wheres[0]
        decoder = _decoder_of(containers[0].schema, wanted, where, by_ids=by_ids)
        counts = [
            sum(_decode_blocks(container, decoder, own))
            for container, own in zip(containers, wheres, strict=True)
        ]
        return cls(decoder.finish().to_struct_array(), where), counts

    @classmethod
    def of_each(
        cls, schema: str | bytes, data: Sequence[bytes], wanted: Wanted, where: str
    ) -> Records:
        """The same of records of which each has bytes of its own."""
        decoder = _decoder_of(schema, wanted, where)
        framed = b"".join(part for one in data for part in (len(one).to_bytes(4, "big"), one))
        decoder.decode_framed(framed, len(data))
        return cls(decoder.finish().to_struct_array(), where)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str, kind: type) -> pa.Array | None:
        """A column of a type; None where the records have no value of it."""
        number = self._numbers.get(name)
        column = None if number is None else self.rows.field(number)
        if column is None or column.type.id == _NULL:
            return None
        if column.type.id not in _IDS_OF[kind]:
            raise self._refused(name, f"of the type {column.type}")
        return column

    def needed(self, name: str, kind: type) -> pa.Array:
        """A column of a type, of which each record has a value."""
        column = self.column(name, kind)
        if column is None or column.null_count:
            raise self._refused(name, "missing" if column is None else "null")
        return column

    def _refused(self, name: str, what: str) -> InputError:
        return InputError(f"{self.where}: the field {name} of an entry is {what}")

    def values(self, name: str, kind: type, *, needed: bool = False) -> list[Any]:
        """The values of a column, null where the records lack it."""
        column = self.needed(name, kind) if needed else self.column(name, kind)
        return [None] * len(self) if column is None else column.to_pylist()

    def lists(self, name: str, kind: type, *, needed: bool = False) -> list[Any]:
        """The lists of a column; equal ones are one object, as most records have the same."""
        column = self.needed(name, list) if needed else self.column(name, list)
        if column is None:
            return [None] * len(self)
        if column.type.value_type.id not in {*_IDS_OF[kind], _NULL}:
            raise self._refused(name, f"of the type {column.type}")
        flat, ends = column.values.to_pylist(), column.offsets.to_pylist()
        known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        found = (tuple(flat[begin:end]) for begin, end in pairwise(ends))
        valid = column.is_valid().to_pylist()
        return [
            known.setdefault(one, one) if there else None
            for one, there in zip(found, valid, strict=True)
        ]

    def pairs(self, name: str, kind: type) -> Pairs | None:
        """A column of maps with numbers as keys; None where the records have no value of it."""
        listed = self.column(name, list)
        if listed is None:
            return None
        where = f"{self.where}: field {name}"
        if not pa.types.is_struct(listed.type.value_type):
            raise InputError(f"{where} is no list of pairs")
        pairs = Records(listed.values, where)
        keys, ends = pairs.needed("key", int), numpy_of(listed.offsets)
        numbers = numpy_of(keys).astype(np.int64)
        rows = np.repeat(np.arange(len(self)), ends[1:] - ends[:-1])
        marks = np.sort((rows << 32) + numbers)
        if (numbers >> 31).any() or (marks[1:] == marks[:-1]).any():
            raise InputError(f"{where} has a key twice, or one that is no number of 31 bits")
        return Pairs(ends.tolist(), keys, pairs.needed("value", kind))

    def within(self, name: str) -> Records:
        """The records that are a column of these."""
        return Records(self.needed(name, dict), self.where)


@dataclass(frozen=True)
class Pairs:
    """A column of maps whose keys are numbers, each of which Avro has as a list of pairs."""

    ends: Sequence[int]
    keys: pa.Array
    values: pa.Array

    def of(self, row: int) -> dict[int, Any]:
        """The map of a record."""
        keys, values = self._lists
        begin, end = self.ends[row : row + 2]
        return dict(zip(keys[begin:end], values[begin:end], strict=True))

    @cached_property
    def _lists(self) -> tuple[list[int], list[Any]]:
        return self.keys.to_pylist(), self.values.to_pylist()


def _decoder_of(
    schema: str | bytes, wanted: Wanted, where: str, *, by_ids: bool = False
) -> AvroDecoder:
    """A decoder of the wanted fields of a writer's records."""
    try:
        writer, columns, plan = _planned(schema, wanted, by_ids)
    except (InputError, RefusedError) as error:
        raise type(error)(f"{where}: {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise InputError(f"{where}: its schema is not readable ({error!r})") from error
    return AvroDecoder(writer, columns, source=where, plan=plan)


@functools.lru_cache(maxsize=64)  # files of one writer share a schema
def _planned(schema: str | bytes, wanted: Wanted, by_ids: bool) -> tuple[AvroType, pa.Schema, Plan]:
    """The writer's type, and its wanted fields as columns."""
    writer = parse_schema(_by_ids(json.loads(schema)) if by_ids else schema)
    columns = pa.schema(_chosen(writer, wanted))
    return writer, columns, AvroDecoder(writer, columns).plan


_PAIR = {"key", "value"}


def _by_ids(kind: Any) -> Any:
    """A type in JSON, the fields of its records called by their ids where these have some."""
    if isinstance(kind, list):
        return [_by_ids(one) for one in kind]
    if not isinstance(kind, dict):
        return kind
    found = {**kind}
    if kind["type"] == "record":
        found["fields"] = [
            {**one, "type": _by_ids(one["type"])}
            | ({"name": str(one["field-id"])} if isinstance(one.get("field-id"), int) else {})
            for one in kind["fields"]
        ]
    elif kind["type"] == "array":
        # Keys and values of maps have ids of their own in each, and their names everywhere.
        items = kind["items"]
        found["items"] = items if _is_pair(items) else _by_ids(items)
    elif not isinstance(kind["type"], str):
        found["type"] = _by_ids(kind["type"])
    return found


def _is_pair(kind: Any) -> bool:
    return isinstance(kind, dict) and {one["name"] for one in kind.get("fields", ())} == _PAIR


def _chosen(record: AvroType, wanted: Wanted) -> list[pa.Field]:
    """The wanted fields of a record; those that hold nothing but null are left out."""
    found = []
    within = dict(one for one in wanted if isinstance(one, tuple))
    names = {*within, *wanted} if wanted else {name for name in record.names if name.isdigit()}
    for name, kind in zip(record.names, record.children, strict=True):
        inner = kind.value_type()
        if name not in names or inner.kind == "null":
            continue
        if name in within:
            type_ = _narrowed(inner, within[name], f"field {name}")
        else:
            type_ = arrow_type(kind, f"field {name}")
        found.append(pa.field(name, type_, kind.nullable))
    return found


def _narrowed(kind: AvroType, wanted: Wanted, where: str) -> pa.DataType:
    """The Arrow type of a type, of whose records some fields are wanted."""
    if kind.kind == "record":
        return pa.struct(_chosen(kind, wanted))
    if kind.kind not in ("array", "map"):
        return arrow_type(kind, where)
    [item] = kind.children
    inner = _narrowed(item.value_type(), wanted, where)
    if kind.kind == "array":
        return pa.list_(pa.field("element", inner, item.nullable))
    return pa.map_(pa.string(), pa.field("value", inner, item.nullable))
