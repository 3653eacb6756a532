"""Running one scan case: read the golden table, compare the rows, then hold the invariants.

The invariants need no expectation: a read of one row at a time, of some columns, of none, through
the dataset and through a filter must all agree with the full read.

Golden tables on disk, unpacked once a process and lent to one case after the other. Each case gets
its table at a path of its own, so that nothing that a reader keeps by path from one case can reach
another: the unpacked folder is renamed. A table that comes back changed is thrown away, and one
that is edited for a case is never lent again.
"""

from __future__ import annotations

import builtins
import itertools
import math
import os
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from seambase.scan import TableWarning
from seambase.wording import counted
from seambench.conformance.plain import difference, differing_rows, rows_of
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.contracts.scan import Related, Scan, Scanner, ScanRequest
from seambench.contracts.tables import Edit
from seambench.formats.golden import GoldenTable, placed
from seambench.seams.scan.cases import ScanCase

Rows = list[tuple[Any, ...]]


def check_scan(case: ScanCase, scanner: Scanner) -> int | None:
    """Read a case's table and judge it; of several right answers the number of that which came."""
    with unpacked(case, scanner) as request:
        return _must_read(case, scanner, request)


def read_case(case: ScanCase, scanner: Scanner) -> None:
    """Open and read a case's table, whatever comes of it."""
    with unpacked(case, scanner) as request:
        read_rows(scanner, request)


@contextmanager
def unpacked(case: ScanCase, scanner: Scanner | None = None) -> Iterator[ScanRequest]:
    """A case's table in a folder of its own for a while, edited; what comes out is the request.

    A scanner that states `named-columns` gets all columns that must come. What a reader tells of
    a table through Python's warnings is for its report to say.
    """
    with lent(case.table, case.edits, case.form) as table, warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        request = request_of(case, table)
        if scanner is not None and scanner.capabilities.get("named-columns"):
            request = replace(request, columns=case.names)
        yield request


def request_of(case: ScanCase, table: Path) -> ScanRequest:
    """The request of a case over an unpacked table."""
    request = case.request
    return ScanRequest(
        table=str(table),
        query=request.query,
        as_of=case.instant(request.as_of),
        begin=case.bound(request.begin),
        end=case.bound(request.end),
        columns=request.columns,
        where=request.where,
        strict=request.strict,
        row_kinds=request.row_kinds,
        threads=2,
    )


def _must_read(case: ScanCase, scanner: Scanner, request: ScanRequest) -> int | None:
    """Read; rows, schema, report and invariants must be right."""
    with warnings.catch_warnings():
        if not (case.expect.warnings or case.expect.doubted):
            # A doubt that nobody expects is a wrong answer.
            warnings.simplefilter("error", TableWarning)
        try:
            scan, rows = _read(scanner, request)
        except TableWarning as doubt:
            raise Mismatch(f"no warning expected, this came: {doubt}") from doubt
    names = case.names
    if list(scan.schema.names) != names:
        raise Mismatch(f"columns {names} expected, the schema says {scan.schema.names}")
    have, answers = _focused(case, rows), case.expected_answers()
    problems = [difference(answer, have, names) for answer in answers]
    if None not in problems:
        said = "; nor: ".join(str(problem) for problem in problems)
        raise Mismatch(said, differing_rows(answers[0], have, names))
    for name, wanted in case.expect.arrow.items():
        came = str(scan.schema.field(name).type)
        if came != wanted:
            raise Mismatch(f"column {name} must be {wanted}, it is {came}")
    _check_report(case, scan, len(rows))
    # A peer may take seconds for a read: for both, the invariants are a pass of their own.
    if not (case.rows_only or scanner.kind == "peer"):
        _check_invariants(case, scanner, request, rows)
    if scanner.kind != "peer" and scanner.capabilities.get("pushdown") and request.where is None:
        _check_nans(scanner, request, rows, names)
    return problems.index(None) + 1 if len(answers) > 1 else None


def _read(scanner: Scanner, request: ScanRequest) -> tuple[Scan, Rows]:
    """All rows of a request; a filter goes through DuckDB over the dataset."""
    if request.where is None or scanner.capabilities.get("where"):
        scan = scanner.open(request)
        names = scan.schema.names
        with scan.to_reader() as reader:
            return scan, rows_of(reader, names)
    scan = scanner.open(replace(request, where=None))
    try:
        return scan, query_dataset(scan, scan.schema.names, request.where)
    except duckdb.Error:
        # DuckDB hands on what a stream raises as an error of its own: read alone, it is a refusal.
        with scan.to_reader() as reader:
            rows_of(reader, scan.schema.names)
        raise


def read_rows(scanner: Scanner, request: ScanRequest) -> Rows:
    """All rows of a request."""
    return _read(scanner, request)[1]


