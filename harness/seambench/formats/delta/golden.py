"""Golden Delta tables: what their declarations hold, and what a reader needs for one.

Beside archive and origin a table has `witness.json`: what Spark itself read after each step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seambench.formats.steps import SteppedTable, load_stepped
from seambench.formats.steps import stepped_needs as needs

__all__ = ["TableSpec", "load_table", "needs", "settle"]


@dataclass(frozen=True)
class TableSpec(SteppedTable):
    """What a golden Delta table is and how it came to be.

    Its steps are statements of Spark's SQL; the table is called `golden`, `{path}` is its folder.
    Its settings are those of the Parquet writer, too.
    """


def load_table(folder: Path, file: Path | None = None) -> TableSpec:
    """Read what a golden table is; see `seambench.formats.steps.load_stepped`."""
    return load_stepped(TableSpec, "Delta", folder, file)


def settle(table: Path) -> None:
    """Date the files of commits as their commitInfo says, in which time travel by time believes."""
    for file in (table / "_delta_log").glob("[0-9]*.json"):
        millis = _stated_millis(file)
        if millis is not None:
            os.utime(file, ns=(millis * 1_000_000, millis * 1_000_000))


def _stated_millis(file: Path) -> int | None:
    for line in file.read_text(encoding="utf-8").splitlines():
        action: Mapping[str, Any] = json.loads(line)
        if "commitInfo" in action:
            return int(action["commitInfo"]["timestamp"])
    return None
