"""Golden Paimon tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.conformance.strict import build
from seambench.contracts.tables import CommitRequest
from seambench.formats.golden import read_declaration

__all__ = ["TableSpec", "load_table", "needs", "settle"]


@dataclass(frozen=True)
class TableSpec:
    """What a golden table is and how it came to be.

    Attributes:
        columns: its latest schema, with the types of cases (`seambench.conformance.plain`).
        steps: statements of Spark's SQL, the table being called `golden`; or, where the core
            writes, tables (`seambench.formats.paimon.core_writer`).
        partition: its partition columns.
        features: words of capabilities that reading it takes.
        settings: of the Spark session, for all steps.
        core: version of Paimon's Java core if it is that which writes; empty for Spark.
    """

    name: str
    note: str
    columns: Mapping[str, str]
    steps: Sequence[Any]
    partition: Sequence[str] = ()
    features: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    core: str = ""

    @property
    def writes(self) -> Sequence[Any]:
        """The steps."""
        return self.steps


def load_table(folder: Path, file: Path | None = None) -> TableSpec:
    """Read what a golden table is.

    Args:
        folder: of the table.
        file: its `table.toml`; None for the one in the folder.

    Raises:
        UsageError: an unknown or missing key, or variants, which there are none of.
    """
    file, data = read_declaration(folder, file, _variant)
    spec: TableSpec = build(TableSpec, data, file)
    return spec


def needs(spec: TableSpec, request: CommitRequest) -> list[str]:
    """Its features, and partitions."""
    del request
    return [*spec.features, *(["partitioned"] if spec.partition else [])]


def settle(table: Path) -> None:
    """Nothing: an archive holds all of a table."""
    del table


def _variant(name: str, file: Path) -> Mapping[str, Any]:
    raise UsageError(f"{file}: golden Paimon tables have no variants, such as {name!r}")
