"""What a Parquet file says of its values, held against the values themselves.

The footer is parsed here, the values come from pyarrow. Lists and maps are judged by their leaves,
as the format states statistics. Numbers of fields are those of parquet.thrift.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seambench.contracts.formats import Fault
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
from seambench.formats.lint import DAMAGE, Finding, Rules, Wrong, reason
from seambench.formats.lint.chunks import Page, lost, mislocated, misstated, pages_of
from seambench.formats.lint.values import Ends, ends

RULES = Rules("parquet", "parquet.thrift", Path(__file__).with_suffix(".toml"))
_ENDS = b"PAR1"
_NANOS = {1: 1_000_000, 2: 1_000, 3: 1}
"""Nanoseconds of the units of parquet.thrift's TimeUnit."""


@dataclass(frozen=True)
class _Column:
    """A column of a file: its leaf, and the element of the schema that gives its values a type."""

    leaf: Leaf
    element: Struct

    @property
    def name(self) -> str:
        return ".".join(self.leaf.path)

    def value(self, raw: bytes) -> Any:
        """What the bytes of a bound mean, in the order of the type; None where there is none."""
        try:
            return self._value(raw)
        except struct.error:
            return None

    def _value(self, raw: bytes) -> Any:
        kind = self.leaf.physical
        if kind == BOOLEAN:
            return raw != b"\0"
        if kind in (INT32, INT64):
            if len(raw) != (4 if kind == INT32 else 8):
                return None
            return int.from_bytes(raw, "little", signed=not self.unsigned) * self._nanos
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
    def unsigned(self) -> bool:
        """Whether its whole numbers have no sign."""
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
                return _NANOS[next(iter(logical[kind][2]), 0)]
        return {7: 1_000_000, 8: 1_000, 9: 1_000_000, 10: 1_000}.get(self.element.whole(6, -1), 1)


@dataclass(frozen=True)
class Parquet:
    """A Parquet file that was judged."""

    faults: list[Fault]  # what is wrong with it
    # with the types of Parquet alone, whatever Arrow types its writer noted; None where they cannot
    # be read
    rows: pa.Table | None = None
    metadata: Mapping[bytes, bytes] = field(default_factory=dict)  # key-values of its footer


def judged(file: Path, place: str) -> Parquet:
    """What is wrong with a Parquet file, and its rows.

    Args:
        file: where it lies.
        place: what faults call it.
    """
    data = file.read_bytes()
    size = int.from_bytes(data[-8:-4], "little") if len(data) > 12 else 0
    if data[:4] != _ENDS or data[-4:] != _ENDS or not 0 < size <= len(data) - 12:
        return Parquet([RULES.fault(("magic", place, "it is no whole Parquet file"))])
    try:
        lint = _File(place, data)
    except DAMAGE as error:
        return Parquet([RULES.fault(("footer", place, f"its footer is broken: {reason(error)}"))])
    faults = list(RULES.faults(lint.findings, "footer", place))
    rows = None
    if len(lint.tables) == lint.groups:
        rows = pa.concat_tables(lint.tables) if lint.tables else lint.opened.read()
    return Parquet(faults, rows, lint.metadata)


