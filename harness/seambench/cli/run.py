"""`seambench run`: data, comparison and page in one go."""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seambase.errors import SeambenchError, UnavailableError, UsageError
from seambase.wording import counted
from seambench.cli.bench import run_bench
from seambench.cli.shared import completing
from seambench.cli.shared.common import (
    DataFolder,
    Jars,
    Memory,
    Queries,
    Readers,
    Results,
    Samples,
    ScansOnly,
    Site,
    Threads,
    Wait,
    data_folder,
    error_console,
    parse_queries,
    typed,
)
from seambench.cli.shared.config import chosen_options
from seambench.cli.shared.recording import check_readers
from seambench.contracts import registry

if TYPE_CHECKING:
    from seambench.data import Dataset, GenerateOptions

_SCANS = ("all", "q6", "count")
#: What means something in a quick run.
_OF_QUICK = frozenset({"reader", "results", "site", "quick", "dry-run"})


def run(
    context: typer.Context,
    scale: Annotated[float, typer.Option(help="TPC-H scale.")] = 0.01,
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Table format, repeatable (default: all that a reader offers).",
            autocompletion=completing.formats,
        ),
    ] = None,
    update_ratio: Annotated[
        list[float] | None,
        typer.Option(help="Per cent of rows updated in a changed slice, repeatable."),
    ] = None,
    slice_share: Annotated[
        list[float] | None,
        typer.Option(help="Per cent of slices that are changed, repeatable."),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option(
            help="A further data set of this layout, repeatable: cow-v9.",
            autocompletion=completing.layouts,
        ),
    ] = None,
    reader: Readers = None,
    queries: Queries = "all",
    scans_only: ScansOnly = None,
    samples: Samples = 7,
    wait: Wait = 0.0,
    knob: Annotated[
        list[str] | None,
        typer.Option(
            help="A choice of a format's, [FORMAT.]KEY=VALUE, repeatable: ordering=commit."
        ),
    ] = None,
    slices: Annotated[
        int | None, typer.Option(min=1, help="Slices of each table in a table format.")
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Table in a table format, repeatable, or `all`.")
    ] = None,
    threads: Threads = None,
    memory: Memory = True,
    conformance: Annotated[
        bool, typer.Option(help="Check the readers first: all cases of the scan seam.")
    ] = True,
    folder: DataFolder = None,
    results: Results = Path("results"),
    site: Site = Path("site"),
    jars: Jars = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Only answers over golden tables, and the page: a minute."),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with a run of the same plan that was interrupted."),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the plan, and where each option came from; do nothing."
        ),
    ] = False,
) -> None:
    """Make the data, check the readers, compare them, build the page.

    Without --update-ratio and --slice-share: 0, 5, 20, 50 and 100 % in every slice, and 20 % in a
    fifth of the slices. With --slice-share alone 20 % of the rows of these slices are changed; a
    share of 0 is a table without changes. Derived from TPC-H, not comparable with published TPC-H
    results.
    """
    from seambench.data import DEFAULT_TABLES, GenerateOptions, curve_layouts
    from seambench.engines.spark import parse_settings

    readers = reader or registry.resolve_suite("tpch").readers
    if quick and not reader:
        from seambench.cli.stages.running import to_be_had

        readers = to_be_had(readers)
    _check_first(readers, scans_only or (), queries, (results, site))
    if quick:
        _require_quick(context)
        _quick(context, readers, results, site, dry_run=dry_run)
    curve = curve_layouts(
        format_ or _offered(readers),
        update_ratio or (),
        slice_share or (),
        parse_settings(knob or (), "--knob"),
    )
    options = GenerateOptions(
        scale=scale,
        data=data_folder(folder),
        layouts=tuple(dict.fromkeys([*curve, *(layout or ())])),
        tables=tuple(table or DEFAULT_TABLES),
        slices=slices,
        jars=tuple(jars or ()),
    )
    measured = {
        "readers": tuple(dict.fromkeys(readers)),
        "queries": parse_queries(queries),
        "scans": _SCANS,
        "scans_only": scans_only or (() if reader else registry.resolve_suite("tpch").scans_only),
        "samples": samples,
        "threads": threads,
        "memory": memory,
    }
    if dry_run:
        runs = samples + 1 + memory
        _show_plan(context, options, readers, queries, runs, conformance, results, site)
        raise typer.Exit
    with _resume_hint():
        code = _run(options, measured, wait, results, site, conformance, resume)
    raise typer.Exit(code)


def _run(
    options: GenerateOptions,
    measured: Mapping[str, Any],
    wait: float,
    results: Path,
    site: Path,
    conformance: bool,
    resume: bool,
) -> int:
    """The four stages; the exit code."""
    from seambench.bench.comparison import ComparisonOptions
    from seambench.bench.unfinished import Unfinished
    from seambench.cli.stages.running import result_of, show_closing
    from seambench.data import generate

    err = error_console()
    err.print(f"1 of 4: data sets of scale {options.scale:g}")
    datasets = generate(options)
    unfinished = Unfinished(results, _identity(datasets, measured, conformance), resume=resume)
    if resume:
        err.print(f"resumed: {counted(unfinished.resumed, 'piece')} of work done already")
    err.print("2 of 4: conformance" + ("" if conformance else " is left out"))
    readers = measured["readers"]
    checked = check_readers(readers, unfinished) if conformance else []
    err.print("3 of 4: comparison")
    compared = ComparisonOptions(datasets=datasets, wait_seconds=wait, command=typed(), **measured)
    records, code = run_bench(compared, results, checked, unfinished)
    unfinished.finish()
    err.print("4 of 4: page")
    page = _build(results, site)
    by_name = {record.implementation.name: record for record in records}
    parts = {name: [part for its_name, part in checked if its_name == name] for name in readers}
    results_of = {name: result_of(parts[name], by_name.get(name)) for name in readers}
    show_closing(results_of, page)
    return code