def query_dataset(
    scan: Scan, names: Sequence[str], where: str | None, *, relation: bool = False
) -> Rows:
    """Rows of a scan's dataset, or of its relation, as DuckDB reads it: all is pushed down."""
    return queried(scan, names, [where], relation=relation)[0]


def queried(
    scan: Scan, names: Sequence[str], wheres: Sequence[str | None], *, relation: bool = False
) -> list[Rows]:
    """The same for each of several conditions, by one query: one for each takes twice as long."""
    engine = _engine()
    listed = "".join(f', "{name}"' for name in names)
    parts, known = [], dict[str, Any]()
    for number, where in enumerate(wheres):
        # Of one object that several parts scan, DuckDB reads once what any of them asks for.
        if relation:
            assert isinstance(scan, Related)
            known[f"scanned_{number}"] = scan.relation(engine)
        else:
            known[f"scanned_{number}"] = scan.dataset()
        condition = f" WHERE {where}" if where else ""
        # The text is the suite's own: a case file's condition over a table of its own.
        parts.append(f"SELECT {number}{listed} FROM scanned_{number}{condition}")  # noqa: S608
    # Found by their names in a frame: to register them takes a third of such a query. Before 2.0
    # DuckDB looks in no frame without Python's own names.
    known |= {"engine": engine, "text": " UNION ALL ".join(parts), "__builtins__": builtins}
    table: pa.Table = FunctionType(_result.__code__, known)()
    found: list[Rows] = [[] for _ in parts]
    # DuckDB gives another name to a column that is called as the number before it.
    shown = table.select(range(1, table.num_columns)).rename_columns(list(names))
    rows = rows_of(shown.to_batches(), names)
    for number, row in zip(table.column(0).to_pylist(), rows, strict=True):
        found[number].append(row)
    return found


def _result() -> pa.Table:
    """The table of a query, where its text and what it names are the frame's globals."""
    return engine.sql(text).to_arrow_table()  # type: ignore[name-defined] # noqa: F821


def query_table(table: pa.Table, where: str, names: Sequence[str] | None = None) -> Rows:
    """Rows of a table that meet a condition, some columns of them, by DuckDB itself."""
    engine = _engine()
    engine.register("handed_over", table)
    # A copy of DuckDB's own: of what Arrow holds it would have Arrow test a part. Nor may it go by
    # ranges of values: it mistakes a field's that a condition always meets for the struct's (2.0).
    engine.execute("CREATE OR REPLACE TEMP TABLE held AS FROM handed_over")
    engine.execute("SET disabled_optimizers = 'statistics_propagation'")
    try:
        found = engine.sql(f"SELECT * FROM held WHERE {where}").to_arrow_table()  # noqa: S608 - the suite's own
    finally:
        engine.execute("RESET disabled_optimizers")
        engine.unregister("handed_over")
    return rows_of(found.to_batches(), table.schema.names if names is None else names)


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    """One connection for all cases of a process: making one costs more than most cases."""
    return duckdb.connect(config={"threads": 2, "arrow_lossless_conversion": True})


def _focused(case: ScanCase, rows: Rows) -> Rows:
    for name, values in case.focus.items():
        at = case.names.index(name)
        rows = [row for row in rows if row[at] in values]
    return rows


def _check_report(case: ScanCase, scan: Scan, rows: int) -> None:
    """What the scan says of itself must be true."""
    report = scan.report()
    if report.rows != rows and not case.request.where:
        raise Mismatch(f"the report says {counted(report.rows, 'row')}, {rows} were read")
    wanted = case.expect.warnings
    if wanted is not None:
        if len(report.warnings) != wanted:
            said = [f"{w.file}:{w.offset}: {w.reason}" for w in report.warnings]
            raise Mismatch(f"{counted(wanted, 'warning')} expected, these came: {said}")
        if any(not w.file or w.offset < -1 or not w.reason for w in report.warnings):
            raise Mismatch("a warning names no file, offset or reason")
    if case.expect.paths is not None and dict(report.paths) != dict(case.expect.paths):
        raise Mismatch(f"paths {dict(case.expect.paths)} expected, {dict(report.paths)} reported")


def _check_invariants(case: ScanCase, scanner: Scanner, request: ScanRequest, rows: Rows) -> None:
    """Other ways to ask for the same rows must give them."""
    names = case.names
    same_rows("one row at a time", rows, _read(scanner, replace(request, batch_rows=1))[1], names)
    if request.where is not None:
        return
    again = list(reversed(names))[: max(1, len(names) - 1)]
    want = [tuple(row[names.index(name)] for name in again) for row in rows]
    some = _read(scanner, replace(request, columns=again))[1]
    same_rows(f"columns {again} alone", want, some, again)
    nothing = scanner.open(replace(request, columns=[]))
    counted = sum(batch.num_rows for batch in nothing.to_reader())
    if counted != len(rows):
        raise Mismatch(f"counted without columns: {counted:,}; read with them: {len(rows):,}")
    _check_way(case, scanner, request)
    if scanner.capabilities.get("pushdown"):
        _check_filters(scanner.open(request), rows, names)
    if scanner.capabilities.get("relation") and names:
        _check_filters(scanner.open(request), rows, names, relation=True)


