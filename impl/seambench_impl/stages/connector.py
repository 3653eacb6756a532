"""The row-at-a-time steps of the column seam, for `seambench throughput`.

All begin with the same rows, of Python values or of Arrow's or pandas' own, and end with an
off-heap table and its chain.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambench.contracts.common import Stage
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.table import Chain
from seamkit.offheap.columns.types import ColumnType, from_arrow
from seamkit.offheap.connector.foreign_values import ArrowValue, PandasValue
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.offheap.connector.value import PlainValue
from seamkit.offheap.engine.columns import EngineSchema, fill

Rows = Sequence[Sequence[Any]]


class _ByItem(ConnectorScanner):
    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[ColumnType],
        rows: Rows,
        allocator: TrackedAllocator,
    ) -> None:
        super().__init__(names, types, len(rows), allocator)
        self._rows = rows

    def open(self) -> None:
        """Nothing to do: the rows are there."""

    def close(self) -> None:
        """Nothing was taken."""

    def get_next(self) -> int:
        """All rows."""
        puts = [appender.put for appender in self.appenders]
        for row in self._rows:
            for put, item in zip(puts, row):  # noqa: B905 - the rows were made as wide as this
                put(item)
        return len(self._rows)


class _ByRow(_ByItem):
    def get_next(self) -> int:
        """All rows."""
        self.append_rows(self._rows)
        return len(self._rows)


class _OwnValue(PlainValue):
    """Stands for a format's own class: every value becomes an object and goes through a getter."""

    __slots__ = ()

    def is_null(self) -> bool:
        """Whether it is NULL, which only the class knows."""
        return False


class _ByValue(_ByItem):
    """Puts items that a class of values reads."""

    values = _OwnValue


class _ByArrow(_ByItem):
    values = ArrowValue


class _ByPandas(_ByItem):
    values = PandasValue


class _Step:
    """Makes a table, which the next run releases, or whoever looks at its rows."""

    def __init__(self, scanner: ConnectorScanner, batch: pa.RecordBatch) -> None:
        self._scanner = scanner
        self._expected = EngineSchema(batch.schema)

    def run(self) -> Chain:
        return self._scanner.get_next_off_heap_chunk()

    def rows(self, chain: Chain) -> Any:
        found = fill(chain, self._expected, self._scanner.allocator)
        self._scanner.release_table()
        return found


def row_stages(batch: pa.RecordBatch, allocator: TrackedAllocator) -> list[Stage]:
    """The steps `values-to-table`, `rows-to-table`, `objects-to-table` and two of foreign values.

    Each makes a table of the same rows and releases the one before: item by item, row by row, and
    item by item with every item made an object of a class with getters. `arrow-values-to-table`
    and `pandas-values-to-table` put Arrow's scalars, and what pandas holds where it is installed.
    """
    types = [from_arrow(field.type) for field in batch.schema]
    rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    steps: dict[str, tuple[type[_ByItem], Rows]] = {
        "values-to-table": (_ByItem, rows),
        "rows-to-table": (_ByRow, rows),
        "objects-to-table": (_ByValue, rows),
        "arrow-values-to-table": (_ByArrow, list(zip(*batch.columns, strict=True))),
    }
    if importlib.util.find_spec("pandas") is not None:
        held = batch.to_pandas().itertuples(index=False, name=None)
        steps["pandas-values-to-table"] = (_ByPandas, list(held))
    made = {
        name: _Step(scanner(batch.schema.names, types, items, allocator), batch)
        for name, (scanner, items) in steps.items()
    }
    return [Stage(name, step.run, step.rows) for name, step in made.items()]
