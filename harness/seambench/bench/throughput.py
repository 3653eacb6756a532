"""How fast the steps of a seam are, in one thread, beside a plain copy of the same bytes.

Rows are lineitem's, derived from TPC-H and not comparable with published TPC-H results. Whoever
offers steps (`seambench.contracts.common.Staged`) is given the same batches, in a process of its
own; steps of one name are timed in turns, and with them `memcpy`: as many bytes copied at once from
one warm block into another. A step whose result does not stand for the rows that went in keeps no
time.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench.bench import measure
from seambench.bench.apart import Apart, Home, Task, competitor_at
from seambench.bench.listener import Listener
from seambench.bench.quiet import Watch
from seambench.contracts import registry
from seambench.contracts.common import Stage, Staged
from seambench.data.tpch import generate_part, generator_version
from seambench.engines.digest import digest_reader
from seambench.records.facts import implementation_info
from seambench.records.model import Floor, Implementation, Moved, Origin, Record, Rows, Timing
from seambench.records.verdicts import Arrived, Finding
from seambench.records.writer import Recording, answered, moved

#: Name under which the plain copy is recorded.
MEMCPY = "memcpy"

_SCALE = 0.05
_ROWS_AT_MOST = 250_000
_ROWS_OF_A_PART = 5_000
_COLUMN_SETS = ("all", "fixed")


@dataclass(frozen=True)
class ThroughputOptions:
    """What to time."""

    seam: str
    implementations: Sequence[str]
    rows: Sequence[int] = (4096, 65_536)
    # `all` 16 columns of lineitem, `fixed`: those 11 whose values have a fixed width
    columns: Sequence[str] = ("all",)
    only: Sequence[str] = ()  # words of which a step's name must hold one; none for all steps
    samples: int = 15
    wait_seconds: float = 0.0  # how long to wait at most for a machine that does nothing else
    command: str = "seambench throughput"


def lineitem(rows: int, columns: str = "all") -> pa.RecordBatch:
    """The first rows of TPC-H's lineitem as one batch, always the same."""
    if not 0 < rows <= _ROWS_AT_MOST:
        raise UsageError(f"batches have 1 to {_ROWS_AT_MOST} rows, not {rows}")
    if columns not in _COLUMN_SETS:
        raise UsageError(f"unknown set of columns {columns!r}; there are {', '.join(_COLUMN_SETS)}")
    # Parts follow one another: of the first, which is made alone, these are the first rows.
    table = _workload(max(1, _ROWS_AT_MOST // max(rows, _ROWS_OF_A_PART))).slice(0, rows)
    if columns == "fixed":
        table = table.select([f.name for f in table.schema if not pa.types.is_string(f.type)])
    # Copied, so that no buffer is a part of a larger one: each is as long as its rows need.
    [batch] = pc.take(table.combine_chunks(), np.arange(rows)).to_batches()
    return batch


@cache
def _workload(parts: int) -> pa.Table:
    """The first of some parts, of which each has at least `_ROWS_AT_MOST / parts` rows."""
    return pa.Table.from_batches(generate_part("lineitem", _SCALE, 1, parts))


def measure_throughput(
    options: ThroughputOptions, listener: Listener | None = None
) -> list[Record]:
    """Time the steps: a record per implementation and one for `memcpy`, not yet written."""
    listener = listener or Listener()
    found = {name: _implementation(options.seam, name) for name in options.implementations}
    watch = Watch(options.wait_seconds, listener.running)
    recording = Recording(options.command, options.samples, busy=watch.busy)
    timings: dict[str, list[Timing]] = {name: [] for name in (*found, MEMCPY)}
    with contextlib.ExitStack() as stack:
        homes = {name: Apart(name) for name in timings}
        for home in homes.values():
            stack.callback(home.close)
        for columns in options.columns:
            for rows in options.rows:
                of = _Rows(rows, columns)
                _measure_batch(options, found, of, homes, timings, listener, watch)
    if not timings[MEMCPY]:
        raise UsageError("there is no step to time: see what --only asks for")
    about = {name: implementation_info(name, one) for name, one in found.items()}
    about[MEMCPY] = Implementation(
        name=MEMCPY, version=np.__version__, kind="native", capabilities={}
    )
    dataset = Origin(
        name="tpch-derived",
        scale=_SCALE,
        generator=generator_version(),
        rows={"lineitem": max(options.rows)},
    )
    return [recording.record(about[name], timings[name], dataset=dataset) for name in timings]


def _implementation(seam: str, name: str) -> Any:
    """The implementation, or why this machine has none; only a wrong name ends the whole run."""
    try:
        found = registry.resolve(seam, name)
    except UnavailableError as error:
        return error
    if not isinstance(found, Staged):
        raise UsageError(f"{name} offers no steps to time (it has no method `stages`)")
    return found


@dataclass(frozen=True)
class _Rows:
    """Which rows of lineitem make a batch."""

    rows: int
    columns: str

    @property
    def batch(self) -> pa.RecordBatch:
        return lineitem(self.rows, self.columns)

    @property
    def label(self) -> str:
        return f"{self.rows}" if self.columns == "all" else f"{self.rows} {self.columns}"


def _measure_batch(
    options: ThroughputOptions,
    implementations: Mapping[str, Any],
    of: _Rows,
    homes: Mapping[str, Home],
    timings: dict[str, list[Timing]],
    listener: Listener,
    watch: Watch,
) -> None:
    """Every step of every implementation over one batch."""
    batch = of.batch
    expected = digest_reader(batch)
    over = Rows(name=f"lineitem, {batch.num_rows} rows", scale=_SCALE)
    stages: dict[str, dict[str, Stage]] = {}
    for name, implementation in implementations.items():
        for stage in _stages(implementation, batch):
            if not options.only or any(word in stage.name for word in options.only):
                stages.setdefault(stage.name, {})[name] = stage
    listener.plan(len(stages))
    for step, offered in stages.items():
        case = f"{options.seam}/{step}/{of.label}"
        listener.case("lineitem", case)
        size_bytes = _bytes_of(next(iter(offered.values())), batch)
        tasks = {name: Task(_step, (options.seam, name, step, of)) for name in offered}
        tasks[MEMCPY] = Task(_copy, (size_bytes, batch.num_rows))
        works = {name: competitor_at(homes[name], task) for name, task in tasks.items()}
        results = measure.take_turns(
            works,
            options.samples,
            on_run=listener.running,
            seed=zlib.crc32(case.encode()),
            watch=watch,
        )
        for name, result in results.items():
            timing: Timing = (
                moved(Floor, case, over, result)
                if name == MEMCPY
                else answered(case, over, result, expected=expected)
            )
            timings[name].append(timing)
            listener.done(timing, name)


def _stages(implementation: Any, batch: pa.RecordBatch) -> Sequence[Stage]:
    if isinstance(implementation, Exception):
        return ()
    try:
        return list(implementation.stages(batch))
    except (RefusedError, UnavailableError):
        return ()  # shown as a case without a time


def _bytes_of(stage: Stage, batch: pa.RecordBatch) -> int:
    return int(batch.nbytes) if stage.bytes is None else stage.bytes


def _copy(size_bytes: int, rows: int) -> measure.Competitor:
    """The floor: one copy of as many bytes between two blocks that were touched before."""
    source = np.ones(size_bytes, dtype=np.uint8)
    target = np.zeros(size_bytes, dtype=np.uint8)

    def judge(_: Any) -> Arrived:
        arrived = int(np.count_nonzero(target))
        return Arrived(Moved(unit="bytes", sent=size_bytes, arrived=arrived), rows, size_bytes)

    return measure.Competitor(lambda: np.copyto(target, source), judge, measure.RepeatingClock())


def _step(seam: str, name: str, step: str, of: _Rows) -> measure.Competitor:
    """A step; its result is read back and compared with the rows that went in."""
    batch = of.batch
    expected = digest_reader(batch)
    [stage] = [one for one in registry.resolve(seam, name).stages(batch) if one.name == step]

    def judge(result: Any) -> Finding:
        digest = digest_reader(stage.rows(result), batch.schema)
        size_bytes = _bytes_of(stage, batch)
        return Finding(expected, digest, rows=batch.num_rows, bytes=size_bytes)

    return measure.Competitor(stage.run, judge, measure.RepeatingClock(passes=stage.passes))
