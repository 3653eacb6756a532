"""`seambench check`: run the conformance cases of a seam."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seambase.command.terminal import JSON_SCHEMA, parse_bytes, print_json
from seambase.errors import SeambenchError, UsageError
from seambase.wording import counted
from seambase.written import writing
from seambench.cli.checks.choice import remember
from seambench.cli.checks.shown import show_end, show_outcomes
from seambench.cli.shared import completing
from seambench.cli.shared.common import Results, error_console
from seambench.cli.shared.recording import recording, write_outcomes, write_varied

if TYPE_CHECKING:
    from seambench.conformance.run import Run
    from seambench.conformance.xfails import Xfails
    from seambench.contracts.outcomes import Outcome
    from seambench.contracts.progress import Progress
    from seambench.contracts.seam import Keep
    from seambench.records.writer import Recording


def check(
    seam: Annotated[
        str,
        typer.Option(
            help="A seam of `seambench list seams`.",
            autocompletion=completing.seams,
            is_eager=True,
        ),
    ] = "scan",
    impl: Annotated[
        list[str] | None,
        typer.Option(
            help="Implementation, repeatable (default: all but variants); NAME@VERSION and "
            "NAME@all are peers of `seambench peers`.",
            autocompletion=completing.implementations,
        ),
    ] = None,
    classpath: Annotated[
        str | None,
        typer.Option(
            help="Jars and folders of classes or of Java sources, parted by colons, for --impl "
            "java:CLASS (default: the variable CLASSPATH)."
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option(
            help="Pattern of case ids, repeatable: scan/*/event/*.",
            autocompletion=completing.cases,
        ),
    ] = None,
    finding: Annotated[
        str | None,
        typer.Option(
            help="Show a reported defect again (docs/findings), in place of a check; ends with 1 "
            "while it is there.",
            autocompletion=completing.findings,
        ),
    ] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Another folder of golden files (column, serde).")
    ] = None,
    xfails: Annotated[
        list[Path] | None, typer.Option(help="File of known failures, repeatable.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Exchange seam: the implementation that takes the other side; --impl are the "
            "senders first, then the receivers."
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds a case may take.")] = 60.0,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            help="Memory that an implementation may take, such as 2GiB (default: three quarters "
            "of the machine's, shared by the processes)."
        ),
    ] = None,
    give_up: Annotated[
        int,
        typer.Option(
            min=0, help="Cases in a row without an answer after which no more are asked; 0: never."
        ),
    ] = 5,
    extra: Annotated[
        str | None,
        typer.Option(
            "--pass",
            help="An extra pass in place of the check: `invariants` (scan: every case asked in "
            "every way, and readers compared), `forms` (scan: every table in other physical "
            "forms), `ways` (scan: every case through every outlet), `matrix` (serde: everybody's "
            "bytes read by everybody), `readers` (table-writer: everybody's tables read by "
            "everybody).",
            autocompletion=completing.passes,
        ),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option("-k", help="Words of ids and rules: 'delete and not v6'."),
    ] = None,
    last_failed: Annotated[
        bool, typer.Option("--last-failed", help="Only what failed last; all if nothing did.")
    ] = False,
    failed_first: Annotated[
        bool, typer.Option("--failed-first", help="What failed last before the rest.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at once (default: one per core).")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Leave what the chosen case reads in this new folder, with its request."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file, too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Write a record of each implementation's outcomes, or of its pairs'."
        ),
    ] = False,
    write_digests: Annotated[
        bool,
        typer.Option(
            "--write-digests",
            help="Write into the files of known failures what they came as, so that nothing else "
            "is excused; ask all versions that they are about (NAME@all).",
        ),
    ] = False,
    results: Results = Path("results"),
) -> None:
    """Run the conformance cases of a seam; exit code 0 only when nothing failed."""
    from seambench.cli.checks.choice import keep_case, narrowed
    from seambench.conformance.isolate import Limits, memory_share
    from seambench.conformance.run import Run
    from seambench.contracts.progress import Progress

    if finding is not None:
        _check_finding(finding, impl, as_json=as_json)
        return
    _require_choice_of_a_check(extra, words, last_failed or failed_first, write_digests)
    _require_writable(junit)
    if classpath is not None:
        os.environ["CLASSPATH"] = classpath  # where the processes of implementations look, too
    workers = jobs or len(os.sched_getaffinity(0))
    with Progress(f"checking the {seam} seam"):
        names = _names(seam, impl, against)
        run = Run(
            *(seam, names, golden, case),
            Limits(timeout, parse_bytes(memory_limit) or memory_share(workers), give_up),
            tuple(xfails or ()),
            jobs=workers,
            narrow=narrowed(seam, words, last_failed=last_failed, failed_first=failed_first),
        )
        planned = run.assigned() if extra is None else [("", run.cases(extra))]
    if keep is not None:
        chosen = {case.id: case for _, cases in planned for case in cases}
        for line in keep_case([*chosen.values()], keep):
            error_console().print(f"kept: {line}", markup=False, soft_wrap=True)
    recorded = recording() if record else None
    with _folder_of_tables(wanted=record) as tables:
        outcomes = run.check() if extra is None else run.extra_pass(extra, _keeper(tables))
        given = ["--golden", str(golden)] if golden else []
        total = sum(len(cases) for _, cases in planned)
        with Progress(f"checking the {seam} seam", None if extra else total) as progress:
            seen = (
                _as_lines(outcomes, progress)
                if as_json
                else show_outcomes(outcomes, progress, given)
            )
        if junit is not None:
            _write_junit(junit, seam, seen)
        for name in run.stated:
            remember(seam, name, seen)
        if not as_json:
            show_end(seam, seen, run.cases() if impl and case is None else (), run.stated)
        _require_verdicts(seen, names if impl else (), run)
        _require_answers(seen, () if extra or case or words or last_failed else names)
        if recorded is not None:
            _record(recorded, run, extra, seen, results, tables)
    _write_digests(run.known if write_digests else (), seen)
    if any(outcome.failed for outcome in seen):
        raise typer.Exit(1)


def _require_choice_of_a_check(extra: str | None, *of_a_check: str | bool | None) -> None:
    if extra is not None and any(of_a_check):
        raise UsageError(
            "-k, --last-failed, --failed-first and --write-digests are about cases of a check, not "
            "of an extra pass"
        )


def _check_finding(name: str, impl: Sequence[str] | None, *, as_json: bool) -> None:
    from seambench.cli.checks.finding import check_finding

    if impl is not None and len(impl) > 1:
        raise UsageError("--finding asks one implementation")
    check_finding(name, impl[0] if impl else None, as_json=as_json)


def _write_digests(files: Sequence[Xfails], seen: Sequence[Outcome]) -> None:
    from seambench.conformance.xfails import write_digests

    for file in files:
        changed = write_digests(file, seen)
        error_console().print(
            f"{file.source}: {counted(changed, 'entry')} changed", markup=False, soft_wrap=True
        )


def _record(
    recorded: Recording,
    run: Run,
    extra: str | None,
    seen: Sequence[Outcome],
    results: Path,
    tables: Path | None,
) -> None:
    """Write down what came of a check or of an extra pass."""
    if extra is None:
        write_outcomes(recorded, seen, results)
    elif not write_varied(run.cases(extra), seen, results):
        write_outcomes(recorded, _of_pairs(seen, extra), results, tables)


@contextmanager
def _folder_of_tables(*, wanted: bool) -> Iterator[Path | None]:
    """Where misread tables lie until there are records; None where nothing is recorded."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="seambench-misread-") as folder:
        yield Path(folder)


