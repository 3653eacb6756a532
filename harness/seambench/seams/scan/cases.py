"""Cases of the scan seam: `cases/scan/<format>/...`, one TOML file each; its path is its id.

A case names a golden table, says what is asked of it and what must come out:

    level = "must"
    requirement = "event-time ordering: the record with the lower ordering value loses"
    table = "mor-v9-event"
    focus = { k = ["older"] }          # compare only these rows (all are read)

    [request]                          # optional: query, as_of, columns, where, strict, begin, end,
                                       # row_kinds
    query = "snapshot"

    [[edit]]                           # optional: see `seambench.formats.edits`
    file = "log:3"
    op = "truncate"
    count = 7

    [expect]                           # rows, or the name of an exception of seambase.errors
    rows = [{ k = "older", v = "base", ts = 5 }]

A table with variants (`seambench.formats.golden`) makes a case of each, `ID@v6`, `ID@v9`, ...,
unless `variants` lists some. A file may ask several questions of a table instead of one; each makes
a case `ID/NAME`, its request and its expectation written together:

    [ask.snapshot]
    rows = [{ k = "a", v = "new" }]

    [ask.since-the-first]
    query = "incremental"
    begin = 1
    variants = ["v9"]
    any_of = [[{ k = "a", v = "new" }], []]    # the format's own readers differ: either is right

Commits are given by the number of the step that made them. Bounds of incremental reads mean its
completion time where the table's timeline has those.

Columns left out of a row are null; an unknown key anywhere is an error. Where a scanner lacks a
capability that the case needs, the case is not asked of it, unless all that it lacks are features
of the table (`delta.vectors`, `merge.event-time`, ...): those it meets whether it states them or
not, so it may refuse the table but not answer wrongly.

Who else knows the answer of a case: what the engine that wrote a golden table read of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambench.conformance.plain import typed
from seambench.contracts.data_files import (
    CaseFile,
    build,
    case_files,
    read_case_file,
    refuse_unknown,
)
from seambench.contracts.formats import TableFormat, resolve_format
from seambench.contracts.seam import Case
from seambench.contracts.tables import CommitRequest, Edit
from seambench.formats.golden import GoldenTable, golden_table

#: Features that tables of many formats have.
_FEATURES = frozenset({"partitioned", "schema-evolution"})
#: The column that a query for kinds of rows has in front of the table's.
_ROW_KIND = "rowkind"


@dataclass(frozen=True)
class ExpectSpec:
    """What must come out."""

    rows: Sequence[Mapping[str, Any]] | None = None  # the rows as a multiset
    times: Sequence[int] = ()  # how often each of them comes, where that is not once
    any_of: Sequence[Sequence[Mapping[str, Any]]] = ()  # several such answers, each of them right
    # exceptions of `seambase.errors`, one of which must be raised instead
    refused: Sequence[str] = ()
    says: Sequence[str] = ()  # words that the refusal's message must contain
    warnings: int | None = None  # how many warnings a reader that counts them must report
    # a reader may warn, and need not; where neither this is said nor warnings are expected, one
    # that comes is a wrong answer
    doubted: bool = False
    paths: Mapping[str, int] | None = None  # how many slices each path must have served
    arrow: Mapping[str, str] = field(default_factory=dict)  # Arrow types, as text, of some columns


@dataclass(frozen=True, kw_only=True)
class _CaseFile(CaseFile):
    table: str
    expect: ExpectSpec = field(default_factory=ExpectSpec)
    request: CommitRequest = field(default_factory=CommitRequest)
    ask: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    variants: Sequence[str] = ()
    edit: Sequence[Edit] = ()
    focus: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class ScanCase(Case):
    """A case of the scan seam with the golden table it reads, written down in `file`.

    `rows_only` is set where a file asks several questions: each then compares rows alone (of
    NaN, through a filter, too); what must hold however they are asked is left to the second pass
    (`seambench.seams.scan.invariants`).
    `form` names a form of the table that is read (`seambench.seams.scan.forms`).
    """

    table: GoldenTable
    request: CommitRequest
    edits: Sequence[Edit]
    focus: Mapping[str, Sequence[Any]]
    expect: ExpectSpec
    extra_needs: Sequence[str]
    file: Path
    rows_only: bool = False
    form: str = ""

    @property
    def subject(self) -> str:
        """See `Case`."""
        return f"{self.table.format.name}/{self.table.spec.name}#{self.form}"

    @property
    def refused(self) -> Sequence[str]:
        """See `Case`."""
        return self.expect.refused

    @property
    def says(self) -> Sequence[str]:
        """See `Case`."""
        return self.expect.says

    @property
    def must_honour(self) -> Sequence[str]:
        """See `Case`."""
        features = self.table.format.features | _FEATURES
        return [need for need in self.needs if need in features]

    @property
    def recorded(self) -> list[list[str]] | None:
        """What an engine was seen to answer; see `recorded_rows`."""
        if self.edits or self.focus or self.refused:
            return None
        return recorded_rows(self.table, self.request, self.names)

    @property
    def witness(self) -> str:
        """See `Case`."""
        if self.recorded is not None:
            return self.table.origin.writer
        whole = self.request == CommitRequest() and not (self.edits or self.focus or self.refused)
        return " and ".join(self.table.origin.confirmed) if whole else ""

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Capabilities that a reader must state for the case to be asked of it.

        Most follow from the table and the request; the case file adds what is special.
        """
        return tuple(dict.fromkeys([*self.table.needs(self.request), *self.extra_needs]))

    @property
    def visible(self) -> list[str]:
        """Columns that a read without named columns shows."""
        return self.table.format.shown(self.table.spec.columns)

    @property
    def names(self) -> list[str]:
        """Columns that this case's read shows."""
        if self.request.columns is not None:
            return list(self.request.columns)
        return [_ROW_KIND, *self.visible] if self.request.row_kinds else self.visible

    def instant(self, number: int | None) -> str | None:
        """Instant of the n-th step."""
        return None if number is None else self.table.origin.instants[number - 1]

    def bound(self, number: int | None) -> str | None:
        """The n-th step as a bound of an incremental read."""
        times = self.table.origin.completions or self.table.origin.instants
        return None if number is None else times[number - 1]

    def expected_answers(self) -> list[list[tuple[Any, ...]]]:
        """Right answers, each as typed tuples in the order of `names`."""
        types = self.table.spec.columns
        answers = [
            [tuple(_typed(row.get(name), types.get(name)) for name in self.names) for row in rows]
            for rows in (self.expect.any_of or [self.expect.rows or ()])
        ]
        if self.expect.times:
            repeated = zip(answers[0], self.expect.times, strict=True)
            answers = [[row for row, times in repeated for _ in range(times)]]
        return answers


