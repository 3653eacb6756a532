"""Merging sorted runs by key: which rows come out.

The rules stand in `native/include/seam/runs.h`; this is the thin Python side of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seamkit.core._seam import ffi, lib
from seamkit.core.arrow_data import ExportedBatch
from seamkit.core.errors import check, expect, new_error
from seamkit.core.memory import TrackedAllocator
from seamkit.scan.merging.log_index import RowNumbers

Pick = Literal["last", "first", "all"]
_PICKS: dict[Pick, int] = {
    "last": lib.SEAM_RUNS_LAST,
    "first": lib.SEAM_RUNS_FIRST,
    "all": lib.SEAM_RUNS_ALL,
}


@dataclass(frozen=True)
class MergedRows:
    """Rows that come out of a merge, of runs other than the base.

    Attributes:
        runs: the run of each.
        rows: its number in the run's batch.
        marks: where all rows come out, whether it is the first of its key; otherwise whether it
            takes the place of a row of the base.
    """

    runs: RowNumbers
    rows: RowNumbers
    marks: npt.NDArray[np.bool_]


class RunMerge:
    """A merge of sorted runs, as pure logic: it is asked what it wants, and given it.

    Args:
        n_runs: how many runs there are; of tying rows that of the last run is the latest.
        base: the run whose batches are changed in place; None where all rows come out.
        n_keys: the first so many columns of each batch are the key; those behind them are the order
            of its rows.
        n_order: how many these are.
        descending: of the first so many of these smaller values are later.
        pick: which rows of a key come out.
        ignores_retracts: whether retracts are passed over.
        allocator: where keys live.
        source: what messages call the runs.
    """

    def __init__(
        self,
        n_runs: int,
        base: int | None,
        n_keys: int,
        n_order: int,
        descending: int,
        pick: Pick,
        ignores_retracts: bool,
        allocator: TrackedAllocator,
        source: str,
    ) -> None:
        options = ffi.new("struct seam_runs_options *")
        options.n_runs, options.base = n_runs, -1 if base is None else base
        options.n_keys, options.n_order, options.descending = n_keys, n_order, descending
        options.ignores_retracts, options.pick = ignores_retracts, _PICKS[pick]
        self._source = source
        self._error = new_error()
        self._held: dict[int, tuple[Any, ...]] = {}
        out = ffi.new("struct seam_runs **")
        check(lib.seam_runs_new(allocator.pointer, options, out, self._error), self._error)
        self._pointer = ffi.gc(out[0], lib.seam_runs_free)

    @property
    def wants(self) -> int | None:
        """The run that must be told its next batch, or its end, before rows can come."""
        run = int(lib.seam_runs_wants(self._pointer))
        return None if run < 0 else run

    def add(
        self,
        run: int,
        columns: pa.RecordBatch,
        kinds: npt.NDArray[np.int8] | None,
        sources: RowNumbers | None = None,
    ) -> None:
        """The next batch of a run that is wanted.

        Args:
            run: its number.
            columns: the key's columns, then those of the order.
            kinds: a number for each row, odd for retracts; None where no row is one.
            sources: of the base: receives for each row where its values come from, until the run is
                wanted again.
        """
        for words, kind in ((kinds, np.int8), (sources, np.int32)):
            fits = words is None or (words.dtype == kind and len(words) == columns.num_rows)
            expect(fits, "a kind and a source for each row")
        exported = ExportedBatch(columns)
        own = [
            ffi.NULL if kinds is None else ffi.from_buffer("int8_t[]", kinds),
            ffi.NULL if sources is None else ffi.from_buffer("int32_t[]", sources),
        ]
        code = lib.seam_runs_add(
            self._pointer, run, exported.schema, exported.array, *own, self._error
        )
        check(code, self._error, source=self._source)
        self._held[run] = (kinds, sources, own)  # borrowed until the run is wanted again

    def end(self, run: int) -> None:
        """Nothing more comes from a run that is wanted."""
        check(lib.seam_runs_end(self._pointer, run, self._error), self._error)

    def step(self, most: int) -> MergedRows:
        """Go on until a run is wanted, about so many rows were merged, or all runs have ended."""
        out = ffi.new("struct seam_runs_rows *")
        code = lib.seam_runs_next(self._pointer, most, out, self._error)
        check(code, self._error, source=self._source)
        n = int(out.count)
        if not n:
            none = np.empty(0, np.int32)
            return MergedRows(none, none, np.empty(0, np.bool_))
        return MergedRows(
            np.frombuffer(ffi.buffer(out.runs, 4 * n), np.int32).copy(),
            np.frombuffer(ffi.buffer(out.rows, 4 * n), np.int32).copy(),
            np.frombuffer(ffi.buffer(out.marks, n), np.uint8).astype(np.bool_),
        )