class _File:
    """One file while it is judged."""

    def __init__(self, place: str, data: bytes) -> None:
        footer = Footer(data)
        self._place, self._data, self._tree = place, data, footer.tree
        entries = footer.tree[5].items if 5 in footer.tree else []
        self.metadata = {one[1].value: one[2].value for one in entries if 2 in one}
        entries[:] = [one for one in entries if one[1].value != b"ARROW:schema"]
        whole = pa.BufferReader(footer.file())
        self.opened = pq.ParquetFile(whole, page_checksum_verification=True)
        self.tables: list[pa.Table] = []
        self.groups = len(footer.tree[4].items)
        elements = [one for one in footer.schema.items[1:] if not one.whole(5)]
        self._columns = [
            _Column(leaf, element)
            for leaf, element in zip(leaves(footer.schema), elements, strict=True)
        ]

    def findings(self) -> Iterator[Finding]:
        """All that is wrong."""
        groups = self._tree[4].items
        counted, stated = sum(group.whole(3) for group in groups), self._tree.whole(3)
        if counted != stated:
            yield "row-count", self._place, f"{stated} rows stated, {counted} in its groups"
        for number, group in enumerate(groups):
            where = f"{self._place}, row group {number}"
            if outside := list(self._outside(where, group)):
                yield from outside
                continue
            try:
                table = self.opened.read_row_group(number)
            except (pa.ArrowException, OSError, ValueError) as error:
                yield "unreadable", where, reason(error)
                continue
            self.tables.append(table)
            yield from self._group(where, group, table)

    def _outside(self, where: str, group: Struct) -> Iterator[Finding]:
        for column, chunk in zip(self._columns, group[1].items, strict=True):
            meta = chunk[3]
            begin = min(meta.whole(11) or meta.whole(9), meta.whole(9))
            end = begin + meta.whole(7)
            if meta.whole(5) and not len(_ENDS) <= begin <= end <= len(self._data):
                yield (
                    "chunk.bytes",
                    f"{where}, column {column.name}",
                    "its pages lie outside the file",
                )

    def _group(self, where: str, group: Struct, table: pa.Table) -> Iterator[Finding]:
        if table.num_rows != group.whole(3):
            yield "row-count", where, f"{group.whole(3)} rows stated, {table.num_rows} are there"
            return
        flat = list(_flat(table))
        if len(flat) != len(self._columns):  # a column without a value type, as Arrow reads it
            return
        for column, values, chunk in zip(self._columns, flat, group[1].items, strict=True):
            at = f"{where}, column {column.name}"
            for rule, says in self._chunk(column, values, chunk, group.whole(3)):
                yield rule, at, says
            try:
                pages = list(pages_of(self._data, chunk[3]))
            except DAMAGE as error:
                yield "chunk.pages", at, f"its pages cannot be told apart: {reason(error)}"
                continue
            for rule, says in misstated(pages, chunk[3]):
                yield rule, at, says
            if 6 in chunk and 4 in chunk and not column.leaf.repetition:
                for place, rule, says in self._index(column, values, chunk, pages):
                    yield rule, f"{at}{place}", says
        if names := self._unsorted(group, flat):
            yield "sorting", where, f"its rows are not in order of {names}"

    def _chunk(
        self, column: _Column, values: pa.Array, chunk: Struct, rows: int
    ) -> Iterator[Wrong]:
        meta, present = chunk[3], pc.drop_null(values)
        nulls = meta.whole(5) - len(present)
        if nulls < 0 or (not column.leaf.repetition and meta.whole(5) != rows):
            says = f"{meta.whole(5)} values stated, {rows} rows with {len(present)} are there"
            yield "chunk.num-values", says
            return
        said = meta.get(12, Struct())
        if 3 in said and said.whole(3) != nulls:
            yield "statistics.null-count", f"null_count is {said.whole(3)}, it must be {nulls}"
        if 4 in said and said.whole(4) != (count := len(pc.unique(present))):
            says = f"distinct_count is {said.whole(4)}, it must be {count}"
            yield "statistics.distinct-count", says
        # The old fields are those of signed comparison.
        signed = column.leaf.physical in (INT32, INT64, FLOAT, DOUBLE, BOOLEAN)
        old = signed and not column.unsigned
        fields = [(6, "min_value", 8), (5, "max_value", 7)]
        known = ends(present) if 12 in meta and column.ordered else None
        for number, name, exact in (*fields, *([(2, "min", 8), (1, "max", 7)] if old else [])):
            if number in said:
                exactly = exact in said and said[exact].value == 1
                yield from _bound(name, column, known, said[number].value, exactly)
        if 14 in meta:
            yield from self._bloom(column, present, meta)

    def _bloom(self, column: _Column, present: pa.Array, meta: Struct) -> Iterator[Wrong]:
        try:
            denied = lost(self._data, meta, present, column.leaf.physical, column.leaf.length)
        except (ValueError, IndexError, KeyError) as error:
            yield "bloom.broken", f"its Bloom filter cannot be read: {reason(error)}"
            return
        if denied:
            yield (
                "bloom.values",
                f"its filter denies {len(denied)} values, {denied[0].hex()} among them",
            )

    def _index(
        self, column: _Column, values: pa.Array, chunk: Struct, there: Sequence[Page]
    ) -> Iterator[tuple[str, str, str]]:
        """Page, rule and sentence for each page of a column that is no list, against its rows."""
        try:
            index = read_struct(self._data, chunk.whole(6))
            located = read_struct(self._data, chunk.whole(4))[1].items
            pages = [one.whole(3) for one in located]
            empty, low, high = index[1].items, index[2].items, index[3].items
            nulls = index[5].items if 5 in index else None
        except (IndexError, KeyError, ValueError, TypeError, AttributeError) as error:
            yield "", "index.broken", f"a page index is broken: {reason(error)}"
            return
        if not len(pages) == len(empty) == len(low) == len(high) or pages != sorted(set(pages)):
            says = f"{len(pages)} pages located, {len(empty)} in the column index"
            yield "", "index.pages", says
            return
        if says := mislocated(there, located):
            yield "", "index.pages", says
            return
        if says := _unordered(column, index):
            yield "", "index.order", says
        for number, (begin, end) in enumerate(zip(pages, [*pages[1:], len(values)], strict=True)):
            page, at = values[begin:end], f", page {number}"
            present = pc.drop_null(page)
            if bool(empty[number].value) != (len(present) == 0):
                says = f"null_pages says {bool(empty[number].value)} of {len(present)} values"
                yield at, "index.null-pages", says
                continue
            if nulls is not None and nulls[number].value != page.null_count:
                says = f"null_counts is {nulls[number].value}, it must be {page.null_count}"
                yield at, "index.null-counts", says
            known = ends(present) if len(present) and column.ordered else None
            for bounds, name in ((low, "min_values"), (high, "max_values")):
                for rule, says in _bound(name, column, known, bounds[number].value):
                    yield at, rule, says

    def _unsorted(self, group: Struct, flat: Sequence[pa.Array]) -> str:
        """Columns whose order the group claims and its rows have not, as far as they are flat."""
        claimed = [
            (self._columns[one.whole(1)], one) for one in (group[4].items if 4 in group else ())
        ]
        # Floats have no order there: NaN and zeros are left to the writer.
        loose = [
            column.leaf.repetition or column.leaf.physical in (FLOAT, DOUBLE)
            for column, _ in claimed
        ]
        if not claimed or any(loose):
            return ""
        columns = [flat[one.whole(1)].to_pylist() for _, one in claimed]
        ways = [(one[2].value == 1, one[3].value == 1) for _, one in claimed]
        rows = pairwise(zip(*columns, strict=True))
        behind = any(is_behind(one, other, ways) for one, other in rows)
        return ", ".join(column.name for column, _ in claimed) if behind else ""


