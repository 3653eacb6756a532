"""Golden Delta tables: what their declarations hold, and what a reader needs for one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seambench.conformance.strict import build

__all__ = ["TableSpec", "load_table"]


@dataclass(frozen=True)
class TableSpec:
    """What a golden table is and how it came to be.

    Attributes:
        columns: its latest schema, with the types of cases (`seambench.conformance.plain`).
        steps: statements of Spark's SQL; the table is called `golden`, `{path}` is its folder.
        partition: its partition columns.
        settings: of the Spark session, and of the Parquet writer, for all steps.
    """

    name: str
    note: str
    columns: Mapping[str, str]
    steps: Sequence[str]
    partition: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


def load_table(folder: Path, file: Path | None = None) -> TableSpec:
    """Read what a golden table is.

    Args:
        folder: of the table.
        file: its `table.toml`; None for the one in the folder.

    Raises:
        UsageError: an unknown or missing key.
    """
    file = file or folder / "table.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    spec: TableSpec = build(TableSpec, {**data, "name": folder.name}, file)
    return spec
