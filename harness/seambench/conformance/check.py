"""Running the cases of a seam over implementations: one outcome per pair."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path

from seambase.errors import UsageError
from seambench.conformance.cases import load_cases
from seambench.conformance.isolate import Isolated
from seambench.conformance.xfails import Xfails, load_xfails
from seambench.contracts.outcomes import FAILING, WORDS, Outcome

__all__ = ["FAILING", "WORDS", "Outcome", "choose_cases", "run_checks"]


def run_checks(
    seam: str,
    implementations: Sequence[str],
    golden: Path | None = None,
    cases: Sequence[str] | None = None,
    timeout: float = 60.0,
    xfails: Sequence[Path] = (),
    root: Path | None = None,
) -> Iterator[Outcome]:
    """Run every case of a seam for every implementation.

    Each implementation runs in a process of its own, so that a crash or a hang is an outcome.

    Args:
        seam: `column`, `scan`, `serde` or `exchange`.
        implementations: names as the registry takes them.
        golden: another folder of golden files (column and serde seam).
        cases: patterns of case ids (`scan/*/event/*`); None for all.
        timeout: seconds that a case may take.
        xfails: files of known failures (`seambench.conformance.xfails`), besides those that
            implementations
            name themselves.
        root: folder with `cases/` and `golden/`; None for the installed suite's.

    Yields:
        An outcome per implementation and case, in that order; last, an `error` for each stale entry
        of `xfails`.

    Raises:
        UsageError: a broken case or xfails file, or a pattern that matches nothing.
    """
    known = [case.id for case in load_cases(seam, root, golden)]
    chosen = choose_cases(known, cases)
    excuses = [load_xfails(file) for file in xfails]
    for name in implementations:
        with Isolated(seam, name, timeout) as process:
            own: list[Xfails] = []
            for case in chosen:
                outcome = process.run(case, root, golden)
                if process.xfails and not own:
                    own = [load_xfails(process.xfails)]
                    excuses += own
                yield _judge(outcome, excuses)
    for excuse in excuses:
        if excuse.implementation in implementations:
            yield from excuse.stale(seam, known)


def choose_cases(known: Sequence[str], patterns: Sequence[str] | None) -> list[str]:
    """Ids that match any of the patterns."""
    if patterns is None:
        return list(known)
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise UsageError(f"no case matches {pattern!r}")
    return [id_ for id_ in known if any(fnmatch.fnmatchcase(id_, p) for p in patterns)]


def _judge(outcome: Outcome, excuses: Sequence[Xfails]) -> Outcome:
    """The outcome after every xfails file had its say."""
    for excuse in excuses:
        outcome = excuse.judge(outcome)
    return outcome
