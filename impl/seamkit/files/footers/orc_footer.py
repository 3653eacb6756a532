"""The footers of an ORC file, as far as pyarrow does not tell them.

The file ends with its footer, a postscript and the postscript's length in one byte; the footer
lists stripes, each stripe ends with a footer of its own, and statistics of stripes lie before the
file's footer (ORC specification v1, "File Tail"). All are protobuf messages, in compressed chunks
behind three bytes of length and a flag. Statistics count values and have the least and the greatest
ones ("Column Statistics"); floating-point numbers are passed over, and so are moments in `ranges`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property

import pyarrow as pa
from pyarrow import orc

from seambase.errors import InputError, RefusedError
from seambase.wording import counted
from seamkit.core.unpack import Bound, unpack
from seamkit.core.varints import signed, varint
from seamkit.files.footers.calendars import Calendar

_STRIPES, _TYPES, _STATISTICS, _ENCRYPTION, _CALENDAR = 3, 4, 7, 10, 11  # of the footer
_KIND, _CHAR = 1, 17  # of a type
_JAVA = "ORC_JAVA"
_OFFSET, _INDEX, _DATA, _FOOTER, _ROWS = 1, 2, 3, 4, 5  # of a stripe
_ZONE = 3  # of a stripe's footer
_VARIANTS, _ROOT = 3, 1  # of the encryption, and of one of them
_COLUMNS = 1  # of the statistics of all stripes and of one
_VALUES, _OF_TEXTS, _OF_BYTES, _OF_TIMES = 1, 4, 8, 9  # of the statistics of a column
_LEAST_IN_UTC, _MOST_IN_UTC = 3, 4  # of times
_TEXT_SUM, _BYTE_SUM = 3, 1
_CODECS = {"ZLIB": "deflate", "SNAPPY": "snappy", "LZ4": "lz4", "ZSTD": "zstd"}
_OFFSET_BYTES = 4
_MOST_DIGITS = 18  # of decimals that are whole numbers of 64 bits


@dataclass
class OrcFooter:
    """What the footers of one file say. `read` gives as many bytes from an offset on."""

    opened: orc.ORCFile
    read: Callable[[int, int], bytes | pa.Buffer]
    name: str

    @cached_property
    def writer(self) -> str:
        """Whose library it was: `ORC_JAVA` of Java's own; "" of one that pyarrow does not know."""
        try:
            return str(self.opened.writer)
        except ValueError:
            return ""

    @cached_property
    def calendar(self) -> Calendar:
        """By which days are numbered; Java's library had one alone before it stated any."""
        for number, value in fields(self._footer, f"{self.name}, footer"):
            if number == _CALENDAR and value in (Calendar.HYBRID.value, Calendar.PROLEPTIC.value):
                return Calendar(value)
        return Calendar.HYBRID if self.writer == _JAVA else Calendar.UNKNOWN

    @cached_property
    def chars(self) -> frozenset[int]:
        """Columns of texts of a fixed length, by ORC's numbers; see `kinds`."""
        where = f"{self.name}, footer"
        types = [value for number, value in fields(self._footer, where) if number == _TYPES]
        return frozenset(
            number
            for number, message in enumerate(types)
            if isinstance(message, memoryview) and dict(fields(message, where)).get(_KIND) == _CHAR
        )

    @cached_property
    def encrypted(self) -> frozenset[int]:
        """Columns that are encrypted, by ORC's numbers, 0 being all of them.

        What pyarrow reads of them stands there for those who have no key: nulls, or made values.
        """
        if self.opened.compression not in ("UNCOMPRESSED", *_CODECS):
            return frozenset()  # in which nothing is written encrypted
        where = f"{self.name}, footer"
        variants = [
            dict(fields(variant, where))
            for number, encryption in fields(self._footer, where)
            if number == _ENCRYPTION and isinstance(encryption, memoryview)
            for part, variant in fields(encryption, where)
            if part == _VARIANTS and isinstance(variant, memoryview)
        ]
        roots = (variant.get(_ROOT, 0) for variant in variants)
        return frozenset(root for root in roots if isinstance(root, int))

    def zones(self) -> list[str]:
        """The writer's zone of each stripe; "" where none is named, which means UTC."""
        return [self._zone_of(*stripe) for stripe in self._stripes]

    def check_sizes(self, names: Collection[str], bound: Bound) -> None:
        """Make sure that no stripe of the columns becomes too large: pyarrow unpacks it whole."""
        opened = self.opened
        if opened.compression != "UNCOMPRESSED":
            bound.check(opened.compression_size, None, f"{self.name}, a block")
        end = self._end - opened.file_footer_length
        begin = end - opened.stripe_statistics_length
        stated = fields(self._message(begin, end, self.name), f"{self.name}, statistics")
        known = [value for n, value in stated if n == _COLUMNS and isinstance(value, memoryview)]
        for number, (stripe, where) in enumerate(self._stripes):
            columns = known[number] if number < len(known) else memoryview(b"")
            size = self._size(columns, stripe.get(_ROWS, 0), names, where)
            packed = stripe.get(_INDEX, 0) + stripe.get(_DATA, 0)
            bound.check(size, packed, where)

    def _size(self, columns: memoryview, rows: int, names: Collection[str], where: str) -> int:
        """Bytes that some columns of a stripe take in Arrow's form, at least."""
        known = [
            _values_and_bytes(value, where)
            for number, value in fields(columns, where)
            if number == _COLUMNS and isinstance(value, memoryview)
        ]
        total, number = 0, 1  # the first one is the row
        for field in self.opened.schema:
            own = list(kinds(field.type))
            for inner, kind in enumerate(own if field.name in names else ()):
                values, size = known[number + inner] if number + inner < len(known) else (0, 0)
                total += size + (values if inner else rows) * _width(kind)
            number += len(own)
        return total

    def ranges(self, schema: pa.Schema) -> dict[str, Known]:
        """What the footer says of columns, but of those that pyarrow gives another type."""
        statistics = self._statistics()
        found, number, rows = {}, 1, self.opened.nrows  # the first one is the row
        for field in self.opened.schema:
            wanted = schema.field(field.name).type if field.name in schema.names else None
            others = self.chars | self.encrypted
            is_plain = not pa.types.is_nested(field.type) and others.isdisjoint((0, number))
            if wanted == field.type and number < len(statistics) and is_plain:
                where = f"{self.name}, column {field.name!r}"
                has_ends = self._has_ends(field.type)
                found[field.name] = column_range(
                    statistics[number], field.type, rows, where, has_ends=has_ends
                )
            number += len(list(kinds(field.type)))
        return found

    def _has_ends(self, kind: pa.DataType) -> bool:
        """Whether the least and the greatest value of a column are told as they are."""
        # The first writers did not put texts of several stripes in one order (HIVE-8732). Java's
        # library, 1.5.0 to 1.5.5, has zero among all decimals that are whole numbers (ORC-517).
        version = self.opened.writer_version
        if pa.types.is_string(kind):
            return bool(version != "ORIGINAL")
        has_zero = self.writer == _JAVA and version == "ORC_135"
        return not (has_zero and pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS)

    def instants(self) -> dict[str, tuple[int, int]]:
        """The least and the greatest instant of columns of such, in milliseconds."""
        statistics = self._statistics()
        found, number = {}, 1  # the first one is the row
        for field in self.opened.schema:
            if is_instant(field.type) and number < len(statistics):
                where = f"{self.name}, column {field.name!r}"
                times = dict(fields(statistics[number], where)).get(_OF_TIMES)
                known = dict(fields(times, where)) if isinstance(times, memoryview) else {}
                least, most = known.get(_LEAST_IN_UTC), known.get(_MOST_IN_UTC)
                if isinstance(least, int) and isinstance(most, int):
                    found[field.name] = signed(least), signed(most)
            number += len(list(kinds(field.type)))
        return found

    def _statistics(self) -> list[memoryview]:
        """Those of all columns, by ORC's numbers; none where they are not of all rows."""
        # Java's library counts rows with its index alone (`orc.row.index.stride`): of a file
        # without one, or put together of stripes with and without, its statistics leave rows out.
        where = f"{self.name}, footer"
        found = [
            value
            for number, value in fields(self._footer, where)
            if number == _STATISTICS and isinstance(value, memoryview)
        ]
        rows = self.opened.nrows
        is_whole = not found or dict(fields(found[0], where)).get(_VALUES, rows) == rows
        return found if is_whole else []

    @property
    def _end(self) -> int:
        return int(self.opened.file_length) - 1 - int(self.opened.file_postscript_length)

    @cached_property
    def _footer(self) -> memoryview:
        return self._message(self._end - self.opened.file_footer_length, self._end, self.name)

    @cached_property
    def _stripes(self) -> list[tuple[Mapping[int, int], str]]:
        """Numbers of each stripe by field, and what messages call it."""
        found: list[tuple[Mapping[int, int], str]] = []
        for number, stripe in fields(self._footer, f"{self.name}, footer"):
            if number == _STRIPES and isinstance(stripe, memoryview):
                where = f"{self.name}, stripe {len(found)}"
                parts = {k: v for k, v in fields(stripe, where) if isinstance(v, int)}
                found.append((parts, where))
        return found

    def _zone_of(self, stripe: Mapping[int, int], where: str) -> str:
        begin = sum(stripe.get(part, 0) for part in (_OFFSET, _INDEX, _DATA))
        message = self._message(begin, begin + stripe.get(_FOOTER, 0), where)
        for number, value in fields(message, where):
            if number == _ZONE and isinstance(value, memoryview):
                return bytes(value).decode("utf-8", "replace")
        return ""

    def _message(self, begin: int, end: int, where: str) -> memoryview:
        if not 0 <= begin <= end <= self.opened.file_length:
            raise InputError(f"{where}: its footer would lie at bytes {begin} to {end}")
        data = memoryview(self.read(begin, end - begin))
        if self.opened.compression == "UNCOMPRESSED":
            return data
        codec = _CODECS.get(self.opened.compression)
        if codec is None:
            raise RefusedError(
                f"{where}: what is read of its footers is compressed with "
                f"{self.opened.compression}; {', '.join(_CODECS)} and none are read"
            )
        parts, most = [], self.opened.compression_size
        while data:
            word = int.from_bytes(data[:3], "little")
            chunk, data = data[3 : 3 + (word >> 1)], data[3 + (word >> 1) :]
            try:
                parts.append(bytes(chunk) if word & 1 else unpack(codec, chunk, most))
            except (ValueError, OverflowError) as error:
                raise InputError(f"{where}: its footer is broken ({error})") from error
        return memoryview(b"".join(parts))


