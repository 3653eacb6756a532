"""Dates, datetimes and decimals that cross as texts are read strictly, or refused by name."""

import calendar
import ctypes
import random
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.decode import slots
from seamkit.offheap.columns.table import Chain
from seamkit.offheap.columns.types import parse
from seamkit.offheap.engine.columns import EngineColumns, EngineSchema, fill
from seamkit_tests.samples.column_values import column_values


@dataclass
class _Laid:
    """A chain in the text form of one column, or of an array of it, laid out here."""

    rows: int
    buffers: list[bytes]
    kept: list[Any] = field(default_factory=list)

    def chain(self, *, sized: bool = True) -> Chain:
        blocks = [ctypes.create_string_buffer(part, max(len(part), 1)) for part in self.buffers]
        words = [self.rows, *map(ctypes.addressof, blocks)]
        table = (ctypes.c_int64 * len(words))(*words)
        sizes = (ctypes.c_int64 * len(words))(0, *map(len, self.buffers))
        self.kept += [blocks, table, sizes]
        address = ctypes.addressof(table)
        if not sized:
            return Chain(address, as_text=True)
        return Chain(address, len(words), ctypes.addressof(sizes), as_text=True)


def _laid(texts: Sequence[bytes | None]) -> _Laid:
    flags = bytes(text is None for text in texts)
    ends = accumulate((len(text or b"") for text in texts), initial=0)
    offsets = struct.pack(f"<{len(texts) + 1}i", *ends)
    return _Laid(len(texts), [flags, offsets, b"".join(text or b"" for text in texts)])


def _read(texts: Sequence[bytes | None], type_: str) -> list[Any]:
    """In one pass and by the engine's own columns, with sizes and without: the same values."""
    column = parse(type_)
    schema = EngineSchema(pa.schema([("c", _ARROW.get(type_) or _decimal(type_))]), [column])
    allocator = TrackedAllocator()
    laid = _laid(texts)
    found = fill(laid.chain(), schema, allocator)
    columns = EngineColumns(schema, allocator)
    columns.fill(laid.chain(sized=False))
    assert columns.to_arrow() == found
    values: list[Any] = found.column(0).to_pylist()
    del found
    assert allocator.counters().live_blocks == 0
    return values


_ARROW = {
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp-millis": pa.timestamp("us"),
}


def _decimal(type_: str) -> Any:
    precision, scale = map(int, re.findall(r"\d+", type_))
    return pa.decimal128(precision, scale)


def _days(rows: Any) -> list[int]:
    found: list[int] = rows.column(0).cast(pa.int32()).to_pylist()
    return found


def test_every_first_and_last_day_of_a_month_is_read() -> None:
    """Of each third year that Python has, by its own calendar; and years before its first."""
    known = [
        date(year, month, day)
        for year in range(1, 10000, 3)
        for month in range(1, 13)
        for day in (1, calendar.monthrange(year, month)[1])
    ]
    assert _read([one.isoformat().encode() for one in known], "date") == known
    texts = [b"0000-01-01", b"0000-02-29", b"0000-12-31", None]
    schema = EngineSchema(pa.schema([("c", pa.date32())]), [parse("date")])
    laid = _laid(texts)
    # 0001-01-01 is 719162 days before the epoch, and year 0 is a leap year.
    assert _days(fill(laid.chain(), schema, TrackedAllocator())) == [
        -719528,
        -719469,
        -719163,
        None,
    ]


@pytest.mark.parametrize("type_", ["timestamp", "timestamp-millis"])
def test_clocks_are_read(type_: str) -> None:
    """Fractions of one to nine digits; what is finer than a microsecond is cut off."""
    dice = random.Random(7)
    texts: list[bytes | None] = [None]
    expected: list[datetime | None] = [None]
    for _ in range(2000):
        moment = datetime(1, 1, 1) + timedelta(
            days=dice.randrange(3652059), microseconds=dice.randrange(86_400_000_000)
        )
        digits = dice.randrange(10)
        nanos = f"{moment.microsecond:06}{dice.randrange(1000):03}"[:digits]
        clock = f"{moment:%H:%M:%S}"
        texts.append(f"{moment.date()} {clock}{'.' if digits else ''}{nanos}".encode())
        expected.append(moment.replace(microsecond=int(nanos[:6].ljust(6, "0"))))
    assert _read(texts, type_) == expected


@pytest.mark.parametrize(
    "type_", ["decimal(9,2)", "decimal(18,18)", "decimal(38,0)", "decimal(38,10)"]
)
def test_numbers_are_read(type_: str) -> None:
    """With fewer digits behind the point than the scale, with zeros more, with Java's exponents."""
    precision, scale = map(int, re.findall(r"\d+", type_))
    dice = random.Random(type_)
    texts: list[bytes | None] = [None]
    expected: list[Decimal | None] = [None]
    for _ in range(2000):
        number = dice.randrange(-(10 ** dice.randrange(1, precision + 1)), 10**precision)
        value = Decimal(number).scaleb(-scale)
        spelled = [f"{value:f}", f"{value.normalize():f}", f"{value.normalize():E}"]
        if precision < 30:
            spelled.append(f"{value:f}{'' if scale else '.'}000")
        texts.append(dice.choice(spelled).encode())
        expected.append(value)
    assert _read(texts, type_) == expected


