"""Golden Paimon tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seambench.formats.steps import SteppedTable, load_stepped
from seambench.formats.steps import stepped_needs as needs

__all__ = ["TableSpec", "load_table", "needs", "settle"]


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Paimon table is and how it came to be.

    Its steps are statements of Spark's SQL, the table being called `golden`; or, where the core
    writes, tables (`seambench.formats.paimon.writer`).

    Attributes:
        core: version of Paimon's Java core if it is that which writes; empty for Spark.
    """

    core: str = ""


def load_table(folder: Path, file: Path | None = None) -> TableSpec:
    """Read what a golden table is; see `seambench.formats.steps.load_stepped`."""
    return load_stepped(TableSpec, "Paimon", folder, file)


def settle(table: Path) -> None:
    """Nothing: an archive holds all of a table."""
    del table
