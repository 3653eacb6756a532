"""Tables that Spark and Delta wrote, unpacked from the suites' golden files, and their rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.formats.delta.golden import settle
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.golden_tables import unpack

_GOLDEN = SUITES_GOLDEN / "delta"


def delta_table_names() -> list[str]:
    """The names that `unpack_delta` knows."""
    return sorted(path.parent.name for path in _GOLDEN.glob("*/witness.json"))


def unpack_delta(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder, settled as for cases; returns that folder."""
    table = unpack(f"delta/{name}", folder / name)
    settle(table)
    return table


def commit_path(table: Path, version: int) -> Path:
    """The commit of a version."""
    return table / "_delta_log" / f"{version:020}.json"


def edit_actions(table: Path, version: int, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the actions of a commit one by one, in place."""
    path = commit_path(table, version)
    actions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        edit(action)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")


def rows_of_table(table: Path, **how: Any) -> pa.Table:
    """All rows of a table."""
    return DeltaTable(str(table)).scan(threads=1, **how).to_table()