def _typed(value: Any, kind: str | None) -> Any:
    """A value of a column; one that is none of the table's holds texts or numbers."""
    return typed(value, kind or ("bigint" if isinstance(value, int) else "string"))


def scan_cases(root: Path, begins: Sequence[str] = ("",)) -> list[ScanCase]:
    """Cases of the scan seam below a root, by id; see `Seam.cases`."""
    files = case_files(root, "scan", begins)
    return [case for _, file in files for case in load_scan_cases(file, root)]


def load_scan_cases(file: Path, root: Path) -> list[ScanCase]:
    """Read one case file: a case for each variant of its table and each question."""
    read = read_case_file(_CaseFile, file)
    name = file.relative_to(root / "cases").with_suffix("").as_posix()
    cases = []
    for variant, table in _tables(root, read, file):
        id_ = f"{name}@{variant}" if variant else name
        first = _case(id_, read, table, file)
        if not read.ask:
            cases.append(first)
        for ask, keys in read.ask.items():
            limit, request, expect = _question(keys, file)
            if not limit or variant in limit:
                question = replace(first, id=f"{id_}/{ask}", request=request, expect=expect)
                cases.append(question)
    for case in cases:
        _lint(case, file)
    if not cases:
        raise UsageError(f"{file}: it asks nothing of any table")
    return cases


