"""Partial updates: versions of a record in a log that fill each other's gaps.

A value of a row counts or leaves a gap: because its block holds some columns only, or because the
table says that such a value changes nothing. A gap is filled by the version below, at last by the
base row. The core says what lies below each row (`seam/merge.h`); here it is followed column by
column, for all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seamkit.core.arrow_data import ExportedBatch, array_of, batch_of
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.merging.assembly import assemble
from seamkit.scan.merging.log_index import KEEP, REMOVE, Words
from seamkit.tables.hudi.config.merge_rules import FillRule

__all__ = ["FilledLog", "Presence", "fill_gaps"]

Presence = npt.NDArray[np.bool_] | None
"""For each row of a column whether its value counts; None when all do."""


@dataclass(frozen=True)
class _Group:
    """Columns with the same gaps.

    Attributes:
        columns: their positions.
        log: their filled rows.
        exported: the same as C structures.
        gap: rows that no version fills; None when there are none.
    """

    columns: list[int]
    log: pa.RecordBatch
    exported: ExportedBatch
    gap: npt.NDArray[np.bool_] | None


@dataclass(frozen=True)
class FilledLog:
    """The rows of a log with their gaps filled from below, as far as the log can.

    Attributes:
        data: the rows; a gap that is left holds what the lowest version has.
        groups: its columns by what gaps are left.
        rule: what makes a gap of a base row's value, where one stays above its log; or None.
    """

    data: pa.RecordBatch
    groups: list[_Group]
    rule: FillRule | None

    def assemble(
        self, base: pa.RecordBatch, sources: Words, losers: Words, allocator: TrackedAllocator
    ) -> pa.RecordBatch:
        """The merged batch.

        Args:
            base: the base rows, which this call takes over as `merge.assemble` does.
            sources: where each row's values come from.
            losers: row of the log that a base row stays above, or -1.
            allocator: owner of the result's buffers.
        """
        columns: dict[int, pa.Array] = {}
        rows = len(sources) - int(np.count_nonzero(sources == REMOVE))
        for group in self.groups:
            own = base.select(group.columns)
            words = self._sources(group, own, sources, losers)
            merged = assemble(own, group.log, group.exported, words, allocator)
            columns |= zip(group.columns, merged.columns, strict=True)
        return batch_of([columns[i] for i in range(base.num_columns)], base.schema, rows)

    def _sources(self, group: _Group, base: pa.RecordBatch, sources: Words, losers: Words) -> Words:
        words = sources
        if group.gap is not None:
            words = sources.copy()
            words[(sources >= 0) & group.gap[np.maximum(sources, 0)]] = KEEP
        if self.rule is None:
            return words
        present = self.rule.present(base.column(0))
        if present is not None:
            filled = ~present & (losers >= 0)
            if group.gap is not None:
                filled &= ~group.gap[np.maximum(losers, 0)]
            words = np.where(filled, losers, words)
        return words


def fill_gaps(
    data: pa.RecordBatch,
    presence: Sequence[Presence],
    below: npt.NDArray[np.int32],
    rule: FillRule | None,
) -> FilledLog:
    """Fill each row's gaps from the rows below it.

    Args:
        data: the log's rows.
        presence: for each column which values count.
        below: for each row the one that fills its gaps, or -1.
        rule: the table's, if a base row can have gaps too; its columns are then kept apart.
    """
    members: dict[bytes | int, list[int]] = {}
    for i, counts in enumerate(presence):
        alike = i if rule is not None else b"" if counts is None else np.packbits(counts).tobytes()
        members.setdefault(alike, []).append(i)
    groups = [_group(data, columns, presence[columns[0]], below) for columns in members.values()]
    columns = {i: c for g in groups for i, c in zip(g.columns, g.log.columns, strict=True)}
    filled = batch_of([columns[i] for i in range(len(presence))], data.schema, data.num_rows)
    return FilledLog(filled, groups, rule)


def _group(
    data: pa.RecordBatch, columns: list[int], counts: Presence, below: npt.NDArray[np.int32]
) -> _Group:
    own, gap = data.select(columns), None
    if counts is not None:
        rows = _filling_rows(counts, below)
        own = own.take(array_of(rows))
        left = ~counts[rows]
        gap = left if left.any() else None
    return _Group(columns, own, ExportedBatch(own), gap)


def _filling_rows(
    counts: npt.NDArray[np.bool_], below: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """For each row the highest one from it downwards whose value counts, or else the lowest."""
    rows = np.arange(len(counts), dtype=np.int32)
    gaps = np.flatnonzero(~counts & (below >= 0))
    while len(gaps):
        rows[gaps] = below[rows[gaps]]
        gaps = gaps[~counts[rows[gaps]] & (below[rows[gaps]] >= 0)]
    return rows
