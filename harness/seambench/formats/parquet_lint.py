"""What a Parquet file says of its values, held against the values themselves.

The footer is parsed here, the values come from pyarrow. Lists and maps are judged by their leaves,
as the format states statistics. Numbers of fields are those of parquet.thrift.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambench.contracts.common import Level
from seambench.contracts.lint import Fault
from seambench.formats.forms.footer import (
    BOOLEAN,
    BYTES,
    DOUBLE,
    FIXED,
    FLOAT,
    INT32,
    INT64,
    INT96,
    Footer,
    Leaf,
    Struct,
    is_decimal,
    leaves,
    read_struct,
)

_ENDS = b"PAR1"
_SOURCES = {
    "statistics": "parquet.thrift, Statistics and ColumnOrder",
    "zeros": "parquet.thrift, TypeDefinedOrder: signed zeros and NaN",
    "chunk": "parquet.thrift, ColumnMetaData",
    "rows": "parquet.thrift, FileMetaData and RowGroup",
    "sorting": "parquet.thrift, RowGroup.sorting_columns",
    "index": "parquet.thrift, ColumnIndex and OffsetIndex",
}
_NANOS = {1: 1_000_000, 2: 1_000, 3: 1}
"""Nanoseconds of the units of parquet.thrift's TimeUnit."""
_ARROW_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True)
class _Column:
    """A column of a file: its leaf, and the element of the schema that gives its values a type."""

    leaf: Leaf
    element: Struct

    @property
    def name(self) -> str:
        return ".".join(self.leaf.path)

    def bound(self, raw: bytes) -> Any:
        """What the bytes of a bound mean, in the order of the type; None where there is none."""
        kind = self.leaf.physical
        if kind == BOOLEAN:
            return raw != b"\0"
        if kind in (INT32, INT64):
            if len(raw) != (4 if kind == INT32 else 8):
                return None
            return int.from_bytes(raw, "little", signed=not self._unsigned) * self._nanos
        if kind in (FLOAT, DOUBLE):
            return struct.unpack("<f" if kind == FLOAT else "<d", raw)[0]
        if kind in (BYTES, FIXED):
            return int.from_bytes(raw, "big", signed=True) if is_decimal(self.element) else raw
        return None

    @property
    def ordered(self) -> bool:
        """Whether its values have an order that this module knows."""
        logical = self.element.get(10, ())
        # Intervals, 16-bit floats, variants and geometries have none, or another.
        others = self.element.whole(6, -1) == 21 or any(
            kind in logical for kind in (15, 16, 17, 18)
        )
        return self.leaf.physical != INT96 and not others

    @property
    def _unsigned(self) -> bool:
        logical = self.element.get(10, Struct())
        if 10 in logical:
            return bool(logical[10][2].value == 0)
        return 11 <= self.element.whole(6, -1) <= 14

    @property
    def _nanos(self) -> int:
        """Nanoseconds of one, of times and timestamps; 1 for others."""
        logical = self.element.get(10, Struct())
        for kind in (7, 8):
            if kind in logical:
                return _NANOS[next(iter(logical[kind][2]))]
        return {7: 1_000_000, 8: 1_000, 9: 1_000_000, 10: 1_000}.get(self.element.whole(6, -1), 1)


def parquet_faults(file: Path, place: str) -> Iterator[Fault]:
    """What is wrong with a Parquet file.

    Args:
        file: where it lies.
        place: what faults call it.
    """
    data = file.read_bytes()
    size = int.from_bytes(data[-8:-4], "little") if len(data) > 12 else 0
    if data[:4] != _ENDS or data[-4:] != _ENDS or not 0 < size <= len(data) - 12:
        yield Fault("parquet.magic", _SOURCES["rows"], place, "it is no whole Parquet file")
        return
    try:
        footer, opened = Footer(data), plainly_opened(data)
    except (pa.ArrowException, OSError, IndexError, KeyError, ValueError, StopIteration) as error:
        yield Fault("parquet.footer", _SOURCES["rows"], place, f"its footer is broken: {error}")
        return
    lint = _File(place, data, footer, opened)
    yield from lint.faults()


