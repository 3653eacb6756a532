"""Types of a page's columns: for the core, and as Arrow types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, arrow_type, parse_schema, schema_of
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import made
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.selection import Rows
from seamkit.serde.vectors import Columns, fits, plain_arrays

_SHORT_DIGITS = 18
# Kinds of the core by the type's word, with their bytes.
_FIXED = {
    "tinyint": 1,
    "smallint": 2,
    "integer": 4,
    "real": 4,
    "date": 4,
    "interval year to month": 4,
    "bigint": 8,
    "timestamp": 8,
    "timestamp microseconds": 8,
    "timestamp with time zone": 8,
    "time with time zone": 8,
    "interval day to second": 8,
    "uuid": 16,
    "ipaddress": 16,
}
_OTHERS = {
    "unknown": (lib.SEAM_PRESTO_UNKNOWN, 0),
    "boolean": (lib.SEAM_PRESTO_BOOLEAN, 0),
    "double": (lib.SEAM_PRESTO_DOUBLE, 0),
    "time": (lib.SEAM_PRESTO_TIME, 0),
    "varchar": (lib.SEAM_PRESTO_TEXT, 0),
    "char": (lib.SEAM_PRESTO_TEXT, 0),
    "json": (lib.SEAM_PRESTO_TEXT, 0),
    "ipprefix": (lib.SEAM_PRESTO_SLICE, 17),
    "array": (lib.SEAM_PRESTO_ARRAY, 0),
    "map": (lib.SEAM_PRESTO_MAP, 0),
    "row": (lib.SEAM_PRESTO_ROW, 0),
}
# Presto hashes these as 64-bit values; of other types the hash is not known here.
_HASHED = ("bigint", "integer", "varchar", "varbinary")


class PageSchema:
    """The columns of a page, compiled; may be used by any number of threads."""

    def __init__(self, fields: Sequence[SerdeField], timestamps: str) -> None:
        request = SerdeRequest("presto", fields, {"timestamps": timestamps})
        self.fields = tuple(fields)
        self._strict = [i for i, field in enumerate(self.fields) if not field.nullable]
        self.timestamps = timestamps
        self.types = parse_schema(request)
        self.schema = schema_of(request)
        self._names: list[Any] = []  # keeps the C strings alive until the core has copied them
        rows = [
            row
            for field, type_ in zip(fields, self.types, strict=True)
            for row in self._flatten(field.name, type_)
        ]
        self.program = self._compile(rows)
        self._names.clear()
        self._fitting: pa.Schema | None = None

    def _flatten(self, name: str, type_: SerdeType) -> Iterator[tuple[int, int, int, int, Any]]:
        """The tree of a type in preorder: kind, size, hashed, number of children, name."""
        text = ffi.new("char[]", name.encode())
        self._names.append(text)
        kind, size = self._kind(type_)
        yield kind, size, type_.kind in _HASHED, len(type_.children), text
        words = {"array": ("element",), "map": ("key", "value")}.get(type_.kind, type_.names)
        for i, (word, child) in enumerate(zip(words, type_.children, strict=True)):
            yield from self._flatten(f"{name}.{word or i}", child)

    def _kind(self, type_: SerdeType) -> tuple[int, int]:
        if type_.kind == "decimal":
            short = type_.precision <= _SHORT_DIGITS
            kind = lib.SEAM_PRESTO_SHORT_DECIMAL if short else lib.SEAM_PRESTO_LONG_DECIMAL
            return kind, type_.precision
        if type_.kind == "timestamp" and self.timestamps == "lossless":
            return lib.SEAM_PRESTO_NANOS, 0
        if type_.kind in _FIXED:
            return lib.SEAM_PRESTO_FIXED, _FIXED[type_.kind]
        return _OTHERS.get(type_.kind, (lib.SEAM_PRESTO_BINARY, 0))

    def _compile(self, rows: Sequence[tuple[int, int, int, int, Any]]) -> Any:
        types = ffi.new("struct seam_presto_type[]", max(len(rows), 1))
        for slot, row in zip(types, rows, strict=False):
            slot.kind, slot.size, slot.hashed, slot.n_children, slot.name = row
        make, free = lib.seam_presto_program_new, lib.seam_presto_program_free
        given = TrackedAllocator().pointer, types, len(rows), len(self.fields)
        return made(ffi.new("struct seam_presto_program **"), make, free, *given)

    def check_batch(self, schema: pa.Schema) -> None:
        """Compare a batch's columns with these.

        A dictionary or run-end encoding may stand in for any type, large strings and lists for
        strings and lists.
        """
        if schema is self._fitting or schema == self.schema:
            return
        if schema.names != self.schema.names:
            raise UsageError(
                f"the batch has columns {', '.join(schema.names)}; "
                f"the schema has {', '.join(self.schema.names)}"
            )
        for given, wanted, field in zip(schema, self.schema, self.fields, strict=True):
            self.check_type(field, given.type, wanted.type)
        self._fitting = schema

    def batch(self, columns: Columns, selections: Sequence[Rows]) -> pa.RecordBatch:
        """A batch, or columns in any dress, as one that fits; lazy columns load rows selected."""
        if isinstance(columns, pa.RecordBatch):
            self.check_batch(columns.schema)
            return self.check_nulls(columns)
        if len(columns) != len(self.fields):
            raise UsageError(
                f"{counted(len(columns), 'column')} for a schema of {len(self.fields)}"
            )
        arrays = plain_arrays(columns, selections)
        for array, field, wanted in zip(arrays, self.fields, self.schema, strict=True):
            self.check_type(field, array.type, wanted.type)
        names = [field.name for field in self.fields]
        return self.check_nulls(pa.RecordBatch.from_arrays(arrays, names=names))

    def check_nulls(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch, if columns that may not hold nulls hold none."""
        for i in self._strict:
            if has_nulls(batch.column(i)):
                raise UsageError(f"column {self.fields[i].name!r} must not hold nulls, but does")
        return batch

    @staticmethod
    def check_type(field: SerdeField, given: pa.DataType, wanted: pa.DataType) -> None:
        """Compare one column's type."""
        if not fits(given, wanted):
            raise UsageError(
                f"column {field.name!r}: {field.type} is written from Arrow's {_in_words(wanted)}, "
                f"not from {_in_words(given)}: cast it"
            )

    def encoded(self, marks: bytes) -> pa.Schema:
        """The Arrow schema of a page with dictionaries and runs where its marks say so."""
        rest = iter(marks)
        fields = [
            pa.field(field.name, _encoded(type_, rest, self.timestamps), field.nullable)
            for field, type_ in zip(self.fields, self.types, strict=True)
        ]
        return pa.schema(fields)


