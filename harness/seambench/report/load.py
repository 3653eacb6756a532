"""Read result records for the page: leniently, because a page must show what is broken.

The strict validator lives beside the schema and guards what is written. Here an odd field becomes a
note on its record, and a file that cannot be read at all becomes a `Problem`; both reach the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["NEWEST_SCHEMA", "Loaded", "Problem", "Record", "load_records"]

NEWEST_SCHEMA = 1
"""Newest record schema this page understands; newer records are named, not guessed at."""

_TEXT_LIMIT = 4000
_DATASET_TEXT = ("name", "digest", "state", "ordering", "log_format")
_DATASET_NUMBERS = ("scale", "update_ratio", "slice_share", "table_version", "slices")


@dataclass(frozen=True)
class Problem:
    """A file that holds no readable record, and why."""

    file: str
    reason: str


@dataclass
class Record:
    """One record as the page sees it.

    Attributes:
        path: the file it came from.
        view: plain data for the page; every number finite, every text at most 4,000 characters.
        notes: fields that were not as the schema says, one sentence each.
    """

    path: Path
    view: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@dataclass
class Loaded:
    """All records below a results folder, oldest first, and the files that hold none."""

    records: list[Record] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def load_records(results_dir: Path) -> Loaded:
    """Read every `runs/**/*.json` below a results folder.

    Args:
        results_dir: the folder `results`; a missing or empty one gives no records.

    Returns:
        Records sorted by start time and file name, and the files that could not be read.
    """
    loaded = Loaded()
    for path in sorted((results_dir / "runs").rglob("*.json")):
        name = path.relative_to(results_dir).as_posix()
        try:
            raw = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            loaded.problems.append(Problem(name, f"not readable as JSON: {error}"))
            continue
        reason = _unreadable(raw)
        if reason is not None:
            loaded.problems.append(Problem(name, reason))
            continue
        record = Record(path, {})
        record.view = _view(raw, record.notes)
        record.view["source"] = name
        record.view["notes"] = record.notes
        loaded.records.append(record)
    loaded.records.sort(key=lambda r: (r.view["run"]["started_utc"] or "", r.view["source"]))
    return loaded


def _unreadable(raw: object) -> str | None:
    """Say why a JSON value is no record of a known schema, or None."""
    if not isinstance(raw, dict):
        return f"the top level is a {type(raw).__name__}, a record is an object"
    schema = raw.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int):
        return f"schema is {schema!r}, expected a whole number"
    if schema > NEWEST_SCHEMA:
        return (
            f"schema {schema} is newer than this page knows ({NEWEST_SCHEMA}); "
            "build the page with a newer seambench"
        )
    if not isinstance(raw.get("implementation"), dict):
        return "implementation is missing"
    return None


def _view(raw: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Turn a raw record into what the page needs, noting everything that is odd."""
    run = _mapping(raw, "run", notes)
    machine = _mapping(raw, "machine", notes)
    implementation = _mapping(raw, "implementation", notes)
    dataset = _dataset(raw.get("dataset"))
    name = _text(implementation.get("name"))
    if not name:
        notes.append("implementation.name is missing")
    return {
        "schema": raw["schema"],
        "run": {
            "id": _text(run.get("id")),
            "started_utc": _text(run.get("started_utc")),
            "commit": _text(run.get("commit")),
            "dirty": run.get("dirty") is True,
            "seconds": _number(run.get("seconds")),
            "samples": _number(run.get("samples")),
            "command": _text(run.get("command")),
            "error": _text(run.get("error") or raw.get("error")),
        },
        "machine": {
            "name": _text(machine.get("name")),
            "cpu": _text(machine.get("cpu")),
            "cores": _number(machine.get("cores")),
            "memory_bytes": _number(machine.get("memory_bytes")),
            "kernel": _text(machine.get("kernel")),
            "load_before": _load(machine.get("load_before")),
        },
        "versions": {
            str(key)[:80]: _text(value)
            for key, value in _mapping(raw, "versions", notes).items()
            if value is not None
        },
        "implementation": {
            "name": name or "(no name)",
            "version": _text(implementation.get("version")),
            "kind": _text(implementation.get("kind")),
            "tuned": implementation.get("tuned") is True,
        },
        "outcomes": [
            _outcome(item, where, notes) for where, item in _objects(raw, "outcomes", notes)
        ],
        "timings": [
            _timing(item, where, dataset, notes) for where, item in _objects(raw, "timings", notes)
        ],
    }


