"""From a format's objects into the columns of a table: gathered by chunk, appended by column.

A scanner hands over one item at a time. What it costs to cross into the core is paid once for a
column's chunk, not for every value; effects and errors are those of appending at once.
"""

from __future__ import annotations

import abc
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, tzinfo
from itertools import accumulate, chain
from typing import Any, NamedTuple

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import check, new_error
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import ColumnType, Kind
from seamkit.offheap.connector.gather import (
    GETTERS,
    NOT_TAKEN,
    PLAIN,
    BadItemError,
    Buffers,
    careful,
    flags_pointer,
    in_turn,
    null_flags,
)
from seamkit.offheap.connector.value import ColumnValue, PlainValue


class Source(NamedTuple):
    """How a scanner's items are read: class of the values, and zone of its clocks."""

    values: type[ColumnValue] = PlainValue
    zone: tzinfo = UTC


class Appender:
    """Appends items to one column.

    Attributes:
        put: takes an item, None for NULL. It only gathers; `flush` appends.
        items: what is gathered.
    """

    def __init__(self, node: _Node) -> None:
        self._node = node
        self.items: list[Any] = []
        self.put: Callable[[Any], None] = self.items.append

    @property
    def rows(self) -> int:
        """Rows that the column has."""
        return self._node.rows

    def truncate(self, rows: int) -> None:
        """Take back all rows of the column from `rows` on."""
        self._node.truncate(rows)

    def flush(self) -> None:
        """Append what is gathered, in order; all of it or nothing."""
        items = self.items
        start = self.rows
        try:
            self._node.write(items)
        except BaseException:
            self.truncate(start)
            raise
        items.clear()


def bind(
    table: OffHeapTable,
    index: int,
    name: str,
    values: type[ColumnValue] = PlainValue,
    *,
    source: ColumnType | None = None,
    zone: tzinfo = UTC,
) -> Appender:
    """What appends to column `index` of a table, until that column is released.

    `values` is the class of the values that the items are, and `source` the type of the items, of
    which the column's type may be a part; by default that. Clocks of `zone` show timestamps with a
    zone.
    """
    column = table.types[index]
    how = Source(values, zone)
    return Appender(_node(table.vector(index), column, source or column, name, how))


class _Node(abc.ABC):
    def __init__(
        self, vector: Any, column: ColumnType, source: ColumnType, name: str, how: Source
    ) -> None:
        self.vector = vector
        self.column = column
        self.source = source
        self.name = (name, column)
        self.how = how
        self._null_is_none = how.values.is_null is ColumnValue.is_null
        self._error = new_error()

    @property
    def rows(self) -> int:
        """Rows that are there."""
        return int(self.vector.rows)

    def truncate(self, rows: int) -> None:
        """Take back all rows from `rows` on."""
        check(lib.seam_vector_truncate(self.vector, rows, self._error), self._error)

    def write(self, items: Sequence[Any]) -> None:
        """Append items; a failure may leave some of them."""
        if self.is_plain():
            start = self.rows
            try:
                return self.write_plain(items)
            except (*NOT_TAKEN, InputError):  # or none is at fault, and there is just a slower way
                self.truncate(start)
        make, source, zone = self.how.values, self.source, self.how.zone
        values: list[ColumnValue | None] = [
            None if item is None else make(item, source, zone) for item in items
        ]
        if not self._null_is_none:
            values = [None if value is None or value.is_null() else value for value in values]
        return self.write_values(values)

    @abc.abstractmethod
    def is_plain(self) -> bool:
        """Whether items are read as those of `PlainValue` are."""

    @abc.abstractmethod
    def write_plain(self, items: Sequence[Any]) -> None:
        """Append items that are what `PlainValue` takes, all at once."""

    @abc.abstractmethod
    def write_values(self, values: Sequence[ColumnValue | None]) -> None:
        """Append values through their getters."""

    def append(self, buffers: Buffers, items: Sequence[Any]) -> None:
        """Call into the core; an item that does not fit becomes a `BadItemError`."""
        start = self.rows
        function, arguments = buffers
        code = function(self.vector, *arguments, len(items), self._error)
        try:
            check(code, self._error)
        except InputError as reason:
            at = self.rows - start
            item = items[at]
            raw = item.item if isinstance(item, ColumnValue) else item
            raise BadItemError(at, raw, self.name, reason) from reason


