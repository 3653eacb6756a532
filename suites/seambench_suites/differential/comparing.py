"""Readers against what Spark answered about random tables."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from seambase.errors import SeambenchError
from seambench.conformance.plain import canonical, in_key_order, rows_of
from seambench.contracts.scan import Scanner, ScanRequest
from seambench_suites.differential.formats import Answer, RandomFormat

__all__ = ["COUNTED", "compare", "writers"]

COUNTED = {
    "tables": "written",
    "unwritten": "tables that the writer failed to make",
    "answers": "compared",
    "unanswered": "questions that no version answered with rows",
    "unasked": "answers to queries that the reader does not offer",
    "differences": "of the reader",
    "listed": "differences by a rule of one version alone",
}
"""What is counted."""


class _Truth(NamedTuple):
    """The answer that counts, others by version, and why this version may have its own."""

    answer: Answer
    others: Mapping[str, Answer]
    why: str | None


def compare(
    folder: Path, own: RandomFormat, scanner: Scanner, counts: Counter[str]
) -> Iterator[str]:
    """Every difference between a reader and Spark over the tables of a folder, as text.

    Where versions disagree the newest one counts that has no rule of its own. Differences that such
    a rule makes, and tables that could not be written, are told too, but are no differences.

    Args:
        folder: what `write_tables` made.
        own: their format.
        scanner: the reader.
        counts: receives how many there were of each of `COUNTED`.
    """
    for target in sorted(folder.iterdir()):
        unwritten = target / "unwritten.json"
        if unwritten.exists():
            counts["unwritten"] += 1
            error = json.loads(unwritten.read_text(encoding="utf-8"))["error"]
            yield f"{target.name}: not written: {error.splitlines()[0]}"
        if not (target / "witness.json").exists():
            continue
        counts["tables"] += 1
        for number, truth in enumerate(_truths(target, own), 1):
            if truth is None:
                counts["unanswered"] += 1
                continue
            request = own.request(target / "table", truth.answer)
            if not scanner.capabilities.get(f"query.{request.query}"):
                counts["unasked"] += 1
                continue
            counts["answers"] += 1
            problem = _differs(scanner, request, truth)
            if problem:
                counts["listed" if truth.why else "differences"] += 1
                asked = _asked(request)
                listed = f" (listed: {truth.why})" if truth.why else ""
                yield f"{target.name}, step {number}{asked}: {problem}{listed}"


def writers(folder: Path, own: RandomFormat) -> list[str]:
    """The packages that wrote the tables of a folder."""
    files = [*folder.glob("*/witness.json"), *folder.glob("*/unwritten.json")]
    return sorted({_writer(file.parent, own) for file in files})


def _writer(target: Path, own: RandomFormat) -> str:
    """The package that wrote a table."""
    origin = target / "origin.json"
    if not origin.exists():
        return own.package()
    return str(json.loads(origin.read_text(encoding="utf-8"))["writer"])


def _truths(target: Path, own: RandomFormat) -> Iterator[_Truth | None]:
    """To each question about a table the answer that counts, or None if none has rows."""
    by = _writer(target, own).rpartition(":")[2]
    files = {by: target / "witness.json"}
    files |= {file.stem.partition("-")[2]: file for file in target.glob("witness-*.json")}
    versions = sorted(files, key=_age, reverse=True)
    witnesses = [json.loads(files[version].read_text(encoding="utf-8")) for version in versions]
    spec = _spec(target)
    for number, answers in enumerate(zip(*witnesses, strict=True), 1):
        found = {v: a for v, a in zip(versions, answers, strict=True) if "rows" in a}
        reasons = {v: own.why_otherwise(v, spec, number, found[v]) for v in found}
        newest = next((v for v in found if not reasons[v]), next(iter(found), None))
        if newest is None:
            yield None
            continue
        others = {v: a for v, a in found.items() if v != newest}
        yield _Truth(found[newest], others, reasons[newest])


def _age(version: str) -> list[int]:
    """A version, to be put in order."""
    return [int(part) for part in version.split(".") if part.isdigit()]


def _spec(target: Path) -> Mapping[str, Any]:
    """A table's declaration."""
    file = target / "spec.json"
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _asked(request: ScanRequest) -> str:
    """What was asked beside the table, where it is not a snapshot."""
    words = {"query": request.query, "begin": request.begin, "end": request.end}
    if request.query == "snapshot":
        words = {}
    told = "".join(f" {name}={value}" for name, value in words.items() if value)
    return f" ({told.strip()})" if told else ""


def _differs(scanner: Scanner, request: ScanRequest, truth: _Truth) -> str | None:
    """How a reader's answer differs from Spark's, or None."""
    expected, names = truth.answer["rows"], truth.answer["columns"]
    try:
        scan = scanner.open(request)
        if scan.schema.names != names:
            return f"columns {scan.schema.names}, Spark has {names}"
        found = rows_of(scan.to_reader(), names)
        rows = sorted([canonical(in_key_order(value)) for value in row] for row in found)
    except SeambenchError as error:
        return f"{type(error).__name__}: {error}"
    except Exception:  # a defect, told with where it is
        return traceback.format_exc(limit=-2)
    if rows == expected:
        return None
    more = [row for row in rows if row not in expected]
    fewer = [row for row in expected if row not in rows]
    agree = [version for version, other in truth.others.items() if other["rows"] == rows]
    told = f"{len(rows)} rows, Spark has {len(expected)}; unexpected {more}, missing {fewer}"
    return told + (f" (as {', '.join(agree)})" if agree else "")
