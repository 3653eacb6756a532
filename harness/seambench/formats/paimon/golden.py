"""Golden Paimon tables: what their declarations hold, what a reader needs, what edits may name.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seambench.formats.steps import PlainDamage, SteppedGolden, SteppedTable


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Paimon table is and how it came to be.

    Its steps are statements of Spark's SQL, the table being called `golden`; or, where the core
    writes, tables (`seambench.formats.paimon.writer`).
    """

    core: str = ""  # version of Paimon's Java core if it is that which writes; empty for Spark


GOLDEN = SteppedGolden(TableSpec, "Paimon")


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
