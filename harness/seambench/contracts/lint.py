"""What is wrong with a table by its format's specification, whoever reads it.

A format that can tell names the function in `TableFormat.lint`. It shares no code with the readers
that a verdict on a table stands on, so that a mistake there is not made here again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from seambench.contracts.common import Level

Lint = Callable[[Path], Iterator["Fault"]]
"""Of a table's folder, what is wrong with the table as it now is."""


@dataclass(frozen=True)
class Fault:
    """One place of a table that breaks a rule.

    Attributes:
        rule: name of the rule, which begins with that of what states it: `delta.stats.max-values`.
        source: where the rule stands: document and section.
        place: the file, below the table's folder, and the field in it.
        says: one sentence: what stands there, and what it must be.
        level: `must` where the specification demands it, or readers lose or change rows; `should`
            where it recommends it.
    """

    rule: str
    source: str
    place: str
    says: str
    level: Level = "must"
