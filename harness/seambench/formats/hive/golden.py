"""Golden Hive tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Hive's own classes read, within Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seambench.formats.steps import SteppedGolden, SteppedTable

DESCRIPTOR = "_hive_table.json"
"""The file in a table's folder that says in place of a metastore what the table is."""


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Hive table is and how it came to be.

    A step is a statement of Spark's SQL, where the table is called `golden` and `{path}` is its
    folder, or a file that is put there: `path` in the folder, and `text` or `hex`.

    Attributes:
        descriptor: what stands in the table's descriptor.
        witnessed: whether Spark's Hive classes follow all that the declaration says; if not, the
            cases state their source.
    """

    descriptor: Mapping[str, Any] = field(default_factory=dict)
    witnessed: bool = True


GOLDEN = SteppedGolden(TableSpec, "Hive")