class _Flat(_Node):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        values = self.how.values
        self._gather = PLAIN.get(getattr(values, GETTERS[self.column.kind]))
        self._quick = self._gather is not None and self._null_is_none
        # A class that makes something of its item must be made anew for each.
        self._reusable = values.__init__ is ColumnValue.__init__

    def is_plain(self) -> bool:
        return self._quick or self._reusable

    def write_plain(self, items: Sequence[Any]) -> None:
        if self._quick and self._gather is not None:
            buffers = self._gather(items)
        else:
            value = self.how.values(None, self.source, self.how.zone)
            kind, scale = self.column.kind, self.column.scale
            buffers = in_turn(kind, scale, value, items, ask_null=not self._null_is_none)
        check(
            buffers.function(self.vector, *buffers.arguments, len(items), self._error), self._error
        )

    def write_values(self, values: Sequence[ColumnValue | None]) -> None:
        self.append(careful(self.column.kind, self.column.scale, values, self.name), values)


class _Nulls(_Node):
    """A column of Java's internal kind BYTE: it has no values."""

    def is_plain(self) -> bool:
        return False

    def write_plain(self, items: Sequence[Any]) -> None:
        raise NotImplementedError

    def write_values(self, values: Sequence[ColumnValue | None]) -> None:
        for row, value in enumerate(values):
            if value is not None:
                reason = TypeError("a column of this kind takes no values")
                raise BadItemError(row, value.item, self.name, reason)
        flags = ffi.from_buffer("uint8_t[]", b"\1" * len(values))
        self.append(Buffers(lib.seam_vector_append_longs, (ffi.NULL, flags)), values)


