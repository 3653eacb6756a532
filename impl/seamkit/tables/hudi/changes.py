"""What changed, row by row: inserted, updated or deleted, before and after.

For each write in the window the file groups that it touched are read as they were before and after
it, and rows are matched by partition and record key. So every table with meta fields has
changes to show, whether or not it keeps change logs, as long as no cleaner has removed what it was.
Columns and their words are those of Hudi's own change data (`op`, `ts_ms`, `before`, `after`), the
rows structs instead of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seamkit.core.border import concat_batches, numpy_of
from seamkit.scan.arguments import ScanOptions
from seamkit.scan.units import ReadContext, ReadPlan, ReadUnit
from seamkit.tables.hudi.timeline.window import COMMIT_TIME
from seamkit.tables.states import differences, not_in_both, ranks, read_state, same_rows

KEY = ("_hoodie_partition_path", "_hoodie_record_key")


@dataclass(frozen=True)
class WriteChanges:
    """Reads units that stand for writes, each by the name of its requested instant.

    Where memory is limited, both states of a write wait on local disk as far as they pass a quarter
    of the limit each, and their keys, which stay in memory, count against it.
    """

    # by unit the groups that its write touched, before and after it
    writes: Mapping[str, tuple[ReadPlan, ReadPlan]]
    columns: Sequence[str]  # of the table, without Hudi's own
    options: ScanOptions  # how a state is read
    # units whose write put new groups in the place of others. Whatever keys they share, all rows
    # before it are gone and all after it new (replace commits of RFC 51)
    overwrites: Sequence[str] = ()

    def __call__(
        self, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """What one write did: rows that bear its instant, others that differ, keys that are gone.

        A row may come back with an older instant: what was written now has undone a delete.
        """
        names = [COMMIT_TIME, *KEY, *self.columns]
        before, after = (
            read_state(plan, names, self.options, context) for plan in self.writes[unit.name]
        )
        old_keys, new_keys = _keys(before), _keys(after)
        if unit.name in self.overwrites:
            old_keys = pa.nulls(len(before), old_keys.type)
        elif _doubled(old_keys) or _doubled(new_keys):
            with context.allocator.reserve(2 * (before.nbytes + after.nbytes)):
                before, after = _touched(before, after, unit.name)
                old_keys, new_keys = _numbered(_keys(before)), _numbered(_keys(after))
        with context.allocator.reserve(2 * (old_keys.nbytes + new_keys.nbytes)):  # with hashes
            old_rows = pc.index_in(new_keys, value_set=old_keys).cast(pa.int64())
            changed = numpy_of(pc.or_(_written(after, unit.name), pc.is_null(old_rows)))
            # A write that lost may have filled a gap, or brought back what another row hid.
            others = np.flatnonzero(~changed)
            pairs = old_rows.take(pa.array(others)), pa.array(others)
            changed[others] = ~same_rows(before, after, *pairs, self.columns)
            written = pc.indices_nonzero(pa.array(changed)).cast(pa.int64())
            old_rows = old_rows.take(written)
            gone = pc.indices_nonzero(pc.invert(pc.is_in(old_keys, value_set=new_keys)))
        was = pa.concat_arrays([old_rows, gone.cast(pa.int64())])
        became = pa.concat_arrays([written, pa.nulls(len(gone), pa.int64())])
        old, new = before.select(list(self.columns)), after.select(list(self.columns))
        for begin in range(0, len(was), batch_rows):
            part = was.slice(begin, batch_rows), became.slice(begin, batch_rows)
            yield differences(old, part[0], new, part[1], schema)


def _keys(rows: pa.RecordBatch) -> pa.Array:
    """Partition and record key as one text; neither holds a NUL."""
    parts = [pc.fill_null(rows.column(name), "") for name in KEY]
    return pc.binary_join_element_wise(*parts, "\0")


def _written(rows: pa.RecordBatch, instant: str) -> pa.Array:
    return pc.fill_null(pc.equal(rows.column(COMMIT_TIME), instant), False)


def _doubled(keys: pa.Array) -> bool:
    return bool(pc.count_distinct(keys, mode="all").as_py() < len(keys))


def _touched(
    before: pa.RecordBatch, after: pa.RecordBatch, instant: str
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Both states without the rows that a write left as they were."""
    # Where rows share a key, only these tell which of them it met.
    own = _written(after, instant)
    left = after.filter(pc.invert(own))
    columns = [name for name in before.schema.names if name != COMMIT_TIME]
    was, became = not_in_both(before, left, columns)
    rows = [after.filter(own), left.filter(pa.array(became))]
    return before.filter(pa.array(was)), concat_batches(rows, after.schema)


def _numbered(keys: pa.Array) -> pa.Array:
    """Keys with a number each: the first of its rows, the second, ...."""
    places = numpy_of(keys.dictionary_encode().indices)
    numbers = pa.array(ranks(places)).cast(pa.string())
    return pc.binary_join_element_wise(keys, numbers, "\0")
