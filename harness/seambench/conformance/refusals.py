"""What must be refused: by which exceptions, and in which words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from seambase import errors
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import CrashError, Mismatch, ProtocolError, TimedOutError

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
def told_as_mismatch() -> Iterator[None]:
    """A refusal where an answer is expected is a wrong one of whoever claims to offer it."""
    try:
        yield
    except NO_REFUSAL:
        raise
    except errors.SeambenchError as error:
        text = f"refused what it offers: {type(error).__name__}: {error}"
        raise Mismatch(text, refusal=True) from error
