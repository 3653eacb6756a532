"""Every producer's bytes read by every consumer, over the vectors of the serde cases.

A round trip within one implementation cancels out what it gets wrong twice; the bytes of one read
by another do not. Each implementation runs in a process of its own, and its memory is told before
and after.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.conformance.cases import default_root
from seambench.conformance.isolate import Isolated
from seambench.contracts.outcomes import FAILING, Word
from seambench.seams.serde.cases import SerdeCase, serde_cases

__all__ = ["Cell", "Matrix", "Memory"]


@dataclass(frozen=True)
class Cell:
    """What became of one vector between two implementations."""

    producer: str
    consumer: str
    case: str
    outcome: Word
    reason: str = ""

    @property
    def failed(self) -> bool:
        """Whether this cell fails the run."""
        return self.outcome in FAILING

    def to_json(self) -> dict[str, Any]:
        """The cell as one JSON object."""
        return asdict(self)


@dataclass
class Memory:
    """Memory of an implementation's process around a matrix.

    Attributes:
        blocks: live blocks before and after; None from one that does not count.
        rss_kib: memory of its process before and after.
    """

    blocks: tuple[int, int] | None = None
    rss_kib: tuple[int, int] = (0, 0)


@dataclass
class Matrix:
    """A run over implementations.

    Args:
        implementations: names as the registry takes them.
        patterns: of case ids; None for all.
        timeout: seconds that one step may take.
        root: folder with `cases/` and `golden/`; None for the installed suite's.
        golden: another folder of golden files.

    Attributes:
        memory: of each implementation that answered, known once `cells` is drained.
    """

    implementations: Sequence[str]
    patterns: Sequence[str] | None = None
    timeout: float = 60.0
    root: Path | None = None
    golden: Path | None = None
    memory: dict[str, Memory] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Run: a cell for each pair and vector.

        Raises:
            UsageError: no case matches a pattern.
        """
        chosen = self._chosen()
        with ExitStack() as stack:
            running = {
                name: stack.enter_context(Isolated("serde", name, self.timeout))
                for name in self.implementations
            }
            for case in chosen:
                for producer in running:
                    yield from self._row(case, producer, running)

    def _chosen(self) -> list[SerdeCase]:
        """Cases whose values can be written."""
        cases = serde_cases(self.root or default_root(), self.golden)
        writable = [c for c in cases if c.operation == "encode" and not c.expect.refused]
        if self.patterns is None:
            return writable
        found = [c for c in writable if any(fnmatch.fnmatchcase(c.id, p) for p in self.patterns)]
        if not found:
            raise UsageError(f"no case that can be written matches {self.patterns[0]!r}")
        return found

    def _row(
        self, case: SerdeCase, producer: str, running: Mapping[str, Isolated]
    ) -> Iterator[Cell]:
        """One producer's bytes before every consumer."""
        made = self._step(running[producer], producer, {"case": case.id, "do": "produce"})
        for consumer, process in running.items():
            if made["outcome"] != "pass":
                reason = f"not written: {made.get('reason', '')}"
                yield Cell(producer, consumer, case.id, made["outcome"], reason)
                continue
            asked = {"case": case.id, "do": "consume", "bytes": made["bytes"]}
            read = self._step(process, consumer, asked)
            yield Cell(producer, consumer, case.id, read["outcome"], read.get("reason", ""))

    def _step(self, process: Isolated, name: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """One request, and a note of the memory that its answer tells."""
        where = {"root": self.root, "golden": self.golden}
        answer = process.ask({**asked, **{k: str(v) if v else None for k, v in where.items()}})
        if "rss_kib" in answer:
            now, blocks = answer["rss_kib"], answer["blocks"]
            memory = self.memory.setdefault(name, Memory(None, (now, now)))
            memory.rss_kib = (memory.rss_kib[0], now)
            if blocks is not None:
                before = memory.blocks[0] if memory.blocks else blocks
                memory.blocks = (before, blocks)
        return answer