def plainly_opened(data: bytes) -> pq.ParquetFile:
    """A Parquet file with the types of Parquet alone, whatever Arrow types its writer noted."""
    footer = Footer(data)
    if 5 in footer.tree:
        kept = [entry for entry in footer.tree[5].items if entry[1].value != b"ARROW:schema"]
        footer.tree[5].items[:] = kept
    return pq.ParquetFile(pa.BufferReader(footer.file()))


class _File:
    """One file while it is judged."""

    def __init__(self, place: str, data: bytes, footer: Footer, opened: pq.ParquetFile) -> None:
        self._place, self._data, self._tree, self._opened = place, data, footer.tree, opened
        elements = [one for one in footer.schema.items[1:] if not one.whole(5)]
        self._columns = [
            _Column(leaf, element)
            for leaf, element in zip(leaves(footer.schema), elements, strict=True)
        ]

    def faults(self) -> Iterator[Fault]:
        """All that is wrong."""
        groups = self._tree[4].items
        counted = sum(group.whole(3) for group in groups)
        if counted != self._tree.whole(3):
            yield self._fault(
                "rows",
                "row-count",
                "",
                f"{self._tree.whole(3)} rows stated, {counted} in its groups",
            )
        for number, group in enumerate(groups):
            if outside := list(self._outside(number, group)):
                yield from outside
                continue
            try:
                table = self._opened.read_row_group(number)
            except (pa.ArrowException, OSError) as error:
                yield self._fault("rows", "unreadable", f"row group {number}", f"{error}")
                continue
            yield from self._group(number, group, table)

    def _fault(self, source: str, rule: str, where: str, says: str, level: Level = "must") -> Fault:
        place = f"{self._place}, {where}" if where else self._place
        return Fault(f"parquet.{rule}", _SOURCES[source], place, says, level)

    def _outside(self, number: int, group: Struct) -> Iterator[Fault]:
        for column, chunk in zip(self._columns, group[1].items, strict=True):
            meta = chunk[3]
            begin = min(meta.whole(11) or meta.whole(9), meta.whole(9))
            if meta.whole(5) and not len(_ENDS) <= begin <= begin + meta.whole(7) <= len(
                self._data
            ):
                where = f"row group {number}, column {column.name}"
                yield self._fault("chunk", "chunk.bytes", where, "its pages lie outside the file")

    def _group(self, number: int, group: Struct, table: pa.Table) -> Iterator[Fault]:
        if table.num_rows != group.whole(3):
            says = f"{group.whole(3)} rows stated, {table.num_rows} are there"
            yield self._fault("rows", "row-count", f"row group {number}", says)
            return
        flat = list(_flat(table))
        if len(flat) != len(self._columns):  # a column without a value type, as Arrow reads it
            return
        for column, values, chunk in zip(self._columns, flat, group[1].items, strict=True):
            where = f"row group {number}, column {column.name}"
            yield from self._chunk(where, column, values, chunk, group.whole(3))
        yield from self._sorted(number, group, flat)

    def _chunk(
        self, where: str, column: _Column, values: pa.Array, chunk: Struct, rows: int
    ) -> Iterator[Fault]:
        meta = chunk[3]
        present = pc.drop_null(values)
        nulls = meta.whole(5) - len(present)
        if nulls < 0 or (not column.leaf.repetition and meta.whole(5) != rows):
            says = f"{meta.whole(5)} values stated, {rows} rows with {len(present)} are there"
            yield self._fault("chunk", "chunk.num-values", where, says)
            return
        if 12 in meta:
            said = meta[12]
            if 3 in said and said.whole(3) != nulls:
                says = f"null_count is {said.whole(3)}, it must be {nulls}"
                yield self._fault("statistics", "statistics.null-count", where, says)
            if 4 in said and said.whole(4) != (count := len(pc.unique(present))):
                says = f"distinct_count is {said.whole(4)}, it must be {count}"
                yield self._fault("statistics", "statistics.distinct-count", where, says)
            yield from self._bounds(where, column, present, said)
        if 6 in chunk and 4 in chunk and not column.leaf.repetition:
            yield from self._index(where, column, values, chunk)

    def _bounds(
        self, where: str, column: _Column, present: pa.Array, said: Struct
    ) -> Iterator[Fault]:
        """Bounds of a chunk; the old fields are those of signed comparison."""
        old = column.leaf.physical in (INT32, INT64, FLOAT, DOUBLE, BOOLEAN)
        fields = [(6, 5, "min_value", "max_value")] + ([(2, 1, "min", "max")] if old else [])
        for low, high, low_name, high_name in fields:
            for field, name, exact in ((low, low_name, 8), (high, high_name, 7)):
                if field in said:
                    is_exact = exact in said and said[exact].value == 1
                    yield from self._bound(
                        (where, name, field in (2, 6)), column, present, said[field].value, is_exact
                    )

    def _bound(
        self,
        at: tuple[str, str, bool],
        column: _Column,
        present: pa.Array,
        raw: bytes,
        is_exact: bool = False,
    ) -> Iterator[Fault]:
        where, name, is_low = at
        values = _comparable(present)
        if values is None or not column.ordered:
            return
        try:
            bound = column.bound(raw)
        except struct.error:
            bound = None
        rule = f"statistics.{'min' if is_low else 'max'}"
        if bound is None:
            says = f"{name} is {raw.hex()}, which is no value of the column's type"
            yield self._fault("statistics", rule, where, says)
            return
        if isinstance(bound, float) and math.isnan(bound):
            yield self._fault("zeros", f"{rule}-nan", where, f"{name} is NaN", "should")
            return
        extreme = values(is_low)
        if extreme is None:
            return
        if (extreme < bound) if is_low else (extreme > bound):
            says = f"{name} is {_shown(bound)}, there is {_shown(extreme)}"
            yield self._fault("statistics", rule, where, says)
        elif is_exact and extreme != bound:
            says = f"{name} is {_shown(bound)}, said to be exact; it is {_shown(extreme)}"
            yield self._fault("statistics", f"{rule}-exact", where, says)
        elif (
            bound == 0
            and isinstance(bound, float)
            and math.copysign(1, bound) == (1 if is_low else -1)
        ):
            says = f"{name} is {bound}, by which {-bound} is left unread"
            yield self._fault("zeros", f"{rule}-zero", where, says, "should")

    def _index(
        self, where: str, column: _Column, values: pa.Array, chunk: Struct
    ) -> Iterator[Fault]:
        """Each page of a column that is no list, against its rows."""
        try:
            index = read_struct(self._data, chunk.whole(6))
            pages = [one.whole(3) for one in read_struct(self._data, chunk.whole(4))[1].items]
        except (IndexError, KeyError) as error:
            yield self._fault("index", "index.broken", where, f"a page index is broken: {error!r}")
            return
        empty, low, high = index[1].items, index[2].items, index[3].items
        if not len(pages) == len(empty) == len(low) == len(high) or pages != sorted(set(pages)):
            says = f"{len(pages)} pages located, {len(empty)} in the column index"
            yield self._fault("index", "index.pages", where, says)
            return
        for number, (begin, end) in enumerate(zip(pages, [*pages[1:], len(values)], strict=True)):
            page, at = values[begin:end], f"{where}, page {number}"
            present = pc.drop_null(page)
            if bool(empty[number].value) != (len(present) == 0):
                says = f"null_pages says {bool(empty[number].value)} of {len(present)} values"
                yield self._fault("index", "index.null-pages", at, says)
                continue
            if 5 in index and index[5].items[number].value != page.null_count:
                says = (
                    f"null_counts is {index[5].items[number].value}, it must be {page.null_count}"
                )
                yield self._fault("index", "index.null-counts", at, says)
            for bounds, is_low in ((low, True), (high, False)) if len(present) else ():
                name = "min_values" if is_low else "max_values"
                yield from self._bound((at, name, is_low), column, present, bounds[number].value)

    def _sorted(self, number: int, group: Struct, flat: Sequence[pa.Array]) -> Iterator[Fault]:
        """Rows in the order that the group claims, as far as its columns are flat."""
        claimed = group[4].items if 4 in group else []
        if not claimed or any(self._columns[one.whole(1)].leaf.repetition for one in claimed):
            return
        # Floats have no order there: NaN and zeros are left to the writer.
        if any(pa.types.is_floating(flat[one.whole(1)].type) for one in claimed):
            return
        columns = [flat[one.whole(1)].to_pylist() for one in claimed]
        ways = [(one[2].value == 1, one[3].value == 1) for one in claimed]
        rows = list(zip(*columns, strict=True))
        if any(_is_behind(one, other, ways) for one, other in pairwise(rows)):
            names = ", ".join(self._columns[one.whole(1)].name for one in claimed)
            says = f"its rows are not in order of {names}"
            yield self._fault("sorting", "sorting", f"row group {number}", says)


