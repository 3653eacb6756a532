"""A scan of batches that are there already, each a part of its own."""

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from seambase.scan import ScanReport
from seamkit.scan.scan import Scan

Batches = Callable[[], Iterable[pa.RecordBatch]]


class BatchScan(Scan):
    """Parts of batches.

    Args:
        schema: of all batches.
        parts: for each part, what gives its batches, one after the other.
    """

    def __init__(self, schema: pa.Schema, *parts: Batches) -> None:
        self._schema = schema
        self._parts = parts

    @property
    def schema(self) -> pa.Schema:
        """See `Scan`."""
        return self._schema

    @property
    def whole_schema(self) -> pa.Schema:
        """See `Scan`."""
        return self._schema

    def narrowed(self, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """See `Scan`."""
        parts = [self.part(number, columns, condition) for number in range(self.n_parts)]
        schema = pa.schema([self._schema.field(name) for name in columns])
        return BatchScan(schema, *(part.to_batches for part in parts))

    def to_reader(self) -> pa.RecordBatchReader:
        """See `Scan`."""
        batches = (batch for part in self._parts for batch in part())
        return pa.RecordBatchReader.from_batches(self._schema, batches)

    def dataset(self) -> ds.Dataset:
        """See `Scan`."""
        return ds.dataset(self.to_table())

    def report(self) -> ScanReport:
        """See `Scan`."""
        return ScanReport(paths={}, peak_bytes=0)

    def explain(self, *, engine: bool = False) -> str:  # noqa: ARG002 - of the interface
        """See `Scan`."""
        return f"{len(self._parts)} parts in memory"

    @property
    def n_parts(self) -> int:
        """See `Scan`."""
        return len(self._parts)

    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """See `Scan`; conditions leave out whole rows of each batch."""
        chosen = self._parts[number]
        schema = pa.schema([self._schema.field(name) for name in columns])

        def batches() -> Iterable[pa.RecordBatch]:
            return (_chosen(batch, columns, condition) for batch in chosen())

        return BatchScan(schema, batches)


def _chosen(
    batch: pa.RecordBatch, columns: Sequence[str], condition: pc.Expression | None
) -> pa.RecordBatch:
    rows = batch if condition is None else batch.filter(condition)
    return rows.select(list(columns))
