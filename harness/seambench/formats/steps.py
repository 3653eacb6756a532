"""Declarations of golden tables whose steps are carried out one by one, without variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from seambase.errors import UsageError
from seambench.contracts.data_files import build
from seambench.contracts.tables import CommitRequest
from seambench.formats.golden import read_declaration


@dataclass(frozen=True)
class SteppedTable:
    """What a golden table is and how it came to be.

    Attributes:
        columns: its latest schema, with the types of cases (`seambench.conformance.plain`).
        steps: what is done, in the words of the table's format.
        partition: its partition columns, where they are columns.
        features: words of capabilities that reading it takes.
        settings: of the Spark session, for all steps.
        recipe: the program that made the table where Spark did not: a module, its steps told in
            words; empty for Spark.
    """

    name: str
    note: str
    columns: Mapping[str, str]
    steps: Sequence[Any]
    partition: Sequence[str] = ()
    features: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    recipe: str = ""


_Table = TypeVar("_Table", bound=SteppedTable)


def load_stepped(kind: type[_Table], title: str, folder: Path, file: Path | None) -> _Table:
    """Read what a golden table is; `title` is the format's, for messages."""

    def variant(name: str, file: Path) -> Mapping[str, Any]:
        raise UsageError(f"{file}: golden {title} tables have no variants, such as {name!r}")

    file, data = read_declaration(folder, file, variant)
    spec: _Table = build(kind, data, file)
    return spec


def stepped_needs(spec: SteppedTable, request: CommitRequest) -> list[str]:
    """Its features, and partitions."""
    del request
    return [*spec.features, *(["partitioned"] if spec.partition else [])]