def _check_way(case: ScanCase, scanner: Scanner, request: ScanRequest) -> None:
    """One way of all that the pass `invariants` tries; which one the case's name decides."""
    from seambench.seams.scan.ways import drawn, hold_way

    hold_way(scanner, request, drawn(zlib.crc32(case.id.encode())), case.id)


def _check_filters(scan: Scan, rows: Rows, names: Sequence[str], *, relation: bool = False) -> None:
    """In DuckDB, each value of each column must select just its rows, NULL included."""
    whole = "the relation" if relation else "the dataset"
    conditions: list[tuple[str | None, Rows]] = [(None, rows)]
    for at, name in enumerate(names):
        conditions.append((f'"{name}" IS NULL', [row for row in rows if row[at] is None]))
        kind = scan.schema.field(name).type
        if pa.types.is_string(kind) or pa.types.is_integer(kind):
            values = {row[at] for row in rows if row[at] is not None}
            conditions += [
                (f'"{name}" = {literal(value)}', [row for row in rows if row[at] == value])
                for value in sorted(values)[:2]
            ]
    came = queried(scan, names, [where for where, _ in conditions], relation=relation)
    for (where, want), have in zip(conditions, came, strict=True):
        same_rows(where or whole, want, have, names)


def _check_nans(scanner: Scanner, request: ScanRequest, rows: Rows, names: Sequence[str]) -> None:
    """In Arrow, what is not at most infinity is NaN: DuckDB pushes no comparison of reals down."""
    for at, name in enumerate(names):
        want = [row for row in rows if isinstance(row[at], float) and row[at] != row[at]]
        if want:
            condition = ~(pc.field(name) <= math.inf)
            dataset = scanner.open(request).dataset()
            batches = dataset.to_batches(columns=list(names), filter=condition)
            same_rows(f"{name} not at most infinity", want, rows_of(batches, names), names)


def literal(value: str | int) -> str:
    """A text or a number as SQL spells it."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def same_rows(what: str, want: Rows, have: Rows, names: Sequence[str]) -> None:
    """Both multisets must be equal."""
    if problem := difference(want, have, names):
        text = f"{what} differs from the full read: {problem}"
        raise Mismatch(text, differing_rows(want, have, names))


_Files = list[tuple[str, int, int]]
"""Path, size and date in nanoseconds of each file of a table."""

_NUMBERS = itertools.count()
_Key = tuple[Path, str]
"""The folder of an archive, and the form that its table is in."""
#: The folder around each unpacked table, its files, and its home.
_UNPACKED: dict[_Key, tuple[Path, _Files, Path | None]] = {}


@contextmanager
def lent(table: GoldenTable, edits: Sequence[Edit] = (), form: str = "") -> Iterator[Path]:
    """A golden table in a form as a folder for a while, edited; it is there at its home, too."""
    around = Path(_room().name) / str(next(_NUMBERS))
    folder = around / table.spec.name
    key = (table.folder, form)
    files: _Files | None = None
    home: Path | None = None
    try:
        if not edits and key in _UNPACKED:
            kept, files, home = _UNPACKED.pop(key)
            kept.rename(around)
        else:
            home = table.unpack(folder, edits)
            if form and not table.format.form(form).change(folder):
                raise NotOffered(f"{form} changes nothing of {table.spec.name}")
            files = None if edits else _files(folder)
        with placed(folder, home):
            yield folder
    finally:
        if files is not None and folder.exists() and _files(folder) == files:
            _UNPACKED[key] = (around, files, home)
            if form:
                _only_form(key)
        else:
            shutil.rmtree(around, ignore_errors=True)


def _only_form(key: _Key) -> None:
    """Throws away tables in other forms than the one that was lent last."""
    for other in [one for one in _UNPACKED if one[1] and one != key]:
        shutil.rmtree(_UNPACKED.pop(other)[0], ignore_errors=True)


@cache
def _room() -> tempfile.TemporaryDirectory[str]:
    """Where all of them lie; removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="seambench-case-", ignore_cleanup_errors=True)


def _files(folder: Path) -> _Files:
    found = []
    folders, above = [str(folder)], len(str(folder)) + 1
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                facts = entry.stat(follow_symlinks=False)
                # A folder's date changes with its entries, which are listed themselves.
                is_folder = entry.is_dir(follow_symlinks=False)
                size, date = (0, 0) if is_folder else (facts.st_size, facts.st_mtime_ns)
                found.append((entry.path[above:], size, date))
    return sorted(found)
