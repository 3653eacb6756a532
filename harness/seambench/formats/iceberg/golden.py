"""Golden Iceberg tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step, and
the metadata file that was the newest then.
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
        steps: statements of Spark's SQL, in which `{table}` is the table, `{name}` its name within
            the catalog `{catalog}` and `{path}` its folder; or a table of arguments for one of the
            operations of `seambench.formats.iceberg.java`, whose name is under `op`.
        partition: its partition columns, where they are columns.
        features: words of capabilities that reading it takes.
        settings: of the Spark session, for all steps.
    """

    name: str
    note: str
    columns: Mapping[str, str]
    steps: Sequence[Any]
    partition: Sequence[str] = ()
    features: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


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
    """Nothing: an archive holds all that counts."""
    del table


def _variant(name: str, file: Path) -> Mapping[str, Any]:
    raise UsageError(f"{file}: golden Iceberg tables have no variants, such as {name!r}")
