"""The main job: readers times data sets times queries, each answer judged before its time counts.

Readers are known by name only; each has a process of its own, in which its scans and queries of all
data sets take turns with those of the others. One that states `query.snapshot` is asked for the
merged view and judged by the oracle's snapshot; one that does not, but states
`query.read-optimized`, is asked for the base files alone and judged by the oracle's base state. The
workload is derived from TPC-H and not comparable with published TPC-H results.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from seambase.errors import InputError, UnavailableError, UsageError
from seambench.bench.apart import Apart, Here, Home, competitor_at
from seambench.bench.cases import SCANNED, SCANS, Case, LastRun, QueryCase, ScanCase
from seambench.bench.listener import Listener
from seambench.bench.measure import take_turns
from seambench.bench.quiet import Watch
from seambench.bench.readers import Reader, close_opened, reader_of, tables_to_read
from seambench.bench.unfinished import Unfinished
from seambench.contracts import registry
from seambench.contracts.scan import Scanner
from seambench.data import Dataset, State
from seambench.records.facts import implementation_info
from seambench.records.model import Answered, Conformance, Origin, Record, Rows, Timing
from seambench.records.writer import Measurement, Recording, answered


@dataclass(frozen=True)
class ComparisonOptions:
    """What to compare."""

    readers: Sequence[str]
    datasets: Sequence[Dataset]  # data sets that hold at least one table in a table format
    # numbers of the suite's queries; none for scans only
    queries: Sequence[int] = tuple(range(1, 23))
    scans: Sequence[str] = tuple(SCANS)  # names from `seambench.bench.cases.SCANS`
    scans_only: Sequence[str] = ()  # readers that take no part in the queries
    suite: str = "tpch"
    samples: int = 7
    threads: int | None = None  # for readers and DuckDB; None for one per core
    budget_seconds: float | None = 60.0  # see `seambench.bench.measure.take_turns`
    memory: bool = True
    wait_seconds: float = 0.0  # how long to wait at most for a machine that does nothing else
    command: str = "seambench bench"


def compare_readers(
    options: ComparisonOptions,
    listener: Listener | None = None,
    conformance: Sequence[tuple[str, Conformance]] = (),
    unfinished: Unfinished | None = None,
) -> list[Record]:
    """Run the comparison: one record per reader, not yet written.

    A reader that is not there or answers wrongly has a record too, which says so. `conformance` of
    readers goes into their records; cases that an interrupted run had finished are taken from
    `unfinished`.
    """
    listener = listener or Listener()
    _check(options)
    scanners = {name: _scanner(name) for name in options.readers}
    watch = Watch(options.wait_seconds, listener.running)
    recording = Recording(options.command, options.samples, options.threads, watch.busy)
    cases = _cases(options)
    listener.plan(len(cases))
    found: dict[str, list[Timing]] = {name: [] for name in options.readers}
    clusters: set[str | None] = set()
    entries = [
        reader_of(name, scanners[name], dataset, options.threads)
        for dataset in options.datasets
        for name in options.readers
    ]
    with contextlib.ExitStack() as stack:
        stack.callback(close_opened)
        homes = {name: _home(name) for name in options.readers}
        for home in homes.values():
            stack.callback(home.close)
        for case in cases:
            listener.case(_said(options.datasets), case.name)
            timings = _finished(unfinished, case)
            if timings is None:
                takes = [reader for reader in entries if _takes_part(options, reader, case)]
                timings = _run_case(options, takes, case, homes, listener, clusters, watch)
                if unfinished is not None:
                    unfinished.put(case.name, msgspec.to_builtins(timings))
            for name, timing in timings:
                found[name].append(timing)
                listener.done(timing, name)
    origin = _origin(options.datasets[0])
    cluster = next((one for one in clusters if one is not None), None)
    return [
        recording.record(
            implementation_info(name, scanners[name]),
            found[name],
            [part for its_name, part in conformance if its_name == name],
            origin,
            master=cluster,
        )
        for name in options.readers
    ]


def _home(name: str) -> Home:
    """A process of its own; under spark-submit this one, as its session can be used by no other."""
    return Here() if "PYSPARK_GATEWAY_PORT" in os.environ else Apart(name)


def _said(datasets: Sequence[Dataset]) -> str:
    more = f" and {len(datasets) - 1} more" if len(datasets) > 1 else ""
    return f"{datasets[0].name}{more}"


def _finished(unfinished: Unfinished | None, case: Case) -> list[tuple[str, Timing]] | None:
    """The timings of a case with their readers, if an interrupted run had finished it."""
    found = None if unfinished is None else unfinished.get(case.name)
    if unfinished is None or found is None:
        return None
    try:
        return msgspec.convert(found, list[tuple[str, Timing]])
    except msgspec.ValidationError as error:
        raise InputError(f"{unfinished.file}: {error}; run without --resume") from error


def _check(options: ComparisonOptions) -> None:
    if not options.readers or not options.datasets:
        raise UsageError("a comparison needs at least one reader and one data set")
    for name in options.scans:
        if name not in SCANS:
            raise UsageError(f"unknown scan {name!r}; the scans are {', '.join(SCANS)}")
    for dataset in options.datasets:
        tables_to_read(dataset)
    known = registry.resolve_suite(options.suite).queries if options.queries else {}
    for number in options.queries:
        if number not in known:
            raise UsageError(
                f"suite {options.suite} has no query {number}; it has {min(known)} to {max(known)}"
            )


def _scanner(name: str) -> Scanner | Exception:
    """The reader, or why this machine has none; only a wrong name ends the whole run."""
    try:
        scanner: Scanner = registry.resolve("scan", name)
    except UnavailableError as error:
        return error
    return scanner


def _cases(options: ComparisonOptions) -> list[Case]:
    found: list[Case] = [ScanCase(name, memory=options.memory) for name in options.scans]
    if options.queries:
        suite = registry.resolve_suite(options.suite)
        found += [
            QueryCase(options.suite, suite, n, memory=options.memory) for n in options.queries
        ]
    return found


def _takes_part(options: ComparisonOptions, reader: Reader, case: Case) -> bool:
    if isinstance(case, ScanCase):
        return SCANNED in tables_to_read(reader.dataset)
    return reader.name not in options.scans_only


def _run_case(
    options: ComparisonOptions,
    readers: Sequence[Reader],
    case: Case,
    homes: Mapping[str, Home],
    listener: Listener,
    clusters: set[str | None],
    watch: Watch,
) -> list[tuple[str, Timing]]:
    """One case for every reader of every data set, all in turns; timings with their readers."""
    by_name = {f"{reader.name} {reader.dataset.name}": reader for reader in readers}
    tasks = {n: case.task(reader) for n, reader in by_name.items() if reader.problem is None}
    competitors = {
        name: competitor_at(homes[by_name[name].name], task) for name, (task, _) in tasks.items()
    }
    results = take_turns(
        competitors,
        options.samples,
        budget_seconds=options.budget_seconds,
        on_run=listener.running,
        seed=zlib.crc32(case.name.encode()),
        watch=watch,
    )
    found: list[tuple[str, Timing]] = []
    for name, reader in by_name.items():
        result = results.get(name) or Measurement(error=reader.problem)
        last = competitors[name].about if name in tasks else None
        about = last() if last and result.error is None else LastRun()
        clusters.add(about.cluster)
        expected = tasks[name][1] if name in tasks else None
        found.append((reader.name, _timing(case, reader, expected, about, result)))
    return found


def _timing(
    case: Case, reader: Reader, expected: str | None, about: LastRun, result: Measurement
) -> Answered:
    """The timing, with what the reader's scans report."""
    result.evicted = about.evicted
    timing = answered(
        case.name,
        _rows(reader.dataset, reader.state),
        result,
        query=reader.query,
        expected=expected,
        paths=about.paths,
        warnings=about.warnings,
        spent=about.spent,
    )
    # A record names no folder of the machine that made it.
    dataset, reason = reader.dataset, timing.reason
    return msgspec.structs.replace(
        timing, reason=reason and reason.replace(str(dataset.path), dataset.name)
    )


def _origin(dataset: Dataset) -> Origin:
    generator = dataset.manifest["knobs"].get("generator", "unknown")
    text = generator if isinstance(generator, str) else json.dumps(generator)
    rows = {name: table.rows for name, table in dataset.expected("base").items()}
    return Origin(name="tpch-derived", scale=dataset.scale, generator=text, rows=rows)


def _rows(dataset: Dataset, state: State) -> Rows:
    """What a timing says of the tables it was taken over."""
    return Rows(
        name=dataset.layout,
        scale=dataset.scale,
        state=state,
        digest=dataset.digest,
        format=" and ".join(dataset.formats),
        dimensions=dataset.dimensions,
        stored=dataset.stored,
    )