def _encoded(type_: SerdeType, marks: Iterator[int], timestamps: str) -> pa.DataType:
    mark = next(marks)
    if mark & lib.SEAM_PRESTO_MARK_DICTIONARY:
        return pa.dictionary(pa.int32(), _encoded(type_, marks, timestamps))
    if mark & lib.SEAM_PRESTO_MARK_RUN:
        return pa.run_end_encoded(pa.int32(), _encoded(type_, marks, timestamps))
    if not type_.children or mark & lib.SEAM_PRESTO_MARK_BARE:
        return arrow_type(type_, timestamps)
    children = [_encoded(child, marks, timestamps) for child in type_.children]
    if type_.kind == "array":
        return pa.list_(children[0])
    if type_.kind == "map":
        return pa.map_(children[0], children[1])
    return pa.struct(list(zip(type_.names, children, strict=True)))


def _in_words(type_: pa.DataType) -> str:
    """A type in words; extensions of one name differ in their storage."""
    over = f" over {type_.storage_type}" if isinstance(type_, pa.BaseExtensionType) else ""
    return f"{type_}{over}"


def has_nulls(array: pa.Array) -> bool:
    """Whether any row is null, behind a dictionary or in a run as well."""
    if not len(array):
        return False
    if pa.types.is_run_end_encoded(array.type):
        first, count = array.find_physical_offset(), array.find_physical_length()
        return has_nulls(array.values.slice(first, count))
    if array.null_count:
        return True
    if not pa.types.is_dictionary(array.type):
        return False
    entries = array.dictionary
    if pa.types.is_dictionary(entries.type) or pa.types.is_run_end_encoded(entries.type):
        return has_nulls(entries)  # entries that no row uses count: pages have none of those
    return bool(entries.is_null().take(array.indices).true_count)


@lru_cache(maxsize=256)
def _cached(fields: tuple[SerdeField, ...], timestamps: str) -> PageSchema:
    return PageSchema(fields, timestamps)


def page_schema(fields: Sequence[SerdeField], timestamps: str = "millis") -> PageSchema:
    """The compiled schema of some fields; the last few are kept. See `PageSchema`."""
    return _cached(tuple(fields), timestamps)
