"""What is known of a scan's rows before one is read, for those who plan queries over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

import pyarrow as pa

Sureness = Literal["exact", "at most", "at least", "estimate"]
"""`exact`: so it is. `at most`, `at least`: it is a bound, which may be far off. `estimate`: the
truth may lie on either side."""

V = TypeVar("V", int, pa.Scalar)


@dataclass(frozen=True)
class Figure(Generic[V]):
    """A number or a value, and how sure it is."""

    value: V
    sure: Sureness = "exact"

    @property
    def is_exact(self) -> bool:
        """Whether it is the truth."""
        return self.sure == "exact"


@dataclass(frozen=True)
class ColumnStatistics:
    """What is known of a column; None is what nobody knows.

    Attributes:
        nulls: how many rows have null.
        least: the least value, or `at least` a bound: no value is less.
        greatest: the greatest value, or `at most` a bound: no value is greater.
        distinct: how many values there are without null.
    """

    nulls: Figure[int] | None = None
    least: Figure[pa.Scalar] | None = None
    greatest: Figure[pa.Scalar] | None = None
    distinct: Figure[int] | None = None


@dataclass(frozen=True)
class TableStatistics:
    """What is known of the rows of a scan or table; None is what nobody knows.

    Attributes:
        size_bytes: of the files that they are read from.
        columns: by name, for each column.
    """

    rows: Figure[int] | None = None
    size_bytes: Figure[int] | None = None
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)

    def of_some_rows(self, names: Sequence[str], most: int | None = None) -> TableStatistics:
        """The same of some columns, of at most so many of the rows: what was exact is a bound."""
        rows = self.rows
        if rows is not None:
            rows = _bound(rows, "at most")
        if most is not None and (rows is None or rows.value > most):
            rows = Figure(most, "at most")
        columns = {
            name: ColumnStatistics(
                nulls=None if one.nulls is None else _bound(one.nulls, "at most"),
                least=None if one.least is None else _bound(one.least, "at least"),
                greatest=None if one.greatest is None else _bound(one.greatest, "at most"),
                distinct=None if one.distinct is None else _bound(one.distinct, "at most"),
            )
            for name, one in ((name, self.columns[name]) for name in names)
        }
        return TableStatistics(rows, self.size_bytes, columns)


def _bound(figure: Figure[V], sure: Sureness) -> Figure[V]:
    return Figure(figure.value, sure) if figure.is_exact else figure
