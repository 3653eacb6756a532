"""Where a version of Hudi answers about a random table by a rule of its own, and why.

Each rule is held against the rows: it is a reason only for a difference that it explains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["why_otherwise"]

Answer = Mapping[str, Any]
Rows = Sequence[Sequence[str]]

_PARTITIONS = ("str:x", "str:y", "NoneType:None")
"""What random tables have in the column `p`."""


def why_otherwise(
    version: str, target: Path, _number: int, answer: Answer, rows: Rows | None
) -> str | None:
    """Why a version answers otherwise than a reader; None if no rule of its own explains that.

    Args:
        version: of Hudi.
        target: what `write_tables` made of one seed.
        answer: Hudi's.
        rows: the reader's; None if it failed.
    """
    if answer["query"] != "incremental" or rows is None:
        return None
    if version == "1.0.2" and answer.get("begin") != "000":
        return "1.0.2 alone counts the commit at which a window begins in"
    place = answer["columns"].index("p")
    if any(row[place] not in _PARTITIONS for row in answer["rows"]):
        return (
            f"{version} takes columns of a partial update in a Parquet block for others, where the "
            "window has no whole row of the key: its values are such that nobody wrote"
        )
    more = [row for row in rows if row not in answer["rows"]]
    fewer = [row for row in answer["rows"] if row not in rows]
    if not fewer and "end" in answer and _changed_again(target, more):
        return (
            f"{version} reads a window whose instants are archived, or files cleaned, from the "
            "newest state, and leaves out rows that changed again after its end"
        )
    if not more and _lost(target, answer["columns"], fewer):
        return (
            f"{version} leaves older rows of a base file that the window rewrote out before it "
            "merges, and so hands out updates that lost against them"
        )
    return None


def _changed_again(target: Path, rows: Rows) -> bool:
    """Whether a table whose cleaner runs has none of these rows any more."""
    options = json.loads((target / "spec.json").read_text(encoding="utf-8"))["options"]
    if options.get("hoodie.clean.automatic") != "true":
        return False
    newest = [a["rows"] for a in _snapshots(target) if "as_of" not in a]
    return bool(newest) and all(row not in newest[0] for row in rows)


def _lost(target: Path, columns: Sequence[str], rows: Rows) -> bool:
    """Whether each of these rows met one with a greater ordering value, which a snapshot showed."""
    keys = json.loads((target / "spec.json").read_text(encoding="utf-8"))["keys"]
    own = [columns.index(name) for name in keys]
    ordering = columns.index("ts")
    older = [
        (dict(zip(answer["columns"], row, strict=True)))
        for answer in _snapshots(target)
        for row in answer["rows"]
    ]
    return all(
        any(
            [other[name] for name in keys] == [row[place] for place in own]
            and _number_of(other["ts"]) > _number_of(row[ordering])
            for other in older
        )
        for row in rows
    )


def _number_of(text: str) -> float:
    """An ordering value of an answer."""
    kind, _, value = text.partition(":")
    return {"int": float, "float": float.fromhex}[kind](value)


def _snapshots(target: Path) -> Iterator[Answer]:
    """What the writer showed of the table at any time."""
    for answer in json.loads((target / "witness.json").read_text(encoding="utf-8")):
        if answer["query"] == "snapshot" and "rows" in answer:
            yield answer
