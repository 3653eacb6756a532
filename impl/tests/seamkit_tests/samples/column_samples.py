"""Rows of every flat kind, for property tests."""

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

_TIMES = st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, tzinfo=None))


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(
        lambda n: Decimal((n < 0, [int(digit) for digit in str(abs(n))], -scale))
    )


#: By type string, values of a flat column, none of them NULL.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-(2**7), 2**7 - 1),
    "short": st.integers(-(2**15), 2**15 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "date": st.dates(date(1, 1, 1), date(9999, 12, 31)),
    "time": st.one_of(_TIMES, st.just(time(23, 59, 59, 999000))),
    "timestamp": st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)),
    "timestamp-micros": st.datetimes(),
    "timestamp-millis": st.datetimes(),
    "decimal(1,1)": _decimals(1, 1),
    "decimal(15,2)": _decimals(15, 2),
    "decimal(18,0)": _decimals(18, 0),
    "decimal(19,4)": _decimals(19, 4),
    "decimal(38,10)": _decimals(38, 10),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    "varchar(3)": st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
    "binary": st.binary(max_size=12),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Type strings of some columns, and rows for them with a NULL here and there."""
    types = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=5))
    row = st.tuples(*(st.none() | VALUES[text] for text in types))
    return types, draw(st.lists(row, max_size=30))
