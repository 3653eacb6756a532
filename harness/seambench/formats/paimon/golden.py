"""Golden Paimon tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step.
"""

from __future__ import annotations

from dataclasses import dataclass

from seambench.formats.steps import SteppedGolden, SteppedTable


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Paimon table is and how it came to be.

    Its steps are statements of Spark's SQL, the table being called `golden`; or, where the core
    writes, tables (`seambench.formats.paimon.writer`).

    Attributes:
        core: version of Paimon's Java core if it is that which writes; empty for Spark.
    """

    core: str = ""


GOLDEN = SteppedGolden(TableSpec, "Paimon")
