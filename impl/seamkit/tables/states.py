"""Changes told by two states of some rows: both are read, held in memory, and compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.core.border import concat_batches
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import ReadContext, ReadPlan


@contextmanager
def both_states(
    plans: tuple[ReadPlan, ReadPlan], names: Sequence[str], context: ReadContext
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The rows of two states, what they were and became, for as long as they are compared.

    They count against the context's memory, with as much for what a comparison makes of them.
    """
    scans = [UnitScan(plan, names, None, ScanOptions(threads=1)) for plan in plans]
    old, new = (concat_batches(one.to_table().to_batches(), one.schema) for one in scans)
    with context.allocator.reserve(2 * (old.nbytes + new.nbytes)):
        yield old, new


def image_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of changes with both images of a row, which are structs of the table's columns.

    `op` is `i`, `u` or `d`, and `ts_ms` says when.
    """
    row = pa.struct(list(schema))
    return pa.schema({"op": pa.string(), "ts_ms": pa.string(), "before": row, "after": row})


def refuse_taken_names(schema: pa.Schema, names: Sequence[str], where: str) -> None:
    """Refuse to tell changes of a table that has a column of its own under one of their names."""
    for name in names:
        if name in schema.names:
            raise RefusedError(
                f"{where}: the table has a column {name!r}, which is one of those that changes have"
            )
