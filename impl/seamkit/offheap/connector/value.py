"""One value on its way from a format's reader into an off-heap column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, tzinfo
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Self

from seambase.wording import counted
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind
from seamkit.offheap.connector.parameters import wall_micros


class ColumnValue:
    """A value that knows how to give itself as any kind it can be.

    Names the Java interface `ColumnValue`. A scanner has one subclass for the objects of its
    format. Only the getters of a column's kind are called, and never for a NULL. Where Java returns
    objects (LocalDate, LocalDateTime, BigDecimal) these return the number the column stores.

    Args:
        item: the format's object; not None, which stands for NULL.
        column: type of the value in the source.
        zone: of the clock that shows a timestamp with a zone (Java: the parameter `time_zone`).
    """

    __slots__ = ("column", "item", "zone")

    def __init__(self, item: Any = None, column: ColumnType = UNKNOWN, zone: tzinfo = UTC) -> None:
        self.item = item
        self.column = column
        self.zone = zone

    def is_null(self) -> bool:
        """Whether the format's object stands for NULL.

        Java has no such getter: there a NULL is a null reference, and None here.
        """
        return False

    def part(self, item: Any, index: int) -> Self | None:
        """A child of this value as a value of the same class: None if it is NULL."""
        if item is None:
            return None
        value = type(self)(item, self.column.children[index], self.zone)
        return None if value.is_null() else value

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
        """Java: `getDateTime`; microseconds from 1970-01-01 00:00:00 to what the clock shows.

        A value with a zone is what the clock of `zone` shows at that moment, a plain one is what it
        is. The unit of a bare number follows from the kind of `column`.
        """
        raise NotImplementedError

    def get_decimal(self, scale: int) -> int:
        """Java: `getDecimal` and the rescaling after it; the unscaled number at `scale`.

        Digits beyond `scale` that are not 0 are an ArithmeticError.
        """
        raise NotImplementedError

    def get_variant(self) -> tuple[bytes, bytes]:
        """Metadata and value of a variant, each as it is encoded."""
        raise NotImplementedError

    def unpack_array(self) -> Iterable[ColumnValue | None]:
        """Java: `unpackArray`; the elements in order."""
        raise NotImplementedError

    def unpack_map(self) -> tuple[Iterable[ColumnValue | None], Iterable[ColumnValue | None]]:
        """Java: `unpackMap`; keys and values, as many of each, in stored order."""
        raise NotImplementedError

    def unpack_struct(self, field_indexes: Sequence[int]) -> Iterable[ColumnValue | None]:
        """Java: `unpackStruct`; one value for each of `field_indexes`, which count the source's."""
        raise NotImplementedError


#: More digits than any value needs, so that nothing but the check for lost digits can fail.
_EXACT = Context(prec=120, traps=[Inexact, InvalidOperation])
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_TEXTUAL = (str, bytes, bytearray, memoryview)


class PlainValue(ColumnValue):
    """An ordinary Python value: bool, int, float, Decimal, str, bytes, date, time or datetime.

    Arrays are lists or other iterables (not text), maps dicts or iterables of pairs, structs dicts
    by field name or sequences in the order of the fields, variants pairs of bytes. Values of the
    wrong type raise TypeError, ValueError or AttributeError from the getter.
    """

    __slots__ = ()

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
        if not isinstance(self.item, bytes):
            raise TypeError("a binary value is given as bytes")
        return self.item

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
        """A datetime with or without zone; a bare int counts micros, or millis by its column."""
        item = self.item
        if isinstance(item, datetime):
            return wall_micros(item, self.zone)
        if type(item) is not int:
            raise TypeError("a timestamp is given as datetime.datetime or as a number")
        return item * 1000 if self.column.kind is Kind.DATETIME_MILLIS else item

    def get_decimal(self, scale: int) -> int:
        """Unscaled number of a Decimal or an int; floats are refused, being inexact."""
        item = self.item
        if type(item) is Decimal:
            # A point at the right place makes the text's digits the answer: half the time of the
            # exact arithmetic below, which is for the rest.
            text = str(item)
            if text[-1 - scale : -scale] == "." and "E" not in text:
                return int(text.replace(".", ""))
        elif type(item) is int:
            return item * 10**scale  # type: ignore[no-any-return]
        elif not isinstance(item, Decimal):
            raise TypeError("a decimal is given as Decimal or int")
        return int(_EXACT.to_integral_exact(_EXACT.scaleb(item, scale)))

    def get_variant(self) -> tuple[bytes, bytes]:
        """A pair of bytes, or a dict of `metadata` and `value`."""
        item = self.item
        pair = (item["metadata"], item["value"]) if isinstance(item, Mapping) else tuple(item)
        metadata, value = pair
        if not isinstance(metadata, bytes) or not isinstance(value, bytes):
            raise TypeError("a variant is given as two times bytes")
        return metadata, value

    def unpack_array(self) -> Iterable[ColumnValue | None]:
        """The elements of an iterable."""
        if isinstance(self.item, (*_TEXTUAL, Mapping)):
            raise TypeError("an array is given as a list")
        return [self.part(element, 0) for element in self.item]

    def unpack_map(self) -> tuple[Iterable[ColumnValue | None], Iterable[ColumnValue | None]]:
        """The entries of a dict or of an iterable of pairs."""
        item = self.item
        if isinstance(item, _TEXTUAL):
            raise TypeError("a map is given as a dict or as pairs")
        pairs = list(item.items() if isinstance(item, Mapping) else item)
        if not all(isinstance(pair, (tuple, list)) for pair in pairs):
            raise TypeError("an entry of a map is given as a pair")
        keys = [self.part(key, 0) for key, _ in pairs]
        return keys, [self.part(value, 1) for _, value in pairs]

    def unpack_struct(self, field_indexes: Sequence[int]) -> Iterable[ColumnValue | None]:
        """The fields of a dict by name, or of a sequence by place."""
        item, names = self.item, self.column.names
        if isinstance(item, _TEXTUAL):
            raise TypeError("a struct is given as a dict or as a sequence")
        if not isinstance(item, Mapping):
            if len(item) != len(names):
                raise ValueError(
                    f"a struct of {counted(len(names), 'field')} has {counted(len(item), 'value')}"
                )
            return [self.part(item[index], index) for index in field_indexes]
        for index in field_indexes:
            if names[index] not in item:
                raise ValueError(f"the field '{names[index]}' is not there")
        return [self.part(item[names[index]], index) for index in field_indexes]
