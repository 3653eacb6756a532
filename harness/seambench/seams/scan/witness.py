"""Who else knows the answer of a case: what the engine that wrote a golden table read of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from seambench.contracts.tables import CommitRequest
from seambench.formats.golden import GoldenTable


def recorded_rows(
    table: GoldenTable, request: CommitRequest, names: Sequence[str]
) -> list[list[str]] | None:
    """The rows that an engine read when the table was made, where just they are asked for.

    They are sorted rows of texts (`seambench.conformance.plain.canonical`) in the order of `names`;
    None where nobody recorded this answer. The table is without edits.
    """
    if request.where is not None or request.strict:
        return None
    steps = _steps(table.folder / "witness.json")
    if request.row_kinds:
        found = _window(table, request, steps)
    elif request.query == "snapshot":
        number = len(steps) if request.as_of is None else request.as_of
        found = steps[number - 1] if isinstance(number, int) and 0 < number <= len(steps) else {}
    else:
        return None
    if "rows" not in found or not set(names) <= set(found["columns"]):
        return None
    places = [found["columns"].index(name) for name in names]
    return sorted([row[place] for place in places] for row in found["rows"])


def _window(
    table: GoldenTable, request: CommitRequest, steps: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """What was read of the window of a request, by a step that asked for just that.

    Kinds of rows, in front of the others, are recorded as they are, and not with their type.
    """
    instants = table.origin.instants
    begin = "0" if request.begin is None else instants[request.begin - 1]
    end = instants[-1 if request.end is None else request.end - 1]
    for step, found in zip(table.spec.steps, steps, strict=False):
        asked = step.get("read", {}) if isinstance(step, Mapping) else {}
        compares = asked.get("incremental-between-scan-mode") == "diff"
        if asked.get("incremental-between") == f"{begin},{end}" and not compares:
            return {**found, "rows": [[f"str:{kind}", *row] for kind, *row in found["rows"]]}
    return {}


@cache
def _steps(file: Path) -> list[dict[str, Any]]:
    """What was read after each step; nothing where nobody did."""
    if not file.exists():
        return []
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found
