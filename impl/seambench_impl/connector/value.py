"""One value on its way from a format's reader into an off-heap column."""

from __future__ import annotations

from datetime import UTC, date, time
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

__all__ = ["ColumnValue", "PlainValue"]


class ColumnValue:
    """A value that knows how to give itself as any kind it can be.

    Names the Java interface `ColumnValue`. A scanner makes one subclass for the objects of its
    format and may use one instance for value after value. Only the getter of the column's kind is
    called, and never for a NULL. Where Java returns objects (LocalDate, LocalDateTime, BigDecimal)
    these return the number the column stores, so that each value costs one call into the core.
    """

    __slots__ = ()

    def is_null(self) -> bool:
        """Whether the value is NULL; such a one is not appended, None is.

        Java has no such getter: there a NULL is a null reference.
        """
        return False

    def get_boolean(self) -> bool:
        """Java: `getBoolean`."""
        raise NotImplementedError

    def get_byte(self) -> int:
        """Java: `getByte`; the value of a tinyint."""
        raise NotImplementedError

    def get_short(self) -> int:
        """Java: `getShort`."""
        raise NotImplementedError

    def get_int(self) -> int:
        """Java: `getInt`."""
        raise NotImplementedError

    def get_long(self) -> int:
        """Java: `getLong`."""
        raise NotImplementedError

    def get_float(self) -> float:
        """Java: `getFloat`; rounded to 32 bits where it is stored."""
        raise NotImplementedError

    def get_double(self) -> float:
        """Java: `getDouble`."""
        raise NotImplementedError

    def get_string_bytes(self) -> bytes:
        """Java: `getString`; already encoded in UTF-8."""
        raise NotImplementedError

    def get_bytes(self) -> bytes:
        """Java: `getBytes`; the value of a binary column."""
        raise NotImplementedError

    def get_date(self) -> int:
        """Java: `getDate`; days since 1970-01-01."""
        raise NotImplementedError

    def get_time(self) -> int:
        """Java: `getInt` of a TIME column; milliseconds since midnight."""
        raise NotImplementedError

    def get_datetime(self) -> int:
        """Java: `getDateTime`; microseconds since 1970-01-01 00:00:00, no zone involved."""
        raise NotImplementedError

    def get_decimal(self, scale: int) -> int:
        """Java: `getDecimal` and the rescaling after it; the unscaled number at `scale`.

        Raises:
            ArithmeticError: the value has digits beyond `scale` that are not 0.
        """
        raise NotImplementedError


#: More digits than any value needs, so that nothing but the check for lost digits can fail.
_EXACT = Context(prec=120, traps=[Inexact, InvalidOperation])
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MILLION = 1_000_000


class PlainValue(ColumnValue):
    """An ordinary Python value: bool, int, float, Decimal, str, bytes, date, time or datetime.

    Set `item`, then append the object; it may be used again. Values of the wrong type raise
    TypeError, ValueError or AttributeError from the getter.
    """

    __slots__ = ("item",)
    item: Any

    def __init__(self, item: Any = None) -> None:
        self.item = item

    def is_null(self) -> bool:
        """Whether the item is None."""
        return self.item is None

    def get_boolean(self) -> bool:
        """The item, which must be True or False (or 1 or 0)."""
        return self.item  # type: ignore[no-any-return]

    def get_byte(self) -> int:
        """The item, an int."""
        return self.item  # type: ignore[no-any-return]

    get_short = get_int = get_long = get_byte

    def get_double(self) -> float:
        """The item, a float or an int."""
        return self.item  # type: ignore[no-any-return]

    get_float = get_double

    def get_string_bytes(self) -> bytes:
        """The item in UTF-8: text, or bytes that are UTF-8 already."""
        item = self.item
        if type(item) is str:
            return item.encode()
        if not isinstance(item, bytes):
            raise TypeError("a string is given as str or as UTF-8 bytes")
        item.decode("utf-8")
        return item

    def get_bytes(self) -> bytes:
        """The item, which must be bytes."""
        return self.item  # type: ignore[no-any-return]

    def get_date(self) -> int:
        """Days of a date; a datetime would lose its time and is refused."""
        item = self.item
        if type(item) is not date:
            raise TypeError("a date is given as datetime.date")
        return item.toordinal() - _EPOCH_ORDINAL

    def get_time(self) -> int:
        """Milliseconds of a `datetime.time` (what is finer must be 0), or the number given."""
        item = self.item
        if not isinstance(item, time):
            return item  # type: ignore[no-any-return]
        if item.microsecond % 1000 or item.tzinfo is not None:
            raise ValueError("a time has no zone and nothing finer than milliseconds")
        seconds = (item.hour * 60 + item.minute) * 60 + item.second
        return seconds * 1000 + item.microsecond // 1000

    def get_datetime(self) -> int:
        """Microseconds of a datetime; one with a zone counts in UTC."""
        item = self.item
        if item.tzinfo is not None:
            item = item.astimezone(UTC)
        days = item.toordinal() - _EPOCH_ORDINAL
        seconds = ((days * 24 + item.hour) * 60 + item.minute) * 60 + item.second
        return seconds * _MILLION + item.microsecond  # type: ignore[no-any-return]

    def get_decimal(self, scale: int) -> int:
        """Unscaled number of a Decimal or an int; floats are refused, being inexact."""
        item = self.item
        if type(item) is not Decimal:
            if type(item) is not int:
                raise TypeError("a decimal is given as Decimal or int")
            return item * 10**scale  # type: ignore[no-any-return]
        # A point at the right place makes the text's digits the answer: half the time of the
        # exact arithmetic below, which is for the rest.
        text = str(item)
        point = -1 - scale
        if text[point : point + 1] == ".":
            try:
                return int(text[:point] + text[point + 1 :])
            except ValueError:  # an exponent stands behind the point
                pass
        return int(_EXACT.to_integral_exact(_EXACT.scaleb(item, scale)))
