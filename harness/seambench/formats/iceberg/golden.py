"""Golden Iceberg tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step, and
the metadata file that was the newest then.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seambench.formats.steps import SteppedTable, load_stepped
from seambench.formats.steps import stepped_needs as needs

__all__ = ["TableSpec", "load_table", "needs", "settle"]


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Iceberg table is and how it came to be.

    Its steps are statements of Spark's SQL, in which `{table}` is the table, `{name}` its name
    within the catalog `{catalog}` and `{path}` its folder; or a table of arguments for one of the
    operations of `seambench.formats.iceberg.java`, whose name is under `op`.
    """


def load_table(folder: Path, file: Path | None = None) -> TableSpec:
    """Read what a golden table is; see `seambench.formats.steps.load_stepped`."""
    return load_stepped(TableSpec, "Iceberg", folder, file)


def settle(table: Path) -> None:
    """Nothing: an archive holds all that counts."""
    del table
