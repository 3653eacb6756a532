"""Golden Delta tables: what their declarations hold, what a reader needs, what edits may name.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from seambench.formats.steps import PlainDamage, SteppedGolden, SteppedTable

#: The folder of a golden table while it is written.
_WRITTEN_AT = re.compile(r"file:/+(?:[^\"/]+/)+golden-delta/[^\"/]+/")


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Delta table is and how it came to be.

    Its steps are statements of Spark's SQL; the table is called `golden`, `{path}` is its folder.
    A step `{ compact_log = [FIRST, LAST] }` puts the commits of these versions together in one file
    of the log. Its settings are those of the Parquet writer, too.
    """

    # the version of Delta that writes it, where it is not the default one; 4.0.0 takes an
    # environment with Spark 4
    writer: str = ""
    # the step with whose commit the change feed begins that Spark reads after it and each later
    # step, for the witness; None for none
    feed_from: int | None = None
    # expressions of Spark, by name, that are read beside the columns
    hidden: Mapping[str, str] = field(default_factory=dict)
    hidden_from: int = 1  # the first step after which they can be read


def settle(table: Path) -> None:
    """Make a table that was moved what it was where it was written.

    The files of commits are dated as their commitInfo says, in which time travel by time believes.
    Absolute addresses of files below the table follow it, as in the log of a clone of a table that
    lies within its own folder; checkpoints, which repeat them, are left out then.
    """
    log = table / "_delta_log"
    for file in sorted(log.glob("[0-9]*.*")):
        if file.suffix not in (".json", ".crc"):
            continue
        text = file.read_text(encoding="utf-8")
        moved = _WRITTEN_AT.sub(f"file:{table}/", text)
        if moved != text:
            file.write_text(moved, encoding="utf-8")
            for checkpoint in [*log.glob("*.checkpoint.*"), *log.glob("_last_checkpoint")]:
                checkpoint.unlink()
        millis = _stated_millis(file) if file.suffix == ".json" else None
        if millis is not None:
            os.utime(file, ns=(millis * 1_000_000, millis * 1_000_000))


def _stated_millis(file: Path) -> int | None:
    for line in file.read_text(encoding="utf-8").splitlines():
        action: Mapping[str, Any] = json.loads(line)
        if "commitInfo" in action:
            return int(action["commitInfo"]["timestamp"])
    return None


GOLDEN = SteppedGolden(TableSpec, "Delta", settle)


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
