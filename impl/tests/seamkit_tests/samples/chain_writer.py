"""Meta chains written in plain Python, by the format's rules and none of the core's code.

Buffers are bytes in the chain's order, None for a word of 0. Under a NULL stands junk, as in Java.
"""

import ctypes
import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from seamkit.offheap.columns.table import Chain
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind, parse

_JULIAN_EPOCH = 2440588
_FORMATS = {
    Kind.BOOLEAN: "<?", Kind.TINYINT: "<b", Kind.SHORT: "<h", Kind.INT: "<i", Kind.LONG: "<q",
    Kind.FLOAT: "<f", Kind.DOUBLE: "<d", Kind.DATE: "<i", Kind.TIME: "<d",
}  # fmt: skip
_DECIMAL_BYTES = {Kind.DECIMAL32: 4, Kind.DECIMAL64: 8, Kind.DECIMAL128: 16}


def _julian(day: date) -> int:
    return day.toordinal() - date(1970, 1, 1).toordinal() + _JULIAN_EPOCH


def _fixed(column: ColumnType, value: Any) -> bytes:
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert exponent == -column.scale
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return unscaled.to_bytes(_DECIMAL_BYTES[column.kind], "little", signed=True)
    if isinstance(value, datetime):
        clock = value - datetime(value.year, value.month, value.day)
        micros = clock.seconds * 1_000_000 + clock.microseconds
        return struct.pack("<q", _julian(value.date()) << 40 | micros)
    if isinstance(value, date):
        value = _julian(value)
    elif isinstance(value, time):
        millis = ((value.hour * 60 + value.minute) * 60 + value.second) * 1000
        value = (millis + value.microsecond // 1000) / 1000.0
    return struct.pack(_FORMATS[column.kind], value)


def _width(column: ColumnType) -> int:
    if column.kind.is_decimal:
        return _DECIMAL_BYTES[column.kind]
    return 8 if column.kind.is_datetime else struct.calcsize(_FORMATS[column.kind])


def _offsets(lengths: Sequence[int]) -> bytes:
    found = [0]
    for length in lengths:
        found.append(found[-1] + length)
    return struct.pack(f"<{len(found)}i", *found)


def write(column: ColumnType, values: Sequence[Any], junk: int = 0xA5) -> list[bytes | None]:
    """The buffers of one column. Lists, maps as lists of pairs, structs as dicts, NULL as None."""
    kind = column.kind
    if kind is Kind.UNKNOWN:
        return [None]
    nulls = bytes(value is None for value in values)
    if kind in (Kind.STRUCT, Kind.VARIANT):
        fields = [
            write(child, [None if v is None else v[name] for v in values], junk)
            for name, child in zip(column.names, column.children, strict=True)
        ]
        return [nulls, *(buffer for field in fields for buffer in field)]
    if not (kind.is_nested or kind.has_offsets):
        under_null = bytes([junk]) * _width(column)
        return [nulls, b"".join(under_null if v is None else _fixed(column, v) for v in values)]
    if kind.has_offsets:
        texts = [v.encode() if isinstance(v, str) else v or b"" for v in values]
        return [nulls, _offsets([len(text) for text in texts]), b"".join(texts)]
    rows = [() if value is None else value for value in values]
    entries = [entry for row in rows for entry in row]
    found: list[bytes | None] = [nulls, _offsets([len(row) for row in rows])]
    if kind is Kind.ARRAY:
        return found + write(column.children[0], entries, junk)
    for half, pick in ((column.child("$0"), 0), (column.child("$1"), 1)):
        if half is not None:
            found += write(half, [entry[pick] for entry in entries], junk)
    return found


class HandChain:
    """A chain over copies of these buffers, which live as long as this object."""

    def __init__(self, rows: int, buffers: Sequence[bytes | None]) -> None:
        self.buffers = buffers
        self._blocks = [None if b is None else ctypes.create_string_buffer(b) for b in buffers]
        addresses = [0 if b is None else ctypes.addressof(b) for b in self._blocks]
        sizes = [0 if b is None else len(b) for b in buffers]
        count = len(buffers) + 1
        self._words = (ctypes.c_int64 * count)(rows, *addresses)
        self._extents = (ctypes.c_int64 * count)(0, *sizes)

    def chain(self, *, sizes: bool = True) -> Chain:
        """With what each address stands for, or as it crosses a language border."""
        address = ctypes.addressof(self._words)
        if not sizes:
            return Chain(address)
        return Chain(address, len(self._words), ctypes.addressof(self._extents))

    @staticmethod
    def words_of(chain: Chain) -> list[int]:
        """The words of a chain with sizes."""
        return list((ctypes.c_int64 * chain.n_words).from_address(chain.address))


_Leaf = tuple[ColumnType, st.SearchStrategy[Any]]


def nested_columns(flat: dict[str, st.SearchStrategy[Any]], depth: int) -> st.SearchStrategy[_Leaf]:
    """Types of that depth at most, each with a strategy for its values (None apart)."""
    leaves = st.sampled_from(sorted(flat)).map(lambda text: (parse(text), flat[text]))
    return leaves if depth <= 1 else leaves | _nested(nested_columns(flat, depth - 1))


def _nested(inner: st.SearchStrategy[_Leaf]) -> st.SearchStrategy[_Leaf]:
    make: list[Callable[..., _Leaf]] = [_array, _map, _struct]
    return st.one_of(
        inner.map(make[0]),
        st.tuples(inner, inner).map(lambda pair: make[1](*pair)),
        st.tuples(st.lists(inner, min_size=1, max_size=3), st.booleans()).map(
            lambda pair: make[2](*pair)
        ),
        st.just((ColumnType.variant(), st.fixed_dictionaries(
            {"metadata": st.binary(max_size=3), "value": st.none() | st.binary(max_size=3)}
        ))),
    )  # fmt: skip


def _array(element: _Leaf) -> _Leaf:
    column, values = element
    return ColumnType.array(column), st.lists(st.none() | values, max_size=4)


def _map(key: _Leaf, value: _Leaf) -> _Leaf:
    pairs = st.tuples(key[1], st.none() | value[1])
    return ColumnType.map(key[0], value[0]), st.lists(pairs, max_size=3)


def _struct(parts: list[_Leaf], lacks: bool) -> _Leaf:
    fields = {f"f{i}": column for i, (column, _) in enumerate(parts)}
    values = {f"f{i}": st.none() | values for i, (_, values) in enumerate(parts)}
    if lacks:
        fields["gone"], values["gone"] = UNKNOWN, st.none()
    return ColumnType.struct(fields), st.fixed_dictionaries(values)
