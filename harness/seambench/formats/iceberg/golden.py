"""Golden Iceberg tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step, and
the metadata file that was the newest then.
"""

from __future__ import annotations

from dataclasses import dataclass

from seambench.formats.steps import SteppedGolden, SteppedTable


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Iceberg table is and how it came to be.

    Its steps are statements of Spark's SQL, in which `{table}` is the table, `{name}` its name
    within the catalog `{catalog}` and `{path}` its folder; or a table of arguments for one of the
    operations of `seambench.formats.iceberg.java`, whose name is under `op`.
    """


GOLDEN = SteppedGolden(TableSpec, "Iceberg")