#: Texts that are no values of a type, all of which some parser takes.
_WRONG: dict[str, list[str]] = {
    "date": [
        *("", "2020-1-01", "2020-01-1", "20200101", "2020/01/01", " 2020-01-01", "2020-01-01 "),
        *("2020-00-10", "2020-13-01", "2020-01-00", "2020-04-31", "2021-02-29", "1900-02-29"),
        *("10000-01-01", "-001-01-01", "+2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00:00"),
        *("202O-01-01", "null", "18262", "2020-01-0\x001", "\uff12\uff10\uff12\uff10-01-01"),
    ],
    "timestamp": [
        *("2020-01-01", "2020-01-01T00:00:00", "2020-01-01 00:00", "2020-01-01 24:00:00"),
        *("2020-01-01 00:60:00", "2020-01-01 00:00:60", "2020-01-01 00:00:00.", "", " "),
        *("2020-01-01 00:00:00.1234567890", "2020-01-01 00:00:00Z", "2020-01-01 00:00:00 UTC"),
        *("2020-01-01  00:00:00", "2020-01-01 0:00:00", "2020-02-30 00:00:00", "1577836800000"),
        "2020-01-01 00:00:00,5",
    ],
    "decimal(5,2)": [
        *("", "-", ".", ".5", "5.", "1.005", "1000", "-1000.00", "1e2", "1E", "1E+", "+1", "1,5"),
        *("1 ", " 1", "NaN", "Infinity", "--1", "0x1", "1E99999", "1E3", "1.2.3", "1E-3", "9" * 39),
        f"{(2**128 + 123) // 100}.{(2**128 + 123) % 100}",  # 1.23 modulo 2^128
    ],
}


@pytest.mark.parametrize(
    ("type_", "text"), [(t, text) for t, many in _WRONG.items() for text in many]
)
def test_what_is_no_text_of_the_form_is_refused_by_name(type_: str, text: str) -> None:
    """The column, the row and what stands there: never NULL, never another value."""
    right = {"date": b"2020-01-01", "timestamp": b"2020-01-01 00:00:00"}.get(type_, b"1.00")
    kind = type_.partition("(")[0].replace("timestamp", "datetime")
    with pytest.raises(InputError, match=rf"column 'c' of the meta chain: row 2 is no {kind}"):
        _read([right, None, text.encode()], type_)


def test_each_byte_of_a_date_counts() -> None:
    """Any byte in any place: taken where the calendar has the day, refused everywhere else."""
    for text in (b"2020-02-29",):
        for at in range(len(text)):
            for byte in range(256):
                changed = text[:at] + bytes([byte]) + text[at + 1 :]
                expected = None
                if re.fullmatch(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}", changed):
                    year, month, day = map(int, changed.split(b"-"))
                    if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]:
                        expected = date(year, month, day)
                if expected is None:
                    with pytest.raises(InputError, match="is no date"):
                        _read([changed], "date")
                else:
                    assert _read([changed], "date") == [expected]


def test_parts_of_nested_columns_are_texts() -> None:
    """An array of dates that may not be NULL, as elements of an engine's arrays need not be."""
    inner = _laid([b"2000-02-29", b"1969-12-31"])
    outer = _Laid(2, [b"\0\1", struct.pack("<3i", 0, 2, 2), *inner.buffers])
    schema = EngineSchema(pa.schema([("a", pa.list_(pa.field("$0", pa.date32(), nullable=False)))]))
    allocator = TrackedAllocator()
    found = fill(outer.chain(), schema, allocator)
    assert found.column(0).to_pylist() == [[date(2000, 2, 29), date(1969, 12, 31)], None]
    del found
    bad = _Laid(2, [b"\0\1", struct.pack("<3i", 0, 2, 2), *_laid([b"2000-02-30", b""]).buffers])
    with pytest.raises(InputError, match=r"column 'a\..*' of the meta chain: row 0 is no date"):
        fill(bad.chain(), schema, allocator)
    assert allocator.counters().live_blocks == 0


@pytest.mark.parametrize(("type_", "texts", "values"), [
    ("date", [b"2000-02-29", None], [date(2000, 2, 29), None]),
    ("timestamp", [None, b"2000-02-29 01:02:03.5"], [None, datetime(2000, 2, 29, 1, 2, 3, 500000)]),
    ("decimal(9,2)", [b"-1.50", b"0.00"], [Decimal("-1.50"), Decimal("0.00")]),
])  # fmt: skip
def test_the_plain_program_reads_them(
    type_: str, texts: list[bytes | None], values: list[Any]
) -> None:
    """`decode`, which knows nothing of the core, follows such a chain and reads its texts."""
    laid, column = _laid(texts), parse(type_)
    rows, parts = slots(laid.chain().address, [column], as_text=True)
    assert [part.kind for part in parts] == ["nulls", "offsets", "bytes"]
    assert column_values(rows, column, parts) == values
