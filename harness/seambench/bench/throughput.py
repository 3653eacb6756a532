"""How fast the steps of a seam are, in one thread, beside a plain copy of the same bytes.

Rows are lineitem's, derived from TPC-H and not comparable with published TPC-H results. Whoever
offers steps (`seambench.contracts.common.Staged`) is given the same batches; steps of one name are
timed in turns, and with them `memcpy`: as many bytes copied at once from one warm block into
another. A step whose result does not stand for the rows that went in keeps no time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench.bench import measure
from seambench.bench.comparison import Listener
from seambench.contracts import registry
from seambench.contracts.common import Stage, Staged
from seambench.data.tpch import generate_part, generator_version
from seambench.engines.digest import digest_reader
from seambench.records import record

__all__ = ["MEMCPY", "ThroughputOptions", "lineitem", "measure_throughput"]

#: Name under which the plain copy is recorded.
MEMCPY = "memcpy"

_SCALE = 0.05
_ROWS_AT_MOST = 250_000
_COLUMN_SETS = ("all", "fixed")
#: A sample lasts at least this long, by repeating the step, so that the clock does not show.
_SAMPLE_SECONDS = 0.005
_CALLS_AT_MOST = 1000


@dataclass(frozen=True)
class ThroughputOptions:
    """What to time.

    Attributes:
        seam: whose implementations.
        implementations: names in the registry.
        rows: sizes of the batches.
        columns: `all` 16 columns of lineitem, `fixed`: those 11 whose values have a fixed width.
        only: words of which a step's name must hold one; none for all steps.
        samples: timed runs of each.
        command: what was typed, for the record.
    """

    seam: str
    implementations: Sequence[str]
    rows: Sequence[int] = (4096, 65_536)
    columns: Sequence[str] = ("all",)
    only: Sequence[str] = ()
    samples: int = 15
    command: str = "seambench throughput"


def lineitem(rows: int, columns: str = "all") -> pa.RecordBatch:
    """The first rows of TPC-H's lineitem as one batch, always the same.

    Raises:
        UsageError: more rows than the workload has, or an unknown set of columns.
    """
    if not 0 < rows <= _ROWS_AT_MOST:
        raise UsageError(f"batches have 1 to {_ROWS_AT_MOST} rows, not {rows}")
    if columns not in _COLUMN_SETS:
        raise UsageError(f"unknown set of columns {columns!r}; there are {', '.join(_COLUMN_SETS)}")
    table = _workload().slice(0, rows)
    if columns == "fixed":
        table = table.select([f.name for f in table.schema if not pa.types.is_string(f.type)])
    # Copied, so that no buffer is a part of a larger one: each is as long as its rows need.
    [batch] = pc.take(table.combine_chunks(), np.arange(rows)).to_batches()
    return batch


@cache
def _workload() -> pa.Table:
    return pa.Table.from_batches(generate_part("lineitem", _SCALE, 1, 1))


def measure_throughput(
    options: ThroughputOptions, listener: Listener | None = None
) -> list[dict[str, Any]]:
    """Time the steps.

    Returns:
        One record per implementation and one for `memcpy` (see `seambench.records.record`), not yet
        written. Cases are called `<seam>/<step>/<rows>`, or `.../<rows> fixed`.

    Raises:
        UsageError: unknown seam or implementation, one without steps, or no step is left to time.
    """
    listener = listener or Listener()
    found = {name: _implementation(options.seam, name) for name in options.implementations}
    run, machine = record.new_run(options.command, options.samples), record.machine_info()
    begin = time.monotonic()
    timings: dict[str, list[dict[str, Any]]] = {name: [] for name in (*found, MEMCPY)}
    for columns in options.columns:
        for rows in options.rows:
            batch = lineitem(rows, columns)
            label = f"{rows}" if columns == "all" else f"{rows} {columns}"
            _measure_batch(options, found, batch, label, timings, listener)
    if not timings[MEMCPY]:
        raise UsageError("there is no step to time: see what --only asks for")
    run["seconds"] = round(time.monotonic() - begin, 3)
    about = {name: record.implementation_info(name, one) for name, one in found.items()}
    about[MEMCPY] = {
        "name": MEMCPY,
        "version": np.__version__,
        "kind": "native",
        "tuned": False,
        "capabilities": {},
    }
    dataset = {
        "name": "tpch-derived",
        "scale": _SCALE,
        "generator": generator_version(),
        "rows": {"lineitem": max(options.rows)},
    }
    return [record.assembled(run, machine, about[name], dataset, timings[name]) for name in timings]


def _implementation(seam: str, name: str) -> Any:
    """The implementation, or why this machine has none; only a wrong name ends the whole run."""
    try:
        found = registry.resolve(seam, name)
    except UnavailableError as error:
        return error
    if not isinstance(found, Staged):
        raise UsageError(f"{name} offers no steps to time (it has no method `stages`)")
    return found


def _measure_batch(
    options: ThroughputOptions,
    found: Mapping[str, Any],
    batch: pa.RecordBatch,
    label: str,
    timings: dict[str, list[dict[str, Any]]],
    listener: Listener,
) -> None:
    """Every step of every implementation over one batch."""
    expected = digest_reader(batch)
    stages: dict[str, dict[str, Stage]] = {}
    for name, implementation in found.items():
        for stage in _stages(implementation, batch):
            if not options.only or any(word in stage.name for word in options.only):
                stages.setdefault(stage.name, {})[name] = stage
    listener.plan(len(stages))
    for step, offered in stages.items():
        case = f"{options.seam}/{step}/{label}"
        listener.case("lineitem", case)
        works = {name: _Work(stage, batch) for name, stage in offered.items()}
        works[MEMCPY] = _Work(_copy(batch, next(iter(works.values())).bytes), batch)
        results = measure.interleave(
            {name: measure.Competitor(work.run, work.check) for name, work in works.items()},
            options.samples,
            on_run=listener.running,
        )
        for name, work in works.items():
            timing = work.timing(case, results[name], expected)
            timings[name].append(timing)
            listener.done(timing, name)


def _stages(implementation: Any, batch: pa.RecordBatch) -> Sequence[Stage]:
    if isinstance(implementation, Exception):
        return ()
    try:
        return list(implementation.stages(batch))
    except (RefusedError, UnavailableError):
        return ()  # shown as a case without a time


def _copy(batch: pa.RecordBatch, size_bytes: int) -> Stage:
    """The floor: one copy of as many bytes between two blocks that were touched before."""
    source = np.ones(size_bytes, dtype=np.uint8)
    target = np.zeros(size_bytes, dtype=np.uint8)
    return Stage(MEMCPY, lambda: np.copyto(target, source), lambda _: batch, size_bytes)


class _Work:
    """A step, repeated so often that a sample can be trusted."""

    def __init__(self, stage: Stage, batch: pa.RecordBatch) -> None:
        self._stage = stage
        self._batch = batch
        self._calls = 0
        self._passes = stage.passes
        self._first_seconds = 0.0
        self.bytes = batch.nbytes if stage.bytes is None else stage.bytes
        self._answer: str | None = None

    def run(self) -> Any:
        """The cold run finds out how often the step fits a sample; each run returns a result."""
        if self._calls == 0:
            begin = time.perf_counter()
            result = self._stage.run()
            middle = time.perf_counter()
            result = None
            result = self._stage.run()  # the first one may have compiled, loaded, faulted pages in
            seconds = time.perf_counter() - middle
            self._first_seconds = middle - begin
            self._calls = max(1, min(_CALLS_AT_MOST, round(_SAMPLE_SECONDS / max(seconds, 1e-9))))
            return result
        result = None
        for _ in range(self._calls):
            result = None  # the one before goes first: nobody keeps two
            result = self._stage.run()
        return result

    def check(self, result: Any) -> str | None:
        """Whether the result stands for the rows that went in."""
        rows = self._stage.rows(result)
        self._answer = digest_reader(rows, self._batch.schema)
        expected = digest_reader(self._batch)
        return None if self._answer == expected else f"rows {expected} went in, {self._answer} out"

    def timing(self, case: str, result: measure.Measurement, expected: str) -> dict[str, Any]:
        """One timing as the record wants it: seconds of one call."""
        error, outcome = measure.judged(result)
        kept = result if outcome == "pass" else measure.Measurement()
        return {
            "case": case,
            "unit": "s",
            "dataset": record.generated_rows(
                f"lineitem, {self._batch.num_rows} rows", _SCALE, expected
            ),
            "query": None,
            "outcome": outcome,
            "cold": [self._first_seconds / self._passes] if kept.cold else [],
            "hot": [sample.wall / self._calls / self._passes for sample in kept.hot],
            "cpu": [sample.cpu / self._calls / self._passes for sample in kept.hot],
            "rows": self._batch.num_rows,
            "bytes": self.bytes,
            "peak_bytes": None,
            "growth_bytes": kept.growth_bytes,
            "answer": self._answer,
            "expected": expected,
            "paths": {},
            "warnings": [],
            "error": error,
        }
