"""The items of one column, gathered over a chunk, into buffers for one call into the core.

Three ways lead there. `careful` asks every value through its getter, and names the one at fault;
it is what the other two must agree with. They do not say which item they do not take, and whoever
calls them starts again the careful way. `in_turn` saves an object per value. The functions of
`PLAIN` save the getters, too: they stand for those of `PlainValue`, and convert all items of a
column by loops inside Python's own C code.
"""

from __future__ import annotations

import reprlib
import struct
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from operator import index, methodcaller
from typing import Any, NamedTuple

from seambase.errors import InputError
from seamkit.core._seam import ffi, lib
from seamkit.offheap.columns.types import Kind
from seamkit.offheap.connector.value import ColumnValue, PlainValue

#: What a getter or a conversion raises for an item it does not take.
NOT_TAKEN = (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, struct.error)

#: The getter of every kind without children. That of decimals has the scale as its argument.
GETTERS: dict[Kind, str] = {
    Kind.BOOLEAN: "get_boolean",
    Kind.TINYINT: "get_byte",
    Kind.SHORT: "get_short",
    Kind.INT: "get_int",
    Kind.LONG: "get_long",
    Kind.FLOAT: "get_float",
    Kind.DOUBLE: "get_double",
    Kind.DATE: "get_date",
    Kind.TIME: "get_time",
    Kind.DATETIME: "get_datetime",
    Kind.DATETIME_MICROS: "get_datetime",
    Kind.DATETIME_MILLIS: "get_datetime",
    Kind.STRING: "get_string_bytes",
    Kind.BINARY: "get_bytes",
    Kind.DECIMALV2: "get_decimal",
    Kind.DECIMAL32: "get_decimal",
    Kind.DECIMAL64: "get_decimal",
    Kind.DECIMAL128: "get_decimal",
}


class BadItemError(Exception):
    """An item that its column does not take.

    Attributes:
        row: which of the gathered items it is.
        column: path and type of the column that it was for.
        reason: why not.
    """

    def __init__(self, row: int, item: Any, column: tuple[str, object], reason: Exception) -> None:
        super().__init__(f"{item!r}: {reason}")
        self.row = row
        self.item = item
        self.column = column
        self.reason = reason

    def as_error(self, before: int = 0) -> InputError:
        """What users see. `before` rows were there when the items were gathered."""
        path, kind = self.column
        shown = reprlib.repr(self.item) if len(repr(self.item)) > 200 else repr(self.item)
        return InputError(
            f"row {before + self.row}, column '{path}': {shown} is no {kind} ({self.reason})"
        )


class Buffers(NamedTuple):
    """Arguments of a function of the core: `function(vector, *arguments, n, error)`."""

    function: Any
    arguments: tuple[Any, ...]


def null_flags(items: Sequence[Any]) -> bytes | None:
    """One byte per item, 1 where it is None; None if there is no such item."""
    flags = bytes([item is None for item in items])
    return flags if 1 in flags else None


def flags_pointer(flags: bytes | None) -> Any:
    """Null flags as the core takes them: a cffi pointer that keeps them alive, or NULL."""
    return ffi.NULL if flags is None else ffi.from_buffer("uint8_t[]", flags)


def _longs(numbers: bytes, flags: bytes | None) -> Buffers:
    values = ffi.from_buffer("int64_t[]", numbers)
    return Buffers(lib.seam_vector_append_longs, (values, flags_pointer(flags)))


def _doubles(numbers: bytes, flags: bytes | None) -> Buffers:
    values = ffi.from_buffer("double[]", numbers)
    return Buffers(lib.seam_vector_append_doubles, (values, flags_pointer(flags)))


def _runs(content: bytes, sizes: bytes, flags: bytes | None) -> Buffers:
    arguments = (
        ffi.from_buffer(content),
        ffi.from_buffer("int64_t[]", sizes),
        flags_pointer(flags),
    )
    return Buffers(lib.seam_vector_append_runs, arguments)


def _pack(code: str, numbers: Sequence[Any]) -> bytes:
    return struct.pack(f"={len(numbers)}{code}", *numbers)


def _plain_longs(items: Sequence[Any]) -> Buffers:
    try:
        return _longs(_pack("q", items), None)
    except struct.error:  # a None, most likely
        numbers = [0 if item is None else item for item in items]
        return _longs(_pack("q", numbers), null_flags(items))


def _plain_doubles(items: Sequence[Any]) -> Buffers:
    try:
        return _doubles(_pack("d", items), None)
    except (struct.error, TypeError):
        numbers = [0.0 if item is None else item for item in items]
        return _doubles(_pack("d", numbers), null_flags(items))


def _only(kind: type, items: Sequence[Any], filler: Any) -> tuple[Sequence[Any], bytes | None]:
    """The items, which must be exactly of a type, with `filler` in place of each None."""
    kinds = set(map(type, items))
    flags = None
    if type(None) in kinds:
        kinds.remove(type(None))
        flags = null_flags(items)
        items = [filler if item is None else item for item in items]
    if kinds - {kind}:
        raise TypeError(f"not all of the items are {kind.__name__}")
    return items, flags


_EPOCH = date(1970, 1, 1)


