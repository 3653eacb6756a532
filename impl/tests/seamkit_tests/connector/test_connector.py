"""The row-at-a-time seam: scanners, their life, and what they refuse."""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.offheap.columns.types import arrow_type, parse
from seamkit.offheap.connector.rows import RowScanner
from seamkit.offheap.connector.scanner import ConnectorScanner, stream
from seamkit.offheap.connector.value import PlainValue
from seamkit_tests.samples.column_samples import tables


def _schema(names: list[str], types: list[str]) -> Any:
    return pa.schema([(n, arrow_type(parse(t))) for n, t in zip(names, types, strict=True)])


def _live(scanner: ConnectorScanner) -> int:
    return scanner.allocator.counters().live_blocks


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(sample=tables(), fetch_size=st.integers(0, 12))
def test_a_stream_is_its_rows(
    sample: tuple[list[str], list[tuple[Any, ...]]], fetch_size: int
) -> None:
    """Whatever the chunk size, the batches hold the rows in order, and nothing is left behind."""
    types, rows = sample
    names = [f"c{i}" for i in range(len(types))]
    scanner = RowScanner(names, types, rows, fetch_size)
    found = _rows(stream(scanner, _schema(names, types)), max(fetch_size, 1))
    assert found == rows
    assert scanner.counters.rows == len(rows)
    assert scanner.counters.chunks == -(-len(rows) // max(fetch_size, 1)) + 1
    assert _live(scanner) == 0


def _rows(batches: Iterator[Any], most: int) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        batch.validate(full=True)
        assert 0 < batch.num_rows <= most
        found += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return found


def test_columns_are_chosen_ordered_and_may_be_missing() -> None:
    """Columns come in the order asked for; one that the source lacks is NULL in every row."""
    rows = [(1, "x"), (None, "y")]
    scanner = RowScanner(["a", "b"], ["int", "string"], rows, required=["b", "gone", "a"])
    wanted = pa.schema([("b", pa.string()), ("gone", pa.date32()), ("a", pa.int32())])
    (batch,) = stream(scanner, wanted)
    assert batch.to_pydict() == {"b": ["x", "y"], "gone": [None, None], "a": [1, None]}


def test_rows_without_columns_are_counted() -> None:
    """With no column asked for, as for count(*), the number of rows still crosses."""
    scanner = RowScanner(["a"], ["int"], [(1,)] * 5, 2, required=[])
    assert [batch.num_rows for batch in stream(scanner, pa.schema([]))] == [2, 2, 1]


@pytest.mark.parametrize(
    ("text", "item", "reason"),
    [
        ("int", "x", "'x' is no int"),
        ("int", 1.5, "1.5 is no int"),
        ("tinyint", 128, "128 is no tinyint"),
        ("bigint", 2**63, "is no bigint"),
        ("boolean", 2, "2 is no boolean"),
        ("float", 1e300, "is no float"),
        ("string", 5, "5 is no string"),
        ("string", "\ud800", "surrogates not allowed"),
        ("string", b"\xff", "invalid start byte"),
        ("binary", "x", "'x' is no binary"),
        ("date", datetime(2020, 1, 1), "a date is given as datetime.date"),
        ("timestamp", date(2020, 1, 1), "is no timestamp"),
        ("time", time(1, 2, 3, 1), "nothing finer than milliseconds"),
        ("time", 2**31, "is no time"),
        ("decimal(5,2)", Decimal("1.234"), "is no decimal"),
        ("decimal(5,2)", 0.5, "0.5 is no decimal"),
        ("decimal(5,2)", Decimal("NaN"), "is no decimal"),
        ("decimal(18,0)", Decimal(2**63), "is no decimal"),
    ],
)
def test_values_that_do_not_fit_are_named(text: str, item: Any, reason: str) -> None:
    """A wrong value is an error that names row, column and value; nothing is left behind."""
    scanner = RowScanner(["a", "b"], ["int", text], [(1, None), (2, None), (3, item)], 2)
    with pytest.raises(InputError, match="row 2, column 'b'") as caught:
        list(stream(scanner, _schema(["a", "b"], ["int", text])))
    assert reason in str(caught.value)
    assert _live(scanner) == 0


@pytest.mark.parametrize("required", [None, ["a"]])
@pytest.mark.parametrize("row", [(), (1, 2)])
def test_rows_of_another_width_are_refused(row: tuple[int, ...], required: Any) -> None:
    """A row must have as many values as there are columns, whichever are asked for."""
    scanner = RowScanner(["a"], ["int"], [(1,), row], required=required)
    with pytest.raises(InputError, match=f"row 1 has {len(row)} values for 1 column"):
        list(stream(scanner, pa.schema([("a", pa.int32())])))
    assert _live(scanner) == 0


def test_a_decimal_beyond_its_precision_is_refused_by_the_engine() -> None:
    """The off-heap column has room for 123456.78 in decimal(5,2), Arrow's type has not."""
    scanner = RowScanner(["a"], ["decimal(5,2)"], [(Decimal("123456.78"),)])
    with pytest.raises(InputError, match="more digits than its type"):
        list(stream(scanner, pa.schema([("a", pa.decimal128(5, 2))])))
    assert _live(scanner) == 0


@given(st.integers(-(10**38), 10**38), st.integers(-6, 12), st.integers(0, 12))
def test_decimal_arithmetic_is_exact(digits: int, exponent: int, scale: int) -> None:
    """Rescaling equals multiplication by a power of ten in whole numbers, or fails."""
    value = PlainValue(Decimal(f"{digits}E{-exponent}"))
    scaled, lost = divmod(digits * 10 ** (scale + 6), 10 ** (exponent + 6))
    if lost:
        with pytest.raises(ArithmeticError):
            value.get_decimal(scale)
    else:
        assert value.get_decimal(scale) == scaled


class _Loud(RowScanner):
    """Closes loudly, so that tests see it."""

    closed = 0

    def close(self) -> None:
        type(self).closed += 1


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, OSError])
def test_an_error_of_the_source_passes_and_releases(kind: type[BaseException]) -> None:
    """An error while reading reaches the caller unchanged; table and scanner are released."""

    def source() -> Iterator[tuple[int]]:
        yield (1,)
        yield (2,)
        raise kind("the source broke")

    _Loud.closed = 0
    scanner = _Loud(["a"], ["int"], source(), 1)
    with pytest.raises(kind, match="the source broke"):
        list(stream(scanner, pa.schema([("a", pa.int32())])))
    assert _live(scanner) == 0
    assert _Loud.closed == 1


def test_a_dropped_stream_closes_its_scanner() -> None:
    """Whoever stops reading early leaves nothing behind."""
    _Loud.closed = 0
    scanner = _Loud(["a"], ["int"], [(1,)] * 9, 1)
    batches = stream(scanner, pa.schema([("a", pa.int32())]))
    assert next(batches).num_rows == 1
    batches.close()  # type: ignore[attr-defined]
    assert _Loud.closed == 1
    assert _live(scanner) == 0


def test_a_stream_has_the_scanners_columns() -> None:
    """A schema of other columns, or of types the columns cannot be read as, is refused."""
    with pytest.raises(UsageError, match="the scanner's columns are"):
        next(stream(RowScanner(["a"], ["int"], []), pa.schema([("b", pa.int32())])))
    with pytest.raises(RefusedError, match="column 'a': int cannot be read as Arrow's string"):
        next(stream(RowScanner(["a"], ["int"], []), pa.schema([("a", pa.string())])))
