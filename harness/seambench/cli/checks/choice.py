"""Which cases a check puts to an implementation, and in which order."""

from __future__ import annotations

from collections.abc import Callable

from seambase.errors import UsageError
from seambench.conformance.last_failures import failed_last
from seambench.contracts.seam import Case


def matches(expression: str, case: Case) -> bool:
    """Whether words occur in a case's id or rule: `merge and not v6 or delete`.

    `not` binds closest, then `and`, then `or`; there are no brackets, and case does not matter.
    """
    text = f"{case.id} {case.requirement}".lower()

    def holds(term: str) -> bool:
        negated = term == "not" or term.startswith("not ")
        word = term.removeprefix("not").strip() if negated else term
        if not word:
            raise UsageError(f"-k {expression!r}: write words with and, or, not between them")
        return (word in text) != negated

    either = f" {' '.join(expression.lower().split())} ".split(" or ")
    held = [[holds(term.strip()) for term in part.split(" and ")] for part in either]
    return any(map(all, held))


def narrowed(
    seam: str, words: str | None, *, last_failed: bool, failed_first: bool
) -> Callable[[str, list[Case]], list[Case]]:
    """What `Run.narrow` takes: cases by words (see `matches`), and by what failed last.

    Where none did, `last_failed` leaves all.
    """

    def narrow(name: str, cases: list[Case]) -> list[Case]:
        chosen = [case for case in cases if words is None or matches(words, case)]
        if not chosen:
            raise UsageError(f"no case has {words!r} in its id or rule")
        if not (last_failed or failed_first):
            return chosen
        failed = set(failed_last(seam, name))
        again = [case for case in chosen if case.id in failed]
        others = [case for case in chosen if case.id not in failed]
        return again if last_failed and again else again + others

    return narrow
