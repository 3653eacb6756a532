"""Readers against what Spark answered about random tables."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from seambase.errors import SeambenchError
from seambase.wording import counted
from seambench.conformance.plain import canonical, in_key_order, rows_of
from seambench.contracts.scan import Scanner, ScanRequest
from seambench_suites.differential.formats import Answer, RandomFormat, Rows

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


class _Compared(NamedTuple):
    """How a reader differs, and why the format's newest version may; no text where it does not."""

    problem: str = ""
    why: str = ""


def compare(
    folder: Path, own: RandomFormat, scanner: Scanner, counts: Counter[str]
) -> Iterator[str]:
    """Every difference between a reader and Spark over the tables of a folder, as text.

    Where versions disagree the newest one counts whose answer is by no rule of its own. Differences
    that such a rule makes, and tables that could not be written, are listed, but do not count.
    `counts` receives how many there were of each of `COUNTED`.
    """
    for target in sorted(folder.iterdir()):
        unwritten = target / "unwritten.json"
        if unwritten.exists():
            counts["unwritten"] += 1
            error = json.loads(unwritten.read_text(encoding="utf-8"))["error"]
            yield f"{target.name}: not written: {error}"
        if not (target / "witness.json").exists():
            continue
        counts["tables"] += 1
        for number, answers in enumerate(_answers(target, own), 1):
            yield from _compare_one(target, number, own, scanner, answers, counts)


def _compare_one(
    target: Path,
    number: int,
    own: RandomFormat,
    scanner: Scanner,
    answers: Mapping[str, Answer],
    counts: Counter[str],
) -> Iterator[str]:
    """Compare the answers to one question about a table."""
    if not answers:
        counts["unanswered"] += 1
        return
    request = own.request(target / "table", next(iter(answers.values())))
    if not scanner.capabilities.get(f"query.{request.query}"):
        counts["unasked"] += 1
        return
    counts["answers"] += 1
    result = _differs(target, number, own, scanner, answers)
    if result.problem:
        counts["listed" if result.why else "differences"] += 1
        listed = f" (listed: {result.why})" if result.why else ""
        yield f"{target.name}, step {number}{_options_of(request)}: {result.problem}{listed}"


def writers(folder: Path, own: RandomFormat) -> list[str]:
    """The packages that wrote the tables of a folder."""
    files = [*folder.glob("*/witness.json"), *folder.glob("*/unwritten.json")]
    return sorted({_writer(file.parent, own) for file in files})


def _writer(target: Path, own: RandomFormat) -> str:
    origin = target / "origin.json"
    if not origin.exists():
        return own.package()
    return str(json.loads(origin.read_text(encoding="utf-8"))["writer"])


def _answers(target: Path, own: RandomFormat) -> Iterator[Mapping[str, Answer]]:
    """Of each question about a table the answers that have rows, by version, the newest first."""
    by = _writer(target, own).rpartition(":")[2]
    files = {by: target / "witness.json"}
    files |= {file.stem.partition("-")[2]: file for file in target.glob("witness-*.json")}
    versions = sorted(files, key=_age, reverse=True)
    witnesses = [json.loads(files[version].read_text(encoding="utf-8")) for version in versions]
    for answers in zip(*witnesses, strict=True):
        yield {v: a for v, a in zip(versions, answers, strict=True) if "rows" in a}


def _age(version: str) -> list[int]:
    """A version, to be put in order."""
    return [int(part) for part in version.split(".") if part.isdigit()]


def _options_of(request: ScanRequest) -> str:
    """What was asked beside the table, where it is not a snapshot."""
    words = {"query": request.query, "begin": request.begin, "end": request.end}
    if request.query == "snapshot":
        words = {}
    listed = "".join(f" {name}={value}" for name, value in words.items() if value)
    return f" ({listed.strip()})" if listed else ""


def _differs(
    target: Path, number: int, own: RandomFormat, scanner: Scanner, answers: Mapping[str, Answer]
) -> _Compared:
    """How a reader's answer differs from the newest version's, unless that has its own rule."""
    listed = _Compared()
    for version, answer in answers.items():
        answer = {**answer, "rows": own.in_order(answer["columns"], answer["rows"])}
        own_answer, problem = _against(scanner, own, own.request(target / "table", answer), answer)
        if not problem:
            return listed
        agree = [v for v, other in answers.items() if other["rows"] == own_answer.get("rows")]
        problem += f" (as {', '.join(agree)})" if agree else ""
        why = own.why_otherwise(version, target, number, answer, own_answer)
        if why is None:
            return _Compared(problem)
        listed = listed if listed.problem else _Compared(problem, why)
    return listed


def _against(
    scanner: Scanner, own: RandomFormat, request: ScanRequest, answer: Answer
) -> tuple[Answer, str]:
    """A reader's own answer, or its error, and how it differs from another."""
    try:
        scan = scanner.open(request)
        names = scan.schema.names
        own_rows = rows_of(scan.to_reader(), names)
        texts = sorted([canonical(in_key_order(value)) for value in row] for row in own_rows)
        rows = own.in_order(names, texts)
    except SeambenchError as error:
        problem = f"{type(error).__name__}: {error}"
        return {"error": problem}, problem
    except Exception:  # a defect, shown with where it is
        problem = traceback.format_exc(limit=-2)
        return {"error": problem}, problem
    return {"columns": names, "rows": rows}, _difference(names, rows, answer)


def _difference(names: list[str], rows: Rows, answer: Answer) -> str:
    """How rows differ from an answer; an empty text if they do not."""
    expected = answer["rows"]
    if names != answer["columns"]:
        return f"columns {names}, Spark has {answer['columns']}"
    if rows == expected:
        return ""
    more = [row for row in rows if row not in expected]
    fewer = [row for row in expected if row not in rows]
    return (
        f"{counted(len(rows), 'row')}, Spark has "
        f"{len(expected)}; unexpected {more}, missing {fewer}"
    )
