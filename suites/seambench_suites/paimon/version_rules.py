"""Random tables of Paimon in the differential: how the core is asked, and its versions' own rules.

The core writes a table and reads it after each step; a reader is asked for the snapshot of each.
What a version does by rules of its own is listed in `versions.toml`.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from seambench.contracts.scan import ScanRequest
from seambench.contracts.tables import Written
from seambench.formats.paimon.golden import TableSpec
from seambench.formats.paimon.writer import write_table
from seambench_suites.paimon.random_functions import UNORDERED
from seambench_suites.paimon.random_tables import Step

_OUT_OF_ORDER = 0x10
_LISTED = Path(__file__).with_name("versions.toml")


def table_of(seed: int, steps: Sequence[Step], core: str) -> TableSpec:
    """The declaration of a random table that a version of the core writes."""
    return TableSpec(f"random-{seed}", "random", {}, steps, core=core)


def write_steps(session: Any, spec: TableSpec, table: Path, *, lenient: bool = False) -> Written:
    """Carry out all steps; what the core reads before the first snapshot nobody can ask for later.

    `lenient` keeps what was noted before a step that failed.
    """
    done = write_table(session, spec, table, lenient=lenient)
    begun = sum(not instant for instant in done.instants)
    done.witness = [{"step": n, **one} for n, one in enumerate(done.witness, 1)][begun:]
    done.instants, done.completions = done.instants[begun:], done.completions[begun:]
    return done


def scan_request(table: Path, answer: Mapping[str, Any]) -> ScanRequest:
    """The table as the core read it."""
    return ScanRequest(str(table), as_of=answer["instant"], strict=True)


def why_otherwise(
    version: str, target: Path, _number: int, answer: Mapping[str, Any], _own: object
) -> str | None:
    """Why a version reads a table otherwise after a step; see `RandomFormat`."""
    spec = json.loads((target / "spec.json").read_text(encoding="utf-8"))
    return reason(version, spec["steps"][: answer["step"]])


def reason(version: str, life: Sequence[Step]) -> str | None:
    """Why a version reads a table otherwise by its own rules; None if nothing is listed."""
    first, *later = life
    names = ["kind", *first["create"]]
    begun: dict[Any, str] = {}
    for step in later:
        for row in step.get("write", ()):
            key = tuple(row[names.index(name)] for name in first["keys"])
            begun.setdefault(key, row[0])
    retract_first = any(kind.startswith("-") for kind in begun.values())
    options = [f"{name}={value}" for name, value in first["options"].items()]
    for one in tomllib.loads(_LISTED.read_text(encoding="utf-8"))["difference"]:
        has_option = any(fnmatchcase(option, one["option"]) for option in options)
        applies = has_option and (retract_first or not one.get("begins_with_retract"))
        if applies and one["version"] == version:
            return " ".join(str(one["reason"]).split())
    return None


def in_order(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Rows in order, and in them the items of columns that keep none."""
    found = []
    for row in rows:
        values = []
        for name, text in zip(names, row, strict=True):
            in_order = text
            if name in UNORDERED and text.startswith("["):
                items = re.findall(r"\[[^\[\]]*\]|\{[^{}]*\}|[^,\[\]{}]+", text[1:-1])
                in_order = ",".join(sorted(items))
            elif text.startswith("bytes:"):
                in_order = _without_estimate(ast.literal_eval(text.removeprefix("bytes:")))
            values.append(in_order)
        found.append(values)
    return sorted(found)


def _without_estimate(data: bytes) -> str:
    """Digits of bytes; of a sketch of registers out of order without the estimate it does not use.

    Java leaves a number there that depends on what came when, and C++ a zero.
    """
    is_sketch = data[:3] == b"\x0a\x01\x07" and len(data) >= 40
    if is_sketch and data[5] & _OUT_OF_ORDER:
        data = data[:8] + bytes(8) + data[16:]
    return data.hex()
