"""What edits name in Iceberg tables: metadata files, manifest lists, manifests, data and deletes.

Which Parquet files hold deletes, their names tell: Spark's end in `-deletes`, those of the Java API
begin so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from seambench.formats.plain_damage import PlainDamage


def _below(folder: str, pattern: str, table: Path) -> Sequence[Path]:
    return list((table / folder).rglob(pattern))


def _manifests(table: Path) -> Sequence[Path]:
    return [file for file in _below("metadata", "*.avro", table) if "snap-" not in file.name]


def _data(table: Path) -> Sequence[Path]:
    return [file for file in _content(table) if "deletes" not in file.name]


def _deletes(table: Path) -> Sequence[Path]:
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