def _values_and_bytes(column: memoryview, where: str) -> tuple[int, int]:
    """How many values a column has in a stripe, and the bytes of its texts."""
    values = size = 0
    for number, value in fields(column, where):
        if number == _VALUES and isinstance(value, int):
            values = value
        elif number in (_OF_TEXTS, _OF_BYTES) and isinstance(value, memoryview):
            wanted = _TEXT_SUM if number == _OF_TEXTS else _BYTE_SUM
            sums = [n for key, n in fields(value, where) if key == wanted and isinstance(n, int)]
            size += sum(n >> 1 for n in sums)  # none is below 0
    return values, size


def kinds(kind: pa.DataType) -> Iterator[pa.DataType]:
    """A type and those within it, in the order in which ORC numbers columns."""
    yield kind
    for number in range(kind.num_fields):
        field = kind.field(number)
        if pa.types.is_map(kind) and number == 0 and pa.types.is_struct(field.type):
            yield from list(kinds(field.type))[1:]  # entries are no column of ORC's
        else:
            yield from kinds(field.type)


def _width(kind: pa.DataType) -> int:
    """Bytes of one value, beside those of texts."""
    if pa.types.is_struct(kind):
        return 0
    try:
        return -(-int(kind.bit_width) // 8)
    except ValueError:
        return _OFFSET_BYTES


_VALUES, _NUMBERS, _TEXTS, _DECIMALS, _DAYS = 1, 2, 4, 6, 7
_LEAST_UNSIGNED, _MOST_UNSIGNED = 128, 255  # of bytes that are below zero
Known = tuple[int | None, pa.Scalar | None, pa.Scalar | None]
"""How many nulls a column has, its least and its greatest value; None for what is not known."""


def fields(message: memoryview, where: str) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and values of a message's fields: whole numbers, or the bytes of anything longer."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at, where)
        if tag & 7 == 0:
            number, at = varint(message, at, where)
            yield tag >> 3, number
        elif tag & 7 == 2:
            size, at = varint(message, at, where)
            if size > len(message) - at:
                raise InputError(f"{where}: a field claims {counted(size, 'byte')}")
            yield tag >> 3, message[at : at + size]
            at += size
        else:
            raise InputError(f"{where}: a field of wire type {tag & 7}")


def column_range(
    statistics: memoryview, kind: pa.DataType, rows: int, where: str, *, has_ends: bool = True
) -> Known:
    """How many nulls a column has that is not nested, and its least and greatest value.

    `has_ends`: these two can be relied on.
    """
    count: int | None = None
    ends: tuple[pa.Scalar | None, pa.Scalar | None] = None, None
    wanted = _message(kind) if has_ends else None
    for number, value in fields(statistics, where):
        if number == _VALUES and isinstance(value, int):
            count = value
        elif number == wanted and isinstance(value, memoryview):
            known = dict(fields(value, where))
            if not _is_unsigned(known.get(2), kind):
                ends = _value(known.get(1), kind, where), _value(known.get(2), kind, where)
    if count is not None and count > rows:
        raise InputError(
            f"{where}: {counted(count, 'value')} in {counted(rows, 'row')}, as its statistics say"
        )
    nulls = None if count is None else rows - count
    return (nulls, *ends) if count else (nulls, None, None)


def _is_unsigned(greatest: int | memoryview | None, kind: pa.DataType) -> bool:
    """Whether bytes were compared without their sign, as C++ does up to 2.0.1 on ARM (ORC-1725)."""
    if not isinstance(greatest, int) or not pa.types.is_int8(kind):
        return False
    return _LEAST_UNSIGNED <= signed(greatest) <= _MOST_UNSIGNED


def is_instant(kind: pa.DataType) -> bool:
    """Whether values are instants, times of UTC."""
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _message(kind: pa.DataType) -> int | None:
    """The field that tells of values of a type; None where none is relied on."""
    tests = pa.types
    if tests.is_integer(kind):
        return _NUMBERS
    if tests.is_date32(kind):
        return _DAYS
    if tests.is_decimal128(kind):
        return _DECIMALS
    return _TEXTS if tests.is_string(kind) else None


def _value(stored: int | memoryview | None, kind: pa.DataType, where: str) -> pa.Scalar | None:
    if stored is None:
        return None
    try:
        if isinstance(stored, int):
            value = signed(stored)
            wide = pa.int32() if pa.types.is_date32(kind) else pa.int64()
            return pa.scalar(value, wide).cast(kind)
        text = bytes(stored).decode()
        return pa.scalar(Decimal(text) if pa.types.is_decimal128(kind) else text, kind)
    except (ValueError, OverflowError, InvalidOperation, pa.ArrowException) as error:
        raise InputError(f"{where}: its statistics are not readable ({error})") from error