def _plain_dates(items: Sequence[Any]) -> Buffers:
    days, flags = _only(date, items, _EPOCH)
    ordinals = ffi.from_buffer("int64_t[]", _pack("q", list(map(date.toordinal, days))))
    arguments = (ordinals, _EPOCH.toordinal(), flags_pointer(flags))
    return Buffers(lib.seam_vector_append_days, arguments)


def _plain_strings(items: Sequence[Any]) -> Buffers:
    flags = None
    try:
        content = "".join(items)
    except TypeError:  # a None, most likely
        items, flags = _only(str, items, "")
        content = "".join(items)
    encoded = content.encode()
    if len(encoded) == len(content):  # nothing but ASCII: as many bytes as characters
        return _runs(encoded, _pack("q", list(map(len, items))), flags)
    pieces = list(map(str.encode, items))
    return _runs(encoded, _pack("q", list(map(len, pieces))), flags)


def _plain_bytes(items: Sequence[Any]) -> Buffers:
    pieces, flags = _only(bytes, items, b"")
    return _runs(b"".join(pieces), _pack("q", list(map(len, pieces))), flags)


def _plain_decimals(items: Sequence[Any]) -> Buffers:
    decimals, flags = _only(Decimal, items, 0)
    text = (("%s\n" * len(decimals)) % tuple(decimals)).encode()
    arguments = (ffi.from_buffer(text), len(text), flags_pointer(flags))
    return Buffers(lib.seam_vector_append_decimal_texts, arguments)


#: By the getter of `PlainValue` that each stands for.
PLAIN: dict[Callable[..., Any], Callable[[Sequence[Any]], Buffers]] = {
    PlainValue.get_long: _plain_longs,
    PlainValue.get_boolean: _plain_longs,
    PlainValue.get_double: _plain_doubles,
    PlainValue.get_date: _plain_dates,
    PlainValue.get_string_bytes: _plain_strings,
    PlainValue.get_bytes: _plain_bytes,
    PlainValue.get_decimal: _plain_decimals,
}


def in_turn(
    kind: Kind, scale: int, value: ColumnValue, items: Sequence[Any], *, ask_null: bool
) -> Buffers:
    """The items of a column without children, each through the getter of one and the same object.

    `ask_null`: other items than None may stand for NULL, too.
    """
    form = _FORMS.get(kind, _LONG)
    get = getattr(value, GETTERS[kind])
    if kind.is_decimal:
        get = partial(get, scale)
    gathered: list[Any] = []
    flags = bytearray(len(items))
    add, is_null = gathered.append, value.is_null
    for item in items:
        if item is None:
            flags[len(gathered)] = 1
            add(form.filler)
            continue
        value.item = item
        if ask_null and is_null():
            flags[len(gathered)] = 1
            add(form.filler)
        else:
            add(get())
    return form.gather(gathered, bytes(flags) if 1 in flags else None)


def careful(
    kind: Kind, scale: int, values: Sequence[ColumnValue | None], name: tuple[str, object]
) -> Buffers:
    """The values of a column without children, each through its getter.

    None is NULL; `name` is path and type of the column, for messages.
    """
    form = _FORMS.get(kind, _LONG)
    arguments = (scale,) if kind.is_decimal else ()
    call = methodcaller(GETTERS[kind], *arguments)
    try:
        gathered = [form.filler if value is None else call(value) for value in values]
        return form.gather(gathered, null_flags(values))
    except NOT_TAKEN:
        for row, value in enumerate(values):
            if value is not None:
                try:
                    form.gather([call(value)], None)
                except NOT_TAKEN as reason:
                    raise BadItemError(row, value.item, name, reason) from reason
        raise  # no value alone is at fault


class _Form(NamedTuple):
    """How the numbers of a kind are handed over; `filler` stands under a null."""

    filler: Any
    gather: Callable[[list[Any], bytes | None], Buffers]


def _wide(unscaled: list[Any], flags: bytes | None) -> Buffers:
    words = b"".join([index(number).to_bytes(16, "little", signed=True) for number in unscaled])
    return Buffers(
        lib.seam_vector_append_decimals128,
        (ffi.from_buffer("uint8_t[]", words), flags_pointer(flags)),
    )


def _decimals(unscaled: list[Any], flags: bytes | None) -> Buffers:
    try:
        return _longs(_pack("q", unscaled), flags)
    except struct.error:
        return _wide(unscaled, flags)


def _pieces(pieces: list[Any], flags: bytes | None) -> Buffers:
    if set(map(type, pieces)) - {bytes}:
        raise TypeError("a run of bytes is given as bytes")
    return _runs(b"".join(pieces), _pack("q", list(map(len, pieces))), flags)


_LONG = _Form(0, lambda numbers, flags: _longs(_pack("q", numbers), flags))
_DOUBLE = _Form(0.0, lambda numbers, flags: _doubles(_pack("d", numbers), flags))
_RUN = _Form(b"", _pieces)
_FORMS = {Kind.STRING: _RUN, Kind.BINARY: _RUN, Kind.FLOAT: _DOUBLE, Kind.DOUBLE: _DOUBLE} | {
    kind: _Form(0, _decimals) for kind in GETTERS if kind.is_decimal
}
