"""What edits name in Delta tables: commits, checkpoints, sidecars, data files and vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from seambench.formats.plain_damage import PlainDamage


def _in_log(pattern: str, table: Path) -> Sequence[Path]:
    files = (table / "_delta_log").iterdir()
    return [file for file in files if re.fullmatch(pattern, file.name)]


def _sidecars(table: Path) -> Sequence[Path]:
    return list((table / "_delta_log" / "_sidecars").glob("*.parquet"))


def _outside(pattern: str, table: Path) -> Sequence[Path]:
    files = table.rglob(pattern)
    return [file for file in files if "_delta_log" not in file.relative_to(table).parts]


#: Kinds of files that edits name; `commit:1` is the commit of version 0.
FILES: Mapping[str, Callable[[Path], Sequence[Path]]] = {
    "commit": partial(_in_log, r"\d{20}\.json"),
    "checkpoint": partial(_in_log, r"\d{20}\.checkpoint\..*"),
    "sidecar": _sidecars,
    "data": partial(_outside, "*.parquet"),
    "vector": partial(_outside, "deletion_vector_*.bin"),
}

DAMAGE = PlainDamage(FILES)
