"""Which cases a check puts to an implementation, and in which order."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from seambase.errors import UsageError
from seambase.written import cache_folder, whole_folder
from seambench.contracts.outcomes import Outcome
from seambench.contracts.registry import find_seam
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


def _file(seam: str, name: str) -> Path:
    """One file for each folder from which an implementation is checked: `cmd:./reader` is its."""
    key = "\0".join((str(Path.cwd()), seam, name))
    return cache_folder() / "failed" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def failed_last(seam: str, name: str) -> list[str]:
    """Ids of the cases that failed last; none where nothing is remembered."""
    with contextlib.suppress(OSError, ValueError):
        ids = json.loads(_file(seam, name).read_text(encoding="utf-8"))
        if isinstance(ids, list):
            return [str(id_) for id_ in ids]
    return []


def remember(seam: str, name: str, outcomes: Iterable[Outcome]) -> None:
    """Keep which cases fail now; those that were not asked this time stay as they were.

    A folder that cannot be written is passed over: nothing is lost but this convenience.
    """
    seen = {one.case: one.failed for one in outcomes if one.implementation == name}
    kept = [id_ for id_ in failed_last(seam, name) if id_ not in seen]
    failed = kept + [id_ for id_, bad in seen.items() if bad]
    file = _file(seam, name)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(failed), encoding="utf-8")


def keep_case(cases: Sequence[Case], folder: Path) -> Sequence[str]:
    """Leave what a single case reads in a new folder; a line for each thing one can do with it."""
    if len(cases) != 1:
        raise UsageError(
            f"--keep is for one case, but {len(cases):,} are chosen: name it by --case"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and not empty")
    [case] = cases
    if folder.is_dir():
        folder.rmdir()
    with whole_folder(folder):
        return find_seam(case.seam).keep(case, folder)