def _unordered(column: _Column, index: Struct) -> str:
    """Which bounds of pages are not in the order that an index claims, by which readers seek."""
    order = index.whole(4)
    for number, name in ((2, "min_values"), (3, "max_values")):
        items = zip(index[1].items, index[number].items, strict=True)
        values = [column.value(one.value) for empty, one in items if not empty.value]
        if not column.ordered or order not in (1, 2) or None in values:
            return ""
        if any((a > b) if order == 1 else (a < b) for a, b in pairwise(values)):
            return f"boundary_order is {order}, and {name} are {[*map(_shown, values)]!s:.99}"
    return ""


def _bound(
    name: str, column: _Column, known: Ends | None, raw: bytes, is_exact: bool = False
) -> Iterator[Wrong]:
    """A bound of values whose ends are known; its field's name begins with `min` or `max`."""
    if known is None:
        return
    is_low = name.startswith("min")
    rule, extreme = f"statistics.{name[:3]}", known[0 if is_low else 1]
    bound = column.value(raw)
    if bound is None:
        yield rule, f"{name} is {raw.hex()}, which is no value of the column's type"
    elif isinstance(bound, float) and math.isnan(bound):
        yield f"{rule}-nan", f"{name} is NaN"
    elif extreme is None:
        return
    elif (extreme < bound) if is_low else (extreme > bound):
        yield rule, f"{name} is {_shown(bound)}, there is {_shown(extreme)}"
    elif is_exact and extreme != bound:
        yield (
            f"{rule}-exact",
            f"{name} is {_shown(bound)}, said to be exact; it is {_shown(extreme)}",
        )
    elif bound == 0 and isinstance(bound, float) and (math.copysign(1, bound) > 0) == is_low:
        yield f"{rule}-zero", f"{name} is {bound}, by which {-bound} is left unread"


def is_behind(one: Sequence[Any], other: Sequence[Any], ways: Sequence[tuple[bool, bool]]) -> bool:
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


def _shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
