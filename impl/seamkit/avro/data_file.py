"""Files in Avro: rows as batches of the table's types, records by columns, decoded by the core."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.avro.decoder import AvroDecoder
from seamkit.avro.plan import Plan
from seamkit.avro.records import AvroContainer
from seamkit.avro.schema import AvroType, arrow_schema, arrow_type, parse_schema
from seamkit.core.arrow_data import batch_of
from seamkit.files.promotion import LOSSLESS, TypeRules, nullable_throughout, resolve_batch
from seamkit.files.reader import FileReader, RowsWanted
from seamkit.files.storage import Storage

_ROW = "row"


class AvroReader(FileReader):
    """One open Avro file, whose rows are records: a `FileReader`."""

    def __init__(
        self,
        storage: Storage,
        path: str,
        rules: TypeRules = LOSSLESS,
        content: bytes | None = None,
    ) -> None:
        """Open a file, whose `content` need not be read again."""
        self._rules = rules
        self.name = storage.full(path)
        content = storage.read(path) if content is None else content
        self._container = AvroContainer(content, self.name, storage.bound)
        self._schema_text = _of_records(self._container.schema, self.name)
        [row] = arrow_schema(self._schema_text)
        if not pa.types.is_struct(row.type):
            raise InputError(f"{self.name}: its rows are no records")
        self.schema = pa.schema(map(nullable_throughout, row.type))
        self.num_rows = self._container.rows

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
            for begin in range(0, self.num_rows, batch_rows):
                rows = min(batch_rows, self.num_rows - begin)
                yield batch_of([pa.nulls(rows, field.type) for field in schema], schema, rows)
            return
        for rows in self._decoded(pa.struct([self.schema.field(name) for name in present]), wanted):
            columns = pa.RecordBatch.from_arrays(rows.flatten(), schema=pa.schema(list(rows.type)))
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


def _of_records(schema: bytes, where: str) -> str:
    """The schema of a record whose one field is the file's datum.

    Its bytes are the same. The datum itself may be a union of a record and null, which the core
    takes as a field alone.
    """
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
        try:
            writer, schema, plan = _planned(container.schema, wanted, by_ids)
        except (InputError, RefusedError) as error:
            raise type(error)(f"{where}: {error}") from error
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
            raise InputError(f"{where}: its schema is not readable ({error!r})") from error
        decoder = AvroDecoder(writer, schema, source=where, plan=plan)
        for _ in _decode_blocks(container, decoder, where):
            pass
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
        keys, ends = pairs.needed("key", int), listed.offsets.to_numpy()
        numbers = keys.to_numpy().astype(np.int64)
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


@functools.lru_cache(maxsize=64)  # files of one writer share a schema
def _planned(schema: bytes, wanted: Wanted, by_ids: bool) -> tuple[AvroType, pa.Schema, Plan]:
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
