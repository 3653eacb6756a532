"""The verdict on one case, for all seams alike: capabilities, refusals, answers and memory.

What must be refused: by which exceptions, and in which words.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from seambase import errors
from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambase.wording import counted
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import (
    CrashError,
    Difference,
    Mismatch,
    NotOffered,
    ProtocolError,
    TimedOutError,
    Word,
)
from seambench.contracts.registry import find_seam
from seambench.contracts.seam import Case, Seam


class Verdict(NamedTuple):
    """What came of a case; see `seambench.contracts.outcomes.Outcome`."""

    word: Word
    reason: str = ""
    difference: Difference | None = None
    refusal: bool = False
    answer: int = 0


def verdict(case: Case, implementation: Any) -> Verdict:
    """Put a case to an implementation."""
    seam = find_seam(case.seam)
    return outcome_of(lambda: _judge(seam, case, implementation))


def outcome_of(check: Callable[[], int | None]) -> Verdict:
    """Run a check, which may tell the right answer that came of several."""
    try:
        answer = check()
    except NotOffered as reason:
        return Verdict("not-offered", str(reason))
    except Mismatch as reason:
        return Verdict("fail", str(reason), reason.difference, reason.refusal)
    except ProtocolError as reason:
        return Verdict("fail", str(reason))
    except UnavailableError as reason:
        return Verdict("unavailable", str(reason))
    except CrashError as reason:
        return Verdict("crash", str(reason))
    except TimedOutError as reason:
        return Verdict("timeout", str(reason))
    except Exception as error:  # whatever a foreign implementation raises
        return Verdict("error", f"{type(error).__name__}: {error}")
    return Verdict("pass", answer=answer or 0)


def missing_capability(case: Case, stated: Mapping[str, bool]) -> str | None:
    """The first capability that a case needs and an implementation does not state."""
    return next((need for need in case.needs if not stated.get(need)), None)


def lacked(case: Case, stated: Mapping[str, bool]) -> str:
    """The capability for lack of which a case is not put; empty if it is.

    What one may meet without being asked for it is put to those, too, who do not state it.
    """
    lacks = [need for need in case.needs if not stated.get(need)]
    return lacks[0] if any(need not in case.must_honour for need in lacks) else ""


def _judge(seam: Seam, case: Case, implementation: Any) -> int | None:
    if lack := lacked(case, implementation.capabilities):
        raise NotOffered(f"no {lack}")
    case.prepare()
    missing = missing_capability(case, implementation.capabilities)
    held = _held(implementation)
    answer = None
    if missing is not None:
        answer = _must_not_be_wrong(seam, case, implementation, missing)
    elif case.refused:
        with must_refuse(case.refused, case.says, implementation.kind):
            seam.attempt(case, implementation)
    else:
        with as_mismatch():
            answer = seam.check(case, implementation)
    # Young objects first: a collection of all looks at every case that was loaded.
    for generation in range(3):
        if _held(implementation) > held:
            gc.collect(generation)
    if (still := _held(implementation) - held) > 0:
        raise Mismatch(f"{counted(still, 'block')} of memory still held afterwards")
    return answer


def _must_not_be_wrong(seam: Seam, case: Case, implementation: Any, missing: str) -> int | None:
    """Whoever does not offer what a case needs may refuse it or be right, but never wrong."""
    # What comes in from outside says that it refuses, not in which of our words.
    refusals = SeambenchError if implementation.kind == "peer" else RefusedError
    try:
        with as_mismatch():
            if not case.refused:
                return seam.check(case, implementation)
            seam.attempt(case, implementation)
    except Mismatch as problem:
        if isinstance(problem.__cause__, refusals):
            raise NotOffered(f"no {missing}; refused as it must be") from problem
        text = f"{missing} is not offered, yet it answers wrongly: {problem}"
        raise Mismatch(text, problem.difference, refusal=problem.refusal) from problem
    raise Mismatch(f"{missing} is not offered, and what must be refused was answered")


def _held(implementation: Any) -> int:
    """Blocks of memory that an implementation holds; 0 from one that does not count."""
    count = getattr(implementation, "live_blocks", None)
    return 0 if count is None else int(count())


#: Errors that say nothing about the question: no peer here, or a program that broke down.
NO_REFUSAL = (errors.UnavailableError, CrashError, TimedOutError, ProtocolError)


@contextmanager
def must_refuse(refused: Sequence[str], says: Sequence[str], kind: Kind) -> Iterator[None]:
    """The block must raise one of the exceptions named, and its message say the words.

    A peer says that it refuses, not in which of our words.
    """
    accepted = tuple(getattr(errors, name) for name in refused)
    if kind == "peer":
        accepted = (errors.InputError, errors.RefusedError, errors.UsageError)
    try:
        yield
    except NO_REFUSAL:
        raise
    except accepted as error:
        for word in says:
            if word not in str(error) and kind != "peer":
                text = f"the refusal does not name {word!r}: {error}"
                raise Mismatch(text, refusal=True) from error
        return
    except errors.SeambenchError as error:
        text = f"{type(error).__name__} instead of {' or '.join(refused)}: {error}"
        raise Mismatch(text, refusal=True) from error
    expected = "a refusal" if kind == "peer" else " or ".join(refused)
    raise Mismatch(f"{expected} expected, but nothing was refused")


@contextmanager
def as_mismatch() -> Iterator[None]:
    """A refusal where an answer is expected is a wrong one of whoever claims to offer it."""
    try:
        yield
    except NO_REFUSAL:
        raise
    except errors.SeambenchError as error:
        text = f"refused what it offers: {type(error).__name__}: {error}"
        raise Mismatch(text, refusal=True) from error