def _build(results: Path, site: Path) -> Path:
    from seambench.contracts.progress import Progress
    from seambench.report import build

    with Progress("building the page"):
        return build(results, site)


def _identity(
    datasets: Sequence[Dataset], measured: Mapping[str, Any], conformance: bool
) -> dict[str, Any]:
    """All that decides what a run measures: what was measured with other things does not mix."""
    from seambench.records import facts

    now, machine = facts.new_run("seambench run"), facts.machine_info()
    versions = {}
    for name in measured["readers"]:
        with contextlib.suppress(SeambenchError):
            versions[name] = str(registry.resolve("scan", name).version)
    return {
        **measured,
        "readers": {name: versions.get(name) for name in measured["readers"]},
        "datasets": {dataset.name: dataset.digest for dataset in datasets},
        "conformance": conformance,
        "commit": now.commit,
        "packages": facts.versions(),
        "machine": [machine.cpu, machine.cores, machine.memory_bytes],
    }


@contextlib.contextmanager
def _resume_hint() -> Iterator[None]:
    """Say how to resume when a run ends before its end; a refusal says itself what to do."""
    try:
        yield
    except SeambenchError:
        raise
    except BaseException:
        words = [word for word in sys.argv[1:] if word != "--resume"]
        error_console().print(
            f"what is finished is kept; to go on: {shlex.join(['seambench', *words, '--resume'])}",
            markup=False,
            soft_wrap=True,
        )
        raise


def _require_quick(context: typer.Context) -> None:
    """Refuse what was typed and means nothing in a quick run."""
    for one in chosen_options(context):
        if one.source == "command line" and one.option not in _OF_QUICK:
            raise UsageError(
                f"--{one.option} means nothing with --quick, which makes and times nothing"
            )


def _quick(
    context: typer.Context, readers: Sequence[str], results: Path, site: Path, *, dry_run: bool
) -> None:
    """Answers over golden tables, and the page; ends the command."""
    from seambench.cli.stages.running import (
        Planned,
        offered,
        quick_cases,
        result_of,
        run_quick,
        show_closing,
        show_planned,
    )
    from seambench.conformance.load import load_cases
    from seambench.records.conformance import conformance_of

    err = error_console()
    if dry_run:
        cases = load_cases("scan")
        most = max(len(quick_cases(offered(name, cases))) for name in readers)
        planned = Planned(readers, (), 0.0, most, (), 0, results, site)
        show_planned(planned, chosen_options(context))
        raise typer.Exit
    err.print("1 of 2: answers over golden tables")
    seen = run_quick(readers, results)
    err.print("2 of 2: page")
    page = _build(results, site)
    parts = {
        name: [conformance_of("scan", [one for one in seen if one.implementation == name])]
        for name in readers
    }
    show_closing({name: result_of(part) for name, part in parts.items()}, page)
    failed = [one for one in seen if one.failed]
    if failed or not any(one.is_verdict for one in seen):
        raise typer.Exit(1)
    raise typer.Exit


def _show_plan(
    context: typer.Context,
    options: GenerateOptions,
    readers: Sequence[str],
    queries: str,
    runs: int,
    conformance: bool,
    results: Path,
    site: Path,
) -> None:
    from seambench.cli.stages.running import Planned, show_planned
    from seambench.conformance.load import load_cases
    from seambench.data import planned

    timed = [f"scan/{name}" for name in _SCANS]
    timed += [f"tpch/q{number:02d}" for number in parse_queries(queries)]
    plan = Planned(
        readers,
        planned(options),
        options.scale,
        len(load_cases("scan")) if conformance else 0,
        timed,
        runs,
        results,
        site,
    )
    show_planned(plan, chosen_options(context))


def _offered(readers: Sequence[str]) -> list[str]:
    """Table formats that any of the readers offers; all, if none can tell."""
    from seambench.contracts.formats import offered_formats

    names: set[str] = set()
    for reader in readers:
        with contextlib.suppress(SeambenchError):
            capabilities = registry.resolve("scan", reader).capabilities
            offered = offered_formats(capabilities)
            names |= {one.name for one in offered if one.layouts is not None}
    return sorted(names)


def _check_first(
    readers: Sequence[str], scans_only: Sequence[str], queries: str, folders: Sequence[Path]
) -> None:
    """Refuse what would fail only after data were made, which takes minutes."""
    parse_queries(queries)
    for name in dict.fromkeys([*readers, *scans_only]):
        registry.resolve("scan", name)
    for folder in folders:
        whole = folder.absolute()
        there = next(path for path in (whole, *whole.parents) if path.exists())
        try:
            tempfile.TemporaryFile(dir=there).close()
        except OSError as error:
            raise UnavailableError(f"{folder} cannot be written: {error.strerror}") from error
