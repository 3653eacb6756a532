"""pyarrow filled value by value from Python: what the connector's rows are measured beside.

pyarrow shows Python no builder but that of strings, and that one takes longer than a list, so a
user gathers values in lists and makes an array of each. Whoever wants an object per value, as
connectors have one, makes scalars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.column import ColumnChunk, ColumnRequest
from seambench.contracts.common import Kind, Stage


class PyarrowColumns:
    """Arrow columns in place of off-heap ones: no chain of addresses, only steps to time."""

    name = "pyarrow"
    version = pa.__version__
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {}

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Not offered."""
        raise RefusedError(f"pyarrow has no off-heap tables for {', '.join(request.fields)}")

    def live_blocks(self) -> int:
        """None: there are no blocks."""
        return 0

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """The steps `values-to-table`, `rows-to-table` and `objects-to-table`, into Arrow."""
        rows = list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        filled = _Filled(batch.schema, rows)
        return [
            Stage("values-to-table", filled.by_value, lambda found: found),
            Stage("rows-to-table", filled.by_row, lambda found: found),
            Stage("objects-to-table", filled.by_scalar, lambda found: found),
        ]


class _Filled:
    """Rows of Python values, on the way into a batch."""

    def __init__(self, schema: pa.Schema, rows: Sequence[Sequence[Any]]) -> None:
        self._schema = schema
        self._rows = rows

    def by_value(self) -> pa.RecordBatch:
        """One value after the other into lists; an array of each list."""
        columns: list[list[Any]] = [[] for _ in self._schema]
        appends = [column.append for column in columns]
        for row in self._rows:
            for append, item in zip(appends, row):  # noqa: B905 - the rows are as wide as this
                append(item)
        return self._batch(columns)

    def by_row(self) -> pa.RecordBatch:
        """Rows turned into columns at once; an array of each."""
        return self._batch(list(zip(*self._rows, strict=True)))

    def by_scalar(self) -> pa.RecordBatch:
        """Every value becomes a scalar of its column's type."""
        columns: list[list[Any]] = [[] for _ in self._schema]
        sinks = [
            (column.append, field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        for row in self._rows:
            for (append, kind), item in zip(sinks, row):  # noqa: B905 - the rows are as wide as this
                append(pa.scalar(item, kind))
        return self._batch(columns)

    def _batch(self, columns: Sequence[Sequence[Any]]) -> pa.RecordBatch:
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