def _keeper(tables: Path | None) -> Keep | None:
    """What keeps misread tables until there are records; None where nothing is recorded."""
    from seambench.records.misread import pack

    if tables is None:
        return None
    return lambda name, case, table: pack(table, tables / name, case)


def _names(seam: str, impl: Sequence[str] | None, against: str | None) -> list[str]:
    """The implementations to check, or the pairs that they make with another."""
    from seambench.contracts import registry
    from seambench.contracts.peers.catalogue import versions_of

    named = [one for name in impl or () for one in versions_of(seam, name)]
    names = named or registry.names(seam, without=("variant",))
    if not names:
        raise UsageError(f"no implementation of the {seam} seam is announced; name one with --impl")
    if against is None:
        return names
    pairs = registry.find_seam(seam).pair_names
    return [pair for name in names for pair in pairs(name, against)]


def _of_pairs(seen: Sequence[Outcome], extra: str) -> list[Outcome]:
    """What an extra pass found about pairs; of one implementation alone the check itself tells."""
    from seambench.contracts.registry import PAIR

    pairs = [one for one in seen if PAIR in one.implementation]
    if not pairs:
        raise UsageError(f"--record: the pass {extra} is about no pairs, so nothing was recorded")
    return pairs


def _require_verdicts(seen: Sequence[Outcome], named: Sequence[str], run: Run) -> None:
    """Each implementation that was named must have been judged in some case, else any."""
    judged = {name for outcome in seen if outcome.is_verdict for name in _sides(outcome)}
    silent = [name for name in named if name not in judged]
    if judged and not silent:
        return
    name = silent[0] if silent else "any implementation"
    about = [one for one in seen if not silent or name in _sides(one)]
    reasons = Counter(one.reason for one in about).most_common(1)
    reason, most = reasons[0] if reasons else ("none of them has a place in it", 0)
    if silent and any(one.outcome == "unavailable" for one in about):
        # Why was shown above, or is in the JSON: it may be a text of pip's.
        raise SeambenchError(f"{name} is unavailable, so there is no verdict")
    if run.stated.get(name) == frozenset():
        reason = "it states no capability"
    elif silent and most < len(about):
        reason = f"what it states is enough for none of {counted(len(about), 'case')}"
    door = f"; {_where_stated(run.seam, name)}" if ":" in name else ""
    raise SeambenchError(f"no case was put to {name}, so there is no verdict: {reason}{door}")