class _Nested(_Node):
    """A column with children, which are written first, each as a whole."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        #: Child of the source that each child of the column is, and what writes it.
        self.parts: list[tuple[int, _Node]] = []
        for at, (name, child) in enumerate(
            zip(self.column.names, self.column.children, strict=True)
        ):
            if child.kind is not Kind.UNKNOWN:
                index = self.source.names.index(name)
                vector = lib.seam_vector_child(self.vector, at)
                path = f"{self.name[0]}.{name}"
                source = self.source.children[index]
                self.parts.append((index, _node(vector, child, source, path, self.how)))

    def write_parts(
        self,
        write: str,
        contents: Iterable[Sequence[Any]],
        row_of: Callable[[int], int],
    ) -> None:
        """Write every child by a method.

        Of several items at fault the one in the earliest row is named. `contents` has what is for
        each of `parts`; `row_of` says which row a row of the children belongs to.
        """
        first: BadItemError | None = None
        for (_, node), content in zip(self.parts, contents, strict=True):
            try:
                getattr(node, write)(content)
            except BadItemError as bad:
                bad.row = row_of(bad.row)
                if first is None or bad.row < first.row:
                    first = bad
        if first is not None:
            raise first


class _Entries(_Nested):
    """An array, or a map of which keys or values may be left out."""

    @property
    def _is_map(self) -> bool:
        return self.column.kind is Kind.MAP

    def is_plain(self) -> bool:
        getter = "unpack_map" if self._is_map else "unpack_array"
        return self._null_is_none and getattr(self.how.values, getter) is getattr(
            PlainValue, getter
        )

    def write_plain(self, items: Sequence[Any]) -> None:
        kinds = set(map(type, items)) - {list, tuple, type(None)}
        if kinds - ({dict} if self._is_map else set()):
            raise TypeError("not all of the items are lists")
        rows = [item.items() if type(item) is dict else item or () for item in items]
        entries = list(chain.from_iterable(rows))
        if self._is_map and set(map(type, entries)) - {list, tuple}:
            raise TypeError("not all of the entries are pairs")
        halves = (
            [[key for key, _ in entries], [v for _, v in entries]] if self._is_map else [entries]
        )
        self._write("write", halves, list(map(len, rows)), items)

    def write_values(self, values: Sequence[ColumnValue | None]) -> None:
        halves: list[list[ColumnValue | None]] = [[], []]
        counts = []
        for row, value in enumerate(values):
            before = len(halves[0])
            try:
                if value is not None and self._is_map:
                    keys, contents = map(list, value.unpack_map())
                    if len(keys) != len(contents):
                        raise ValueError(
                            f"{counted(len(keys), 'key')} with {counted(len(contents), 'value')}"
                        )
                    halves[0] += keys
                    halves[1] += contents
                elif value is not None:
                    halves[0] += value.unpack_array()
            except NOT_TAKEN as reason:
                raise BadItemError(row, value and value.item, self.name, reason) from reason
            counts.append(len(halves[0]) - before)
        self._write("write_values", halves, counts, values)

    def _write(
        self,
        write: str,
        halves: Sequence[Sequence[Any]],
        counts: Sequence[int],
        items: Sequence[Any],
    ) -> None:
        ends = list(accumulate(counts))
        contents = [halves[index] for index, _ in self.parts]
        self.write_parts(write, contents, lambda row: bisect_right(ends, row))
        arguments = ffi.new("int64_t[]", counts), flags_pointer(null_flags(items))
        self.append(Buffers(lib.seam_vector_append_entries, arguments), items)


class _Struct(_Nested):
    """A struct, of which fields may be left out."""

    def is_plain(self) -> bool:
        return self._null_is_none and self.how.values.unpack_struct is PlainValue.unpack_struct

    def write_plain(self, items: Sequence[Any]) -> None:
        kinds = set(map(type, items)) - {type(None)}
        if kinds == {dict}:
            keys: Sequence[Any] = self.source.names
        elif kinds <= {list, tuple} and {len(item) for item in items if item is not None} <= {
            len(self.source.names)
        }:
            keys = range(len(self.source.names))
        else:
            raise TypeError("the items are neither all dicts nor all sequences of the fields")
        contents = [
            [None if item is None else item[keys[index]] for item in items]
            for index, _ in self.parts
        ]
        self._write("write", contents, items)

    def write_values(self, values: Sequence[ColumnValue | None]) -> None:
        indexes = [index for index, _ in self.parts]
        missing = [None] * len(indexes)
        rows: list[Sequence[ColumnValue | None]] = []
        for row, value in enumerate(values):
            try:
                rows.append(missing if value is None else list(value.unpack_struct(indexes)))
                if len(rows[-1]) != len(indexes):
                    raise ValueError(
                        f"{counted(len(indexes), 'field')} with {counted(len(rows[-1]), 'value')}"
                    )
            except NOT_TAKEN as reason:
                raise BadItemError(row, value and value.item, self.name, reason) from reason
        contents = [[row[at] for row in rows] for at in range(len(indexes))]
        self._write("write_values", contents, values)

    def _write(self, write: str, contents: Sequence[Sequence[Any]], items: Sequence[Any]) -> None:
        self.write_parts(write, contents, lambda row: row)
        pointer = flags_pointer(null_flags(items))
        self.append(Buffers(lib.seam_vector_append_structs, (pointer,)), items)


class _Variant(_Node):
    """A variant: metadata and value, two binary children."""

    def is_plain(self) -> bool:
        return False

    def write_plain(self, items: Sequence[Any]) -> None:
        raise NotImplementedError

    def write_values(self, values: Sequence[ColumnValue | None]) -> None:
        pairs: list[tuple[bytes | None, bytes | None]] = []
        for row, value in enumerate(values):
            try:
                pairs.append((None, None) if value is None else value.get_variant())
            except NOT_TAKEN as reason:
                raise BadItemError(row, value and value.item, self.name, reason) from reason
        binary = ColumnType(Kind.BINARY)
        for at, name in enumerate(("metadata", "value")):
            vector = lib.seam_vector_child(self.vector, at)
            child = _Flat(vector, binary, binary, f"{self.name[0]}.{name}", Source())
            child.write([pair[at] for pair in pairs])
        pointer = flags_pointer(null_flags(values))
        self.append(Buffers(lib.seam_vector_append_structs, (pointer,)), values)


def _node(vector: Any, column: ColumnType, source: ColumnType, name: str, how: Source) -> _Node:
    if column.kind is Kind.UNKNOWN:
        raise RefusedError(f"column '{name}': the source has no such column, nothing is appended")
    kinds: dict[Kind, type[_Node]] = {
        Kind.BYTE: _Nulls,
        Kind.ARRAY: _Entries,
        Kind.MAP: _Entries,
        Kind.STRUCT: _Struct,
        Kind.VARIANT: _Variant,
    }
    return kinds.get(column.kind, _Flat)(vector, column, source, name, how)
