"""What edits name in Paimon tables: snapshots, schemas, manifests, indexes and data files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from seambench.formats.plain_damage import PlainDamage


def _below(pattern: str, table: Path) -> Sequence[Path]:
    return [file for file in table.glob(pattern) if file.is_file()]


def _manifests(table: Path) -> Sequence[Path]:
    lists = ("manifest-list-", "index-manifest-")
    return [file for file in (table / "manifest").iterdir() if not file.name.startswith(lists)]


#: Kinds of files that edits name; `snapshot:1` is the first snapshot.
FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {
    "snapshot": partial(_below, "snapshot/snapshot-*"),
    "schema": partial(_below, "schema/schema-*"),
    "manifest": _manifests,
    "manifest-list": partial(_below, "manifest/manifest-list-*"),
    "index-manifest": partial(_below, "manifest/index-manifest-*"),
    "vectors": partial(_below, "index/index-*"),
    "data": partial(_below, "**/bucket-*/data-*"),
}

DAMAGE = PlainDamage(FILES)