def _where_stated(seam: str, name: str) -> str:
    """Where an implementation from outside says what it can do."""
    from seambench.contracts.registry import find_seam, module_file
    from seambench.contracts.seam import Seam

    file = module_file(seam, name)
    if file is None:
        return "a reader states its capabilities in NAME.seambench.json beside it (docs/doors.md)"
    if type(find_seam(seam)).wrap is Seam.wrap:
        return "a class states them in its attribute `capabilities`"
    return (
        f"a function states its own in {file.with_suffix('.seambench.json')}, such as "
        '{"capabilities": {"formats.delta": true, "query.snapshot": true}}, a class in its '
        "attribute `capabilities` (docs/doors.md)"
    )


def _require_answers(seen: Sequence[Outcome], named: Sequence[str]) -> None:
    """Who was put to all cases of a seam must have been asked for more than refusals."""
    for name in named:
        judged = [one for one in seen if one.is_verdict and one.implementation == name]
        if judged and all(one.must_refuse for one in judged):
            raise SeambenchError(
                f"{name}: what it states is enough for {counted(len(judged), 'case')} that "
                "must be refused and for none that has an answer, so there is no verdict; state "
                "more capabilities"
            )


def _sides(outcome: Outcome) -> list[str]:
    """The implementation of an outcome, and those of which it is a pair."""
    return [outcome.implementation, *re.split(" -> | = ", outcome.implementation)]


def _as_lines(outcomes: Iterable[Outcome], progress: Progress) -> list[Outcome]:
    seen = []
    for outcome in outcomes:
        progress.now(f"{outcome.implementation}: {outcome.case}")
        progress.advance()
        with progress.aside():
            print_json({"schema": JSON_SCHEMA, **outcome.to_json()})
        seen.append(outcome)
    return seen


def _require_writable(file: Path | None) -> None:
    """Tell before a run, which may be long, that a file could not be written after it."""
    if file is None:
        return
    was_there = file.exists()
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("ab").close()
    if not was_there:
        file.unlink()


def _write_junit(file: Path, seam: str, outcomes: Sequence[Outcome]) -> None:
    from seambench.records.junit import JUnitCase, Tag, junit

    suites: dict[str, list[JUnitCase]] = {}
    for one in outcomes:
        tag: Tag = "" if one.outcome == "pass" else "skipped"
        if one.failed:
            tag = "error" if one.outcome in ("error", "crash", "timeout") else "failure"
        case = JUnitCase(one.case, tag, one.outcome, f"{one.outcome}: {one.said}", one.seconds)
        suites.setdefault(one.implementation, []).append(case)
    with writing(file):
        file.write_text(junit(f"seambench {seam}", suites), encoding="utf-8")
