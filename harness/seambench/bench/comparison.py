"""The main job: readers times data sets times queries, each answer judged before its time counts.

Readers are known by name only. One that states `query.snapshot` is asked for the merged view and
judged by the oracle's snapshot; one that does not, but states `query.read-optimized`, is asked for
the base files alone and judged by the oracle's base state. The workload is derived from TPC-H and
not comparable with published TPC-H results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from seambase.errors import InputError, UnavailableError, UsageError
from seambench.bench.cases import SCANNED, SCANS, Case, QueryCase, ScanCase, Work
from seambench.bench.listener import Listener
from seambench.bench.measure import interleave
from seambench.bench.readers import Reader, open_reader, tables_to_read
from seambench.bench.unfinished import Unfinished
from seambench.contracts import registry
from seambench.contracts.scan import Scanner
from seambench.data import Dataset, State
from seambench.engines.spark import running_cluster
from seambench.records.facts import implementation_info
from seambench.records.model import Answered, Conformance, Origin, Record, Rows, Skipped, Timing
from seambench.records.writer import Measurement, Recording, answered

__all__ = ["ComparisonOptions", "compare_readers"]


@dataclass(frozen=True)
class ComparisonOptions:
    """What to compare.

    Attributes:
        readers: names in the registry.
        datasets: data sets that hold at least one table in a table format.
        queries: numbers of the suite's queries; none for scans only.
        scans: names from `seambench.bench.cases.SCANS`.
        scans_only: readers that take no part in the queries.
        suite: name of the suite of queries.
        samples: hot runs of each.
        threads: for readers and DuckDB; None for one per core.
        budget_seconds: see `seambench.bench.measure.interleave`.
        memory: whether to measure memory, in runs of its own.
        command: what was typed, for the record.
    """

    readers: Sequence[str]
    datasets: Sequence[Dataset]
    queries: Sequence[int] = tuple(range(1, 23))
    scans: Sequence[str] = tuple(SCANS)
    scans_only: Sequence[str] = ()
    suite: str = "tpch"
    samples: int = 5
    threads: int | None = None
    budget_seconds: float | None = 60.0
    memory: bool = True
    command: str = "seambench bench"


def compare_readers(
    options: ComparisonOptions,
    listener: Listener | None = None,
    conformance: Sequence[tuple[str, Conformance]] = (),
    unfinished: Unfinished | None = None,
) -> list[Record]:
    """Run the comparison.

    Args:
        options: what to compare.
        listener: is told what happens.
        conformance: of readers by name, for their records.
        unfinished: cases that an interrupted run had finished are taken from there.

    Returns:
        One record per reader, not yet written. A reader that is not there or answers wrongly has a
        record too, which says so.

    Raises:
        UsageError: unknown reader, suite, query or scan, or a data set without tables to read.
    """
    listener = listener or Listener()
    _check(options)
    scanners = {name: _scanner(name) for name in options.readers}
    recording = Recording(options.command, options.samples, options.threads)
    listener.plan(len(options.datasets) * (len(options.scans) + len(options.queries)))
    timings: dict[str, list[Timing]] = {name: [] for name in options.readers}
    for dataset in options.datasets:
        readers = [
            open_reader(name, scanners[name], dataset, options.threads) for name in options.readers
        ]
        try:
            for case in _cases(options, dataset):
                listener.case(dataset.name, case.name)
                found = _finished(unfinished, dataset, case)
                if found is None:
                    found = _run_case(options, readers, case, listener)
                    if unfinished is not None:
                        unfinished.put(_key(dataset, case), msgspec.to_builtins(found))
                for name, timing in found.items():
                    timings[name].append(timing)
                    listener.done(timing, name)
        finally:
            for reader in readers:
                reader.close()
    origin, cluster = _origin(options.datasets[0]), running_cluster()
    return [
        recording.record(
            implementation_info(name, scanners[name]),
            timings[name],
            [part for its_name, part in conformance if its_name == name],
            origin,
            master=cluster,
        )
        for name in options.readers
    ]


def _key(dataset: Dataset, case: Case) -> str:
    return f"{dataset.name} {case.name}"


def _finished(
    unfinished: Unfinished | None, dataset: Dataset, case: Case
) -> dict[str, Timing] | None:
    """The timings of a case by name, if an interrupted run had finished it."""
    found = None if unfinished is None else unfinished.get(_key(dataset, case))
    if unfinished is None or found is None:
        return None
    try:
        return msgspec.convert(found, dict[str, Timing])
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


def _cases(options: ComparisonOptions, dataset: Dataset) -> list[Case]:
    scans = options.scans if SCANNED in tables_to_read(dataset) else ()
    found: list[Case] = [ScanCase(dataset, name, memory=options.memory) for name in scans]
    if options.queries:
        suite = registry.resolve_suite(options.suite)
        found += [QueryCase(dataset, suite, n, memory=options.memory) for n in options.queries]
    return found


def _run_case(
    options: ComparisonOptions, readers: Sequence[Reader], case: Case, listener: Listener
) -> dict[str, Timing]:
    """One case for every reader that takes part in it; a timing by name."""
    if not isinstance(case, ScanCase):
        readers = [reader for reader in readers if reader.name not in options.scans_only]
    works = {reader.name: case.work(reader) for reader in readers if reader.problem is None}
    results = interleave(
        {name: work.competitor for name, work in works.items()},
        options.samples,
        budget_seconds=options.budget_seconds,
        on_run=listener.running,
    )
    return {
        reader.name: _timing(
            case,
            reader,
            works.get(reader.name),
            results.get(reader.name) or Measurement(error=reader.problem),
        )
        for reader in readers
    }


def _timing(case: Case, reader: Reader, work: Work | None, result: Measurement) -> Answered:
    """The timing, with what the reader's scans report."""
    paths, warnings, spent = dict[str, int](), [], dict[str, float]()
    for scan in work.scans if work else ():
        report = scan.report()
        for path, count in report.paths.items():
            paths[path] = paths.get(path, 0) + int(count)
        for what, seconds in report.seconds.items():
            spent[what] = spent.get(what, 0.0) + seconds
        warnings += [
            Skipped(file=w.file, offset=w.offset, reason=w.reason) for w in report.warnings
        ]
    return answered(
        case.name,
        _rows(reader.dataset, reader.state),
        result,
        query=reader.query,
        expected=work.expected if work else None,
        paths=paths,
        warnings=warnings,
        spent=spent,
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