def _is_behind(one: Sequence[Any], other: Sequence[Any], ways: Sequence[tuple[bool, bool]]) -> bool:
    """Whether a row that comes first belongs behind the other; ways: descending, nulls first."""
    for a, b, (descending, nulls_first) in zip(one, other, ways, strict=True):
        if a is None or b is None:
            if (a is None) != (b is None):
                return (a is None) != nulls_first
        elif a != b:
            return bool((a < b) if descending else (a > b))
    return False


def _flat(table: pa.Table) -> Iterator[pa.Array]:
    """The values of each leaf, null where a struct around it is."""
    for column in table.columns:
        yield from _below(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0))


def _below(values: Any) -> Iterator[pa.Array]:
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _below(values.storage)
    elif pa.types.is_dictionary(kind):
        yield from _below(values.dictionary_decode())
    elif pa.types.is_struct(kind):
        for inner in values.flatten():
            yield from _below(inner)
    elif pa.types.is_map(kind):
        # Entries of a null map may lie in its child: only those of the others count.
        entries = pc.list_flatten(
            values.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        )
        yield from _below(entries)
    elif pa.types.is_nested(kind):
        yield from _below(pc.list_flatten(values))
    else:
        yield values


def _comparable(present: pa.Array) -> Callable[[bool], Any] | None:
    """The least or greatest of some values, in the terms of `_Column.bound`; None: no order."""
    kind = present.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return lambda low: _extreme(present, low)
    if pa.types.is_floating(kind):
        numbers = present.filter(pc.invert(pc.is_nan(present)))
        return lambda low: _extreme(numbers, low)
    if pa.types.is_decimal(kind):
        return lambda low: _unscaled(_extreme(present, low), kind.scale)
    if pa.types.is_date32(kind):
        return lambda low: _extreme(present.cast(pa.int32()), low)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        number = pa.int32() if kind.bit_width == 32 else pa.int64()
        nanos = _ARROW_NANOS[kind.unit]
        return lambda low: _times(_extreme(present.cast(number), low), nanos)
    if pa.types.is_null(kind):
        return lambda _: None
    if pa.types.is_fixed_size_binary(kind):
        return lambda low: _extreme(present.cast(pa.binary()), low)
    try:
        texts = present.cast(pa.large_binary())
    except pa.ArrowException:
        return None
    return lambda low: _extreme(texts, low)


def _extreme(values: pa.Array, low: bool) -> Any:
    return pc.min_max(values)["min" if low else "max"].as_py()


def _times(value: int | None, nanos: int) -> int | None:
    return None if value is None else int(value) * nanos


def _unscaled(value: Any, scale: int) -> int | None:
    if value is None:
        return None
    sign, digits, exponent = value.as_tuple()
    whole = int("".join(map(str, digits)))
    for _ in range(exponent + scale):
        whole *= 10
    return -whole if sign else whole


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
