"""What the contracts of all seams share: kinds of implementations, and steps that can be timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["reference", "native", "peer", "variant"]
"""A variant is another way to run an implementation; suites ask it only where it is named."""

Level = Literal["must", "should"]
"""Of a case: a wrong answer to a `must` fails the run; of a `should` it is shown and counted."""


@dataclass(frozen=True)
class Stage:
    """One step of a seam over one batch, ready to be timed in one thread.

    Attributes:
        name: the same word for the same work in every implementation, e.g. `presto/serialize` or
            `arrow-to-table`.
        run: does the step once and returns what came of it.
        rows: the rows that a result of `run` stands for, as batch or table; not timed. They are
            compared with those that went in.
        bytes: of the buffers that one pass moves, uncompressed. None: all buffers of the batch.
        passes: how often one run does the step; times are divided by it. For steps in another
            language, where a call from here would cost more than the step.
    """

    name: str
    run: Callable[[], Any]
    rows: Callable[[Any], pa.RecordBatch | pa.Table]
    bytes: int | None = None
    passes: int = 1


OVER = "over"
"""Of the parts of a timing the one that its case does not tell."""


@dataclass(frozen=True)
class TimedFamily:
    """How the page shows timings whose cases begin with one word.

    Attributes:
        prefix: that word, the first part of the cases: `exchange-workers`.
        title: for people.
        parts: what the further parts of a case are, in order; the last is a number of rows, unless
            it is a way. `OVER`, the last, stands in no case: it is what the rows are called.
        ways: those of them that compete with each other; none: implementations do.
        note: what was measured, in a sentence.
        moves: the bytes of an answer are those that were moved, so that there are speeds; else
            times are shown.
    """

    prefix: str
    title: str
    parts: Sequence[str] = ()
    ways: Sequence[str] = ()
    note: str = ""
    moves: bool = True


@runtime_checkable
class Staged(Protocol):
    """An implementation of any seam whose steps `seambench throughput` can time."""

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """Get everything ready that is not part of the steps themselves.

        Raises:
            seambase.errors.RefusedError: a column of the batch is not supported.
            seambase.errors.UnavailableError: this machine lacks what the steps need.
        """
