"""Golden Hive tables: what their declarations hold, what a reader needs, what edits may name.

Beside archive and origin a table has `witness.json`: what Hive's own classes read, within Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seambench.formats.steps import PlainDamage, SteppedGolden, SteppedTable

DESCRIPTOR = "_hive_table.json"
"""The file in a table's folder that says in place of a metastore what the table is."""


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Hive table is and how it came to be.

    A step is a statement of Spark's SQL, where the table is called `golden` and `{path}` is its
    folder, or a file that is put there: `path` in the folder, and `text` or `hex`.
    """

    # what stands in the table's descriptor
    descriptor: Mapping[str, Any] = field(default_factory=dict)
    # whether Spark's Hive classes follow all that the declaration says; if not, the cases state
    # their source
    witnessed: bool = True


GOLDEN = SteppedGolden(TableSpec, "Hive")


def _data_files(table: Path) -> Sequence[Path]:
    files = (file for file in table.rglob("*") if file.is_file())
    hidden = ("_", ".")
    return [
        file
        for file in files
        if not any(part.startswith(hidden) for part in file.relative_to(table).parts)
    ]


#: Kinds of files that edits name.
FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {"data": _data_files}

DAMAGE = PlainDamage(FILES)
