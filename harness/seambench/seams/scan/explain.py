"""A scan case in words: the life of its table, what is asked, which rows must come."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from seambench.conformance.doors.facts import Facts
from seambench.contracts.seam import Section
from seambench.contracts.tables import CommitRequest, Edit
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import request_of
from seambench.seams.scan.doors import scan_request

__all__ = ["explain_scan", "keep_scan"]

_ROWS_SHOWN = 40


def explain_scan(case: ScanCase) -> list[Section]:
    """The table, its life, what is asked, and what must come."""
    spec, origin = case.table.spec, case.table.origin
    columns = ", ".join(f"{name} {kind}" for name, kind in spec.columns.items())
    written = [f"{case.table.format.title}, {spec.name}, written by {origin.writer}"]
    sections = [
        Section("the table", [*written, f"columns: {columns}", *_traits(spec)]),
        Section("its life", list(_life(spec.steps, origin.instants))),
    ]
    if case.edits:
        sections.append(Section("then damaged", [_edit(edit) for edit in case.edits]))
    sections.append(Section("what is asked", _asked(case)))
    sections.append(Section("what must come", list(_expected(case))))
    return sections


def keep_scan(case: ScanCase, folder: Path) -> list[str]:
    """Unpack the table into `folder/table`, as the case edits it; see `Seam.keep`."""
    table = folder / "table"
    case.table.unpack(table, case.edits)
    request = _request(case, table)
    (folder / "request.json").write_text(request + "\n", encoding="utf-8")
    return [
        f"seambench inspect {table}",
        f"./reader < {folder / 'request.json'} > rows.arrows    # as the door for programs asks",
    ]


def _request(case: ScanCase, table: Path) -> str:
    """The request as the door for programs has it."""
    return scan_request(request_of(case, table), Facts("any reader", capabilities={"where": True}))


def _traits(spec: Any) -> Iterator[str]:
    """What else the declaration says, in its own words."""
    shown = {"name", "columns", "writes", "steps"}
    for name, value in _set_fields(spec):
        if name not in shown:
            yield f"{name}: {_plain(value)}"


def _life(steps: Sequence[Any], instants: Sequence[str]) -> Iterator[str]:
    """A line for each step, with its instant, and lines for its rows."""
    for number, step in enumerate(steps, 1):
        instant = instants[number - 1] if number <= len(instants) else ""
        at = f"  (instant {instant})" if instant else ""
        if isinstance(step, str):
            yield f"{number}. {step}{at}"
            continue
        named = dict(_set_fields(step))
        rows = named.pop("rows", ())
        # A step's first field says what is done; the others how.
        words = list(named)
        how = "".join(f", {word}: {_plain(named[word])}" for word in words[1:])
        yield f"{number}. {_plain(named[words[0]]) if words else 'step'}{how}{at}"
        yield from (f"     {_row(row)}" for row in rows[:_ROWS_SHOWN])
        if len(rows) > _ROWS_SHOWN:
            yield f"     ... {len(rows) - _ROWS_SHOWN} more rows"


def _asked(case: ScanCase) -> list[str]:
    request = case.request
    words = [
        f"{field.name}: {_plain(getattr(request, field.name))}"
        for field in dataclasses.fields(CommitRequest)
        if getattr(request, field.name) != field.default or field.name == "query"
    ]
    if request.as_of or request.begin or request.end:
        words.append("(as_of, begin and end are numbers of steps, here; readers get instants)")
    if case.focus:
        words.append(f"compared are the rows where {_plain(case.focus)}; all are read")
    return [*words, f"request: {_request(case, Path('TABLE'))}"]


def _expected(case: ScanCase) -> Iterator[str]:
    expect = case.expect
    if expect.refused:
        said = f", and a message with {_plain(expect.says)}" if expect.says else ""
        yield f"a refusal ({' or '.join(expect.refused)}){said}"
        return
    answers = expect.any_of or [expect.rows or ()]
    for number, rows in enumerate(answers):
        if number:
            yield "or as well:"
        yield from (_row(row) for row in rows)
        if not rows:
            yield "no rows"
    if case.never_wrong:
        yield "whoever does not offer what it needs may refuse, but not answer otherwise"


def _set_fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Fields of a dataclass that are not at their default."""
    for field in dataclasses.fields(value):
        found = getattr(value, field.name)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        if found != default:
            yield field.name, found


def _edit(edit: Edit) -> str:
    return ", ".join(f"{name}: {_plain(value)}" for name, value in _set_fields(edit))


def _row(row: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={value}" for name, value in row.items())


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_plain(inner)}" for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return str(value)