def _outcome(raw: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    """One conformance outcome; a missing word counts as an error, never as a pass."""
    outcome = _text(raw.get("outcome"))
    if not outcome:
        notes.append(f"{where}.outcome is missing; shown as error")
    case, seam = _text(raw.get("case")) or "(no case)", _text(raw.get("seam"))
    return {
        "case": case if seam is None or case.startswith(f"{seam}/") else f"{seam}/{case}",
        "outcome": outcome or "error",
        "seconds": _number(raw.get("seconds")),
        "reason": _text(raw.get("reason")),
        "link": _text(raw.get("link")),
    }


def _timing(
    raw: Mapping[str, Any], where: str, dataset: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """One timing; a record without data sets per timing has one for all of them."""
    paths = raw.get("paths")
    timing = {
        "case": _text(raw.get("case")) or "(no case)",
        "unit": _text(raw.get("unit")) or "s",
        "dataset": _dataset(raw["dataset"]) if "dataset" in raw else dataset,
        "cold": _samples(raw, "cold", where, notes),
        "hot": _samples(raw, "hot", where, notes),
        "cpu": _samples(raw, "cpu", where, notes),
        "rows": _number(raw.get("rows")),
        "bytes": _number(raw.get("bytes")),
        "peak_bytes": _number(raw.get("peak_bytes")),
        "growth_bytes": _number(raw.get("growth_bytes")),
        "answer": _text(raw.get("answer")),
        "expected": _text(raw.get("expected")),
        "warnings": [
            f"{w.get('file')} at byte {w.get('offset')}: {w.get('reason')}"[:_TEXT_LIMIT]
            for _, w in _objects(raw, "warnings", notes)
        ],
        "outcome": _text(raw.get("outcome")),
        "query": _text(raw.get("query")),
        "paths": {
            str(key)[:80]: _number(value)
            for key, value in (paths.items() if isinstance(paths, dict) else ())
        },
        "error": _text(raw.get("error")),
    }
    if timing["unit"] != "s":
        timing["error"] = timing["error"] or f"unit {timing['unit']!r} is not known, expected s"
        notes.append(f"{where}.unit is {timing['unit']!r}, expected s")
    return timing


def _dataset(raw: object) -> dict[str, Any]:
    """The dimensions of a data set that the page sorts by; absent ones are None."""
    known = raw if isinstance(raw, dict) else {}
    view: dict[str, Any] = {key: _text(known.get(key)) for key in _DATASET_TEXT}
    view |= {key: _number(known.get(key)) for key in _DATASET_NUMBERS}
    return view


def _samples(raw: Mapping[str, Any], key: str, where: str, notes: list[str]) -> list[float]:
    """Finite, non-negative seconds; anything else is left out and noted."""
    values = raw.get(key)
    if values is None:
        return []
    if not isinstance(values, list):
        notes.append(f"{where}.{key} is no list")
        return []
    numbers = [_number(value) for value in values]
    kept = [n for n in numbers if n is not None and n >= 0]
    if len(kept) < len(values):
        notes.append(f"{where}.{key} holds {len(values) - len(kept)} samples that are no seconds")
    return kept


def _mapping(raw: Mapping[str, Any], key: str, notes: list[str]) -> dict[str, Any]:
    value = raw.get(key)
    if isinstance(value, dict):
        return value
    notes.append(f"{key} is missing" if value is None else f"{key} is no object")
    return {}


def _objects(
    raw: Mapping[str, Any], key: str, notes: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its place; anything else is left out and noted."""
    value = raw.get(key)
    if value is not None and not isinstance(value, list):
        notes.append(f"{key} is no list")
    for i, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, dict):
            yield f"{key}[{i}]", item
        else:
            notes.append(f"{key}[{i}] is no object")


def _load(value: object) -> list[float]:
    """Load averages before the run: one number or the usual three."""
    values = value if isinstance(value, list) else [value]
    return [n for n in map(_number, values) if n is not None]


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text[:_TEXT_LIMIT]