def _tables(root: Path, read: _CaseFile, file: Path) -> list[tuple[str, GoldenTable]]:
    """The tables that a case file is about, each with its variant or an empty text."""
    below = file.relative_to(root / "cases" / "scan")
    format_ = _format(below.parts[0])
    folder = root / "golden" / format_.name / read.table
    if not (folder / "table.toml").exists():
        raise UsageError(f"{file}: there is no golden table {read.table!r}")
    if (folder / "table.zip").exists():
        return [("", golden_table(format_, folder))]
    made = sorted(zip_.parent.name for zip_ in folder.glob("*/table.zip"))
    if strange := sorted(set(read.variants) - set(made)):
        raise UsageError(f"{file}: {read.table} has no variant {strange[0]!r}")
    chosen = read.variants or made
    return [(name, golden_table(format_, folder / name)) for name in made if name in chosen]


@cache
def _format(name: str) -> TableFormat:
    """A table format; looking through what is installed takes longer than reading a case."""
    return resolve_format(name)


def _question(
    keys: Mapping[str, Any], file: Path
) -> tuple[Sequence[str], CommitRequest, ExpectSpec]:
    """Variants, request and expectation of one `ask`."""
    of_request, of_answer = ({f.name for f in fields(c)} for c in (CommitRequest, ExpectSpec))
    refuse_unknown(keys, {"variants", *of_request, *of_answer}, file)
    left = dict(keys)
    limit = left.pop("variants", ())
    named = of_request & set(left)
    request = build(CommitRequest, {key: left.pop(key) for key in named}, file)
    return limit, request, build(ExpectSpec, left, file)


def _case(id_: str, read: _CaseFile, table: GoldenTable, file: Path) -> ScanCase:
    """The case of a file and a variant, with the file's one question."""
    return ScanCase(
        id=id_,
        level=read.level,
        requirement=read.requirement,
        table=table,
        request=read.request,
        edits=read.edit,
        focus=read.focus,
        expect=read.expect,
        extra_needs=read.needs,
        file=file,
        rows_only=bool(read.ask),
    )


def _lint(case: ScanCase, file: Path) -> None:
    """Refuse a case that cannot mean anything."""
    expect = case.expect
    if [expect.rows is not None, bool(expect.any_of), bool(expect.refused)].count(True) != 1:
        raise UsageError(f"{file}: expect either rows or refused or any_of")
    if expect.times and len(expect.times) != len(expect.rows or ()):
        raise UsageError(f"{file}: a number of times belongs to each of the rows")
    # A read of changes has columns of its own.
    known = set(case.table.spec.columns) | set(case.names)
    for row in chain(expect.rows or (), *expect.any_of):
        if strange := sorted(set(row) - known):
            raise UsageError(f"{file}: an expected row has {strange[0]!r}, no column of the table")
    if strange := sorted(set(case.focus) - known):
        raise UsageError(f"{file}: the focus is on {strange[0]!r}, no column of the table")
    numbers = (case.request.as_of, case.request.begin, case.request.end)
    if any(n is not None and not 1 <= n <= len(case.table.origin.instants) for n in numbers):
        raise UsageError(f"{file}: a commit is given by the number of a step, from 1")
    case.expected_answers()


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
        step = _window(table, request, steps)
    elif request.query == "snapshot":
        number = len(steps) if request.as_of is None else request.as_of
        step = steps[number - 1] if isinstance(number, int) and 0 < number <= len(steps) else {}
    else:
        return None
    if "rows" not in step or not set(names) <= set(step["columns"]):
        return None
    places = [step["columns"].index(name) for name in names]
    return sorted([row[place] for place in places] for row in step["rows"])


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
        read = step.get("read", {}) if isinstance(step, Mapping) else {}
        compares = read.get("incremental-between-scan-mode") == "diff"
        if read.get("incremental-between") == f"{begin},{end}" and not compares:
            return {**found, "rows": [[f"str:{kind}", *row] for kind, *row in found["rows"]]}
    return {}


@cache
def _steps(file: Path) -> list[dict[str, Any]]:
    """What was read after each step; nothing where nobody did."""
    if not file.exists():
        return []
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found
