"""Records as files: read, checked, and written whole or not at all.

A record is JSON with a line for each part and each timing. It lies where its content says:
`runs/<implementation>/<date>/<machine>-<run id>.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from seambase.errors import InputError, RefusedError, SeambenchError, UnavailableError
from seambase.written import whole_file
from seambench.records import misread
from seambench.records.model import NEWEST, Answered, Conformance, Record
from seambench.records.verdicts import verdict_problem

_WITHOUT_REASON = frozenset({"pass", "not-offered"})


def problems(record: Record) -> list[str]:
    """What is wrong with a record beyond its form, one sentence each: verdicts are made again."""
    found = []
    for at, timing in enumerate(record.timings):
        problem = verdict_problem(timing)
        counts = isinstance(timing, Answered) or timing.moved is not None
        if timing.outcome == "pass" and not counts:
            problem = "it does not say what arrived"
        if problem is not None:
            found.append(f"timings/{at}: {timing.case} on {timing.over.name}: {problem}")
    for part in record.conformance:
        found += [f"conformance/{part.seam}: {problem}" for problem in _case_problems(part)]
    return found


def _case_problems(part: Conformance) -> list[str]:
    words: dict[str, str] = {}
    found = []
    for case, word in part.cases():
        if case in words:
            found.append(f"{case} has two outcomes")
        words[case] = word
        if (word not in _WITHOUT_REASON) != (case in part.reasons):
            found.append(f"{case}: {word} {'with' if case in part.reasons else 'without'} a reason")
    of_cases: dict[str, Iterable[str]] = {
        "reasons": part.reasons,
        "should": part.should,
        "slow": part.slow,
        "differences": part.differences,
        "answers": part.answers,
    }
    for name, listed in of_cases.items():
        found += [f"{name} names {case}, which was not run" for case in listed if case not in words]
    found += [
        f"the rows of {case} do not fit its columns"
        for case, rows in part.differences.items()
        if any(len(row) != len(rows.columns) for row in (*rows.missing, *rows.unexpected))
    ]
    found += [
        f"{case}: {word} {'with' if case in part.known else 'without'} what was known of it"
        for case, word in words.items()
        if (word == "xfail") != (case in part.known)
    ]
    found += [
        f"{case} is called refused, and it is {words.get(case, 'not there')}"
        for case in part.refused
        if words.get(case) not in ("fail", "xfail")
    ]
    return found


def load_record(path: Path) -> Record:
    """Read a record."""
    record = _converted(path, _current(path))
    wrong = problems(record)
    if wrong:
        raise InputError(f"{path}: {_first_of(wrong)}")
    return record


def _current(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_bytes(), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from error
    version = raw.get("schema") if isinstance(raw, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError(f"{path}: it says no schema version, so it is no record")
    if version != NEWEST:
        raise RefusedError(
            f"{path}: schema version {version} is not {NEWEST}, the one that is read here; "
            "use the seambench that wrote it"
        )
    return dict(raw)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _converted(path: Path, raw: dict[str, Any]) -> Record:
    try:
        return msgspec.convert(raw, Record)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error


def record_paths(results: Path) -> list[Path]:
    """Every file below `results/runs`, by name, but what is kept beside a record."""
    found = sorted(path for path in (results / "runs").rglob("*") if not path.is_dir())
    known = set(found)
    return [path for path in found if misread.record_of(path) not in known]


def validate_tree(results: Path) -> list[str]:
    """Check every record under `results/runs`; names of files included.

    There is a sentence for each broken file.
    """
    found = []
    for path in record_paths(results):
        if path.suffix != ".json":
            found.append(f"{path}: not a record")
            continue
        try:
            wanted = _relative_path(load_record(path))
        except SeambenchError as error:
            found.append(str(error))
            continue
        if path.relative_to(results / "runs") != wanted:
            found.append(f"{path}: by its content it must be called runs/{wanted}")
    return found


def write_record(results: Path, record: Record) -> Path:
    """Check a record and write it under its name, whole or not at all; its file."""
    try:
        # What was made here was never held against the types.
        wrong = problems(msgspec.convert(msgspec.to_builtins(record), Record))
    except msgspec.ValidationError as error:
        wrong = [str(error)]
    if wrong:
        raise RefusedError(f"record not written: {_first_of(wrong)}")
    path = results / "runs" / _relative_path(record)
    hint = "choose another folder with --results"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            temporary.write_text(_text(record), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(
            f"{error.filename or path}: the result cannot be written: {error.strerror}; {hint}"
        ) from error
    except UnavailableError as error:
        raise UnavailableError(f"{error}; {hint}") from error
    return path


def _text(record: Record) -> str:
    """JSON with a line for each member, each timing and each word of conformance."""
    members = []
    for name, value in msgspec.to_builtins(record).items():
        if name in ("timings", "conformance"):
            listed = ",\n  ".join(json.dumps(one) for one in value)
            members.append(f" {json.dumps(name)}: [\n  {listed}\n ]")
        else:
            members.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _relative_path(record: Record) -> Path:
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", record.implementation.name).strip(".") or "reader"
    name = f"{record.machine.name}-{record.run.id}.json"
    return Path(safe) / record.run.started_utc[:10] / name


def _first_of(wrong: Sequence[str]) -> str:
    return wrong[0] + (f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else "")
