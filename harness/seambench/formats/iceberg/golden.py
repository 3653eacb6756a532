"""Golden Iceberg tables: what their declarations hold, what a reader needs, what edits may name.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step, and
the metadata file that was the newest then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seambench.formats.steps import PlainDamage, SteppedGolden, SteppedTable


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Iceberg table is and how it came to be.

    Its steps are statements of Spark's SQL, in which `{table}` is the table, `{name}` its name
    within the catalog `{catalog}` and `{path}` its folder; or a table of arguments for one of the
    operations of `seambench.formats.iceberg.java`, whose name is under `op`.
    """


GOLDEN = SteppedGolden(TableSpec, "Iceberg")


def _below(folder: str, pattern: str, table: Path) -> Sequence[Path]:
    return list((table / folder).rglob(pattern))


def _manifests(table: Path) -> Sequence[Path]:
    return [file for file in _below("metadata", "*.avro", table) if "snap-" not in file.name]


def _data(table: Path) -> Sequence[Path]:
    return [file for file in _content(table) if "deletes" not in file.name]


def _deletes(table: Path) -> Sequence[Path]:
    """Files of deletes by name: Spark's end in `-deletes`, those of the Java API begin with it."""
    return [file for file in _content(table) if "deletes" in file.name]


def _content(table: Path) -> Sequence[Path]:
    endings = (".parquet", ".orc", ".avro")
    return [file for file in _below("data", "*", table) if file.suffix in endings]


#: Kinds of files that edits name; `metadata:1` is the first version of the metadata.
FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {
    "metadata": partial(_below, "metadata", "*.metadata.json"),
    "list": partial(_below, "metadata", "snap-*.avro"),
    "manifest": _manifests,
    "data": _data,
    "deletes": _deletes,
    "vectors": partial(_below, "data", "*.puffin"),
}

DAMAGE = PlainDamage(FILES)
