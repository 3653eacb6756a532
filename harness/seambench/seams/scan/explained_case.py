"""A case of the scan seam explained: the life of its table, what is asked, what must come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from seambase.wording import counted
from seambench.conformance.definitions import place
from seambench.conformance.plain import shown
from seambench.contracts.seam import Explanation, ShownRows, Step, refusal_in_words
from seambench.contracts.tables import CommitRequest, Edit
from seambench.seams.scan.cases import ScanCase

_MOST_ROWS = 12
#: What a step is called by, in the words of one format or the other.
_TITLES = ("operation", "sql")


def explain_scan(case: ScanCase) -> Explanation:
    """What a case is about."""
    origin = case.table.origin
    written = f"{case.table.spec.name}, written by {origin.writer} on {origin.made}"
    return Explanation(
        rule=case.requirement,
        sources=[f"golden table {written}"],
        file=place(case.file),
        life=[*_life(case), *map(_edit, case.edits), *_form(case)],
        request=dict(_request(case)),
        expected=[]
        if case.refused
        else [_rows(case, answer) for answer in case.expected_answers()],
        outcome=refusal_in_words(case) or _focus(case),
    )


def _life(case: ScanCase) -> Iterator[Step]:
    instants = case.table.origin.instants
    for number, step in enumerate(case.table.spec.steps):
        instant = instants[number] if number < len(instants) else ""
        yield _step(step, f"at {instant}" if instant else "left no commit")


def _step(step: Any, when: str) -> Step:
    """A step of any format: a statement, or a dataclass whose set fields say what it is."""
    if not is_dataclass(step):
        return Step(str(step), when)
    said = {
        field.name: value
        for field in fields(step)
        if (value := getattr(step, field.name)) != _default(field)
    }
    title = " ".join(str(said.pop(name)) for name in _TITLES if name in said)
    rows = said.pop("rows", ())
    details = [when, *(f"{name} = {_text(value)}" for name, value in said.items())]
    return Step(title or type(step).__name__, "; ".join(details), _listed(rows) if rows else None)


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _listed(rows: Sequence[Mapping[str, Any]]) -> ShownRows:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    listed = [[shown(row.get(name)) for name in columns] for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        listed.append(
            [f"and {counted(len(rows) - _MOST_ROWS, 'row')} more", *[""] * (len(columns) - 1)]
        )
    return ShownRows(columns, listed)


def _form(case: ScanCase) -> Iterator[Step]:
    if case.form:
        yield Step(case.form, f"written again: {case.table.format.form(case.form).title}")


def _edit(edit: Edit) -> Step:
    said = [
        f"{field.name} = {_text(value)}"
        for field in fields(Edit)
        if field.name not in ("file", "op")
        and (value := getattr(edit, field.name)) != _default(field)
    ]
    return Step(f"{edit.op} {edit.file}", "; ".join(["damaged by hand", *said]))


def _request(case: ScanCase) -> Iterator[tuple[str, str]]:
    request = case.request
    for field in fields(CommitRequest):
        value = getattr(request, field.name)
        if field.name == "query" or value != field.default:
            is_step = field.name in ("as_of", "begin", "end")
            yield field.name, f"step {value}" if is_step else _text(value)
    yield "table", case.table.spec.name


def _focus(case: ScanCase) -> str:
    if not case.focus:
        return ""
    said = (f"{name} is {' or '.join(map(shown, of))}" for name, of in case.focus.items())
    return f"only rows are compared whose {' and '.join(said)}"


def _rows(case: ScanCase, answer: Sequence[Sequence[Any]]) -> ShownRows:
    listed = [[shown(value) for value in row] for row in answer[:_MOST_ROWS]]
    if len(answer) > _MOST_ROWS:
        listed.append(
            [f"and {counted(len(answer) - _MOST_ROWS, 'row')} more", *[""] * (len(case.names) - 1)]
        )
    return ShownRows(case.names, listed)
