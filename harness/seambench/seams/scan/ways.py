"""Outlets and settings: whichever way rows leave a scan, and however it is set, they are the same.

A way is an outlet, a size of batches, a number of threads, a limit of memory, and whether a
condition goes through the outlet: in SQL, for Arrow or for Polars, as it takes it. What the rows
must be comes from the plain read, which a case's own rows judge, and from DuckDB, Arrow or Polars
over it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads

from seambase.errors import RefusedError, UnavailableError
from seambase.extras import needs
from seambase.wording import counted
from seambench.conformance.plain import rows_of
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.scan import Parted, Related, Scan, Scanner, ScanRequest, Written
from seambench.seams.scan.check import query_dataset, query_table, same_rows
from seambench.seams.scan.conditions import (
    Condition,
    conditions,
    either,
    in_arrow,
    in_polars,
    in_sql,
)

if TYPE_CHECKING:
    import polars as pl

_SMALL_MEMORY_BYTES = 64 << 20
_MOST_CONDITIONS = 2
_MOST_EITHER = 2
_MOST_BATCHES = 5_000


@dataclass(frozen=True)
class Way:
    """One way to ask for rows."""

    outlet: str  # a name of `OUTLETS`
    batch_rows: int | None  # most rows in a batch; None for the scanner's choice
    threads: int
    memory_limit_bytes: int | None
    filtered: bool  # a condition goes through the outlet

    def __str__(self) -> str:
        limit = "a little memory" if self.memory_limit_bytes else "any memory"
        filtered = ", filtered" if self.filtered else ""
        return f"{self.outlet} ({self.batch_rows} rows, {self.threads} threads, {limit}{filtered})"


@dataclass(frozen=True)
class _Query:
    """What an outlet is to give: the scan, the rows of a plain read, columns and a condition."""

    scan: Scan
    whole: pa.Table
    names: Sequence[str]
    condition: Condition | None


class _ClosedError(Exception):
    """Why a scan has no such outlet, or an outlet not these rows."""


def _arrow_rows(query: _Query) -> pa.Table:
    """What Arrow leaves of the rows."""
    if query.condition is None:
        return query.whole
    try:
        return query.whole.filter(in_arrow(query.condition, query.whole.schema))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _ClosedError(f"Arrow tests no such condition ({error})") from error


def _compared(query: _Query, what: str, batches: Iterable[pa.RecordBatch]) -> None:
    want = rows_of(_arrow_rows(query).to_batches(), query.names)
    same_rows(what, want, rows_of(batches, query.names), query.names)


def _own(method: str) -> Callable[[_Query, str], None]:
    """An outlet without a condition: a method of the scan that gives a table."""

    def compare(query: _Query, what: str) -> None:
        _compared(replace(query, condition=None), what, _method(query.scan, method)().to_batches())

    return compare


def _method(scan: Scan, name: str) -> Any:
    found = getattr(scan, name, None)
    if found is None:
        raise _ClosedError(f"the scan has no {name}")
    return found


def _stream(query: _Query, what: str) -> None:
    if not hasattr(query.scan, "__arrow_c_stream__"):
        raise _ClosedError("the scan is no stream by itself")
    batches = list(pa.RecordBatchReader.from_stream(query.scan))
    _compared(replace(query, condition=None), what, batches)


def _counted(query: _Query, what: str) -> None:
    count = _method(query.scan, "count_rows")()
    if count != query.whole.num_rows:
        raise Mismatch(f"{what}: {counted(count, 'row')} counted, {query.whole.num_rows} read")


def _limited(query: _Query, what: str) -> None:
    """Some of the rows: as many as asked for, none twice."""
    most = max(query.whole.num_rows - 1, 0)
    some = _method(query.scan, "head")(most)
    some_rows = Counter(map(repr, rows_of(some.to_batches(), query.names)))
    if some_rows - Counter(map(repr, rows_of(query.whole.to_batches(), query.names))):
        raise Mismatch(f"{what}: a row that the full read has not, or not as often")
    if some.num_rows != most:
        raise Mismatch(f"{what}: {some.num_rows} of {most} rows")


def _limited_dataset(query: _Query, what: str) -> None:
    """As many rows as there are, and a condition over them."""
    limited = _method(query.scan, "limit")(query.whole.num_rows)
    _arrow_dataset(replace(query, scan=limited), what)


def _parts(query: _Query, what: str) -> None:
    if not isinstance(query.scan, Parted):
        raise _ClosedError("the scan has no parts")
    own = None if query.condition is None else in_arrow(query.condition, query.whole.schema)
    _arrow_rows(query)
    pieces = [query.scan.part(n, query.names, own) for n in range(query.scan.n_parts)]
    _compared(query, what, [batch for piece in pieces for batch in piece.to_reader()])


def _plans(query: _Query, what: str) -> None:
    if not isinstance(query.scan, Written):
        raise _ClosedError("the scan has no plans as data")
    try:
        texts, read = query.scan.plans([[n] for n in range(query.scan.n_parts)])
    except RefusedError as error:
        raise _ClosedError(str(error)) from error
    batches = [batch for text in texts for batch in read(text).to_reader()]
    _compared(replace(query, condition=None), what, batches)


def _arrow_dataset(query: _Query, what: str) -> None:
    own = None if query.condition is None else in_arrow(query.condition, query.whole.schema)
    _arrow_rows(query)
    batches = query.scan.dataset().to_batches(columns=list(query.names), filter=own)
    _compared(query, what, batches)


def _in_duckdb(*, relation: bool) -> Callable[[_Query, str], None]:
    def compare(query: _Query, what: str) -> None:
        if relation and not isinstance(query.scan, Related):
            raise _ClosedError("the scan has no relation")
        if not query.names:
            raise _ClosedError("a relation of DuckDB has a column")
        text = None if query.condition is None else in_sql(query.condition)
        want = query_table(query.whole, text or "true", query.names)
        have = query_dataset(query.scan, query.names, text, relation=relation)
        same_rows(what, want, have, query.names)

    return compare


def _sorted(frame: pl.DataFrame) -> list[str]:
    return sorted(map(repr, frame.rows()))


def _numbered(query: _Query, what: str) -> None:
    """Numbers of rows alone, for which Polars asks a scan for no column."""
    if not query.names:
        raise _ClosedError("a lazy frame of Polars has a column")
    try:
        frame = _method(query.scan, "lazy")()
    except UnavailableError as error:
        raise _ClosedError(str(error)) from error
    import polars as pl
    import polars.selectors as cs

    if not pl.select(pl.repeat(0, 1)).drop(cs.all()).height:
        raise _ClosedError("this Polars has no rows without columns")
    name = "#".join(["", *query.names])  # none of them is as long
    height = frame.with_row_index(name).select(name).collect().height
    if height != query.whole.num_rows:
        raise Mismatch(f"{what}: {counted(height, 'row')} numbered, {query.whole.num_rows} read")


def _in_polars(*, lazy: bool) -> Callable[[_Query, str], None]:
    """Compared as Polars' own values: it has no maps, and other bounds of times."""

    def compare(query: _Query, what: str) -> None:
        try:
            with needs("polars", "rows in Polars"):
                import polars as pl
                import polars.selectors as cs
        except UnavailableError as error:
            raise _ClosedError(str(error)) from error
        if not query.names:
            raise _ClosedError("a lazy frame of Polars has a column")
        own = None if query.condition is None else in_polars(query.condition)
        shown = cs.by_name(*query.names)  # a name alone may be a pattern of many
        try:
            whole = pl.from_arrow(query.whole)
            assert isinstance(whole, pl.DataFrame)
            want = whole if own is None else whole.filter(own).select(shown)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _ClosedError(f"Polars takes no such rows, or tests none ({error})") from error
        frame = (
            _method(query.scan, "lazy")() if lazy else pl.scan_pyarrow_dataset(query.scan.dataset())
        )
        try:
            have = (frame if own is None else frame.filter(own).select(shown)).collect()
        except RefusedError as error:
            if lazy or "lazy()" not in str(error):
                raise
            raise _ClosedError(str(error)) from error
        if _sorted(want) == _sorted(have):
            return
        if not lazy and own is not None:
            # To Arrow a null is none of some values, to Polars that is null: not(a in (1, 2)).
            arrows = pl.scan_pyarrow_dataset(pads.dataset(query.whole))
            other = arrows.filter(own).select(shown).collect()
            if _sorted(other) == _sorted(have):
                raise _ClosedError(f"Polars has other rows of Arrow's own datasets, too: {own}")
        raise Mismatch(f"{what}: {have.height} rows, Polars has {want.height}: {own}")

    return compare


OUTLETS: Mapping[str, Callable[[_Query, str], None]] = {
    "to_reader": lambda query, what: _compared(
        replace(query, condition=None), what, list(query.scan.to_reader())
    ),
    "to_table": _own("to_table"),
    "stream": _stream,
    "count_rows": _counted,
    "head": _limited,
    "limit": _limited_dataset,
    "parts": _parts,
    "plans": _plans,
    "dataset": _arrow_dataset,
    "dataset in DuckDB": _in_duckdb(relation=False),
    "relation": _in_duckdb(relation=True),
    "dataset in Polars": _in_polars(lazy=False),
    "lazy": _in_polars(lazy=True),
    "numbered": _numbered,
}
"""Each asks for rows and raises `Mismatch` where they are others than they must be."""

_DIMENSIONS: tuple[Sequence[Any], ...] = (
    tuple(OUTLETS),
    (1, 2, 3, None),
    (1, 4),
    (None, _SMALL_MEMORY_BYTES),
    (False, True),
)


@cache
def all_ways() -> Sequence[Way]:
    """Every outlet under every setting."""
    return [Way(*values) for values in itertools.product(*_DIMENSIONS)]


@cache
def pairwise() -> Sequence[Way]:
    """Ways of which each two settings come together in one at least."""
    ways = {
        values: set(itertools.combinations(enumerate(values), 2))
        for values in itertools.product(*_DIMENSIONS)
    }
    missing = set().union(*ways.values())
    chosen = []
    while missing:
        best = max(ways, key=lambda values: len(ways[values] & missing))
        missing -= ways[best]
        chosen.append(Way(*best))
    return chosen


def drawn(number: int) -> Way:
    """One of them, so that neighbours by number have different outlets."""
    return pairwise()[number % len(pairwise())]


def _untested(either: Condition, names: Sequence[str]) -> Sequence[str]:
    """The columns that none of two comparisons tests; all if there are none."""
    _, (_, one, _), (_, other, _) = either
    return [name for name in names if name not in (one[0], other[0])] or names


def hold_way(scanner: Scanner, request: ScanRequest, way: Way, seed: str) -> str | None:
    """Ask for the rows of a request without a filter in one way; why the scan does not take it.

    The scanner's rows are known to be right as they come by themselves; the seed decides
    conditions.
    """
    whole = scanner.open(request).to_reader().read_all()
    rows = way.batch_rows
    varied = replace(
        request,
        # Single rows of very many say no more than those of thousands, and take minutes.
        batch_rows=None if rows is None else max(rows, whole.num_rows // _MOST_BATCHES),
        threads=way.threads,
        memory_limit_bytes=way.memory_limit_bytes,
    )
    names = list(whole.schema.names)
    tested: list[tuple[Condition | None, Sequence[str]]] = [(None, names)]
    if way.filtered and scanner.capabilities.get("pushdown"):
        # A query that shows other columns than it tests is another one for an engine.
        few = [(one, _untested(one, names)) for one in either(whole, f"{seed} {way}", _MOST_EITHER)]
        some = [(one, names) for one in conditions(whole, seed, _MOST_CONDITIONS)]
        tested = [*some, *few] or tested
    why = None
    for condition, shown in tested:
        scan = scanner.open(varied)
        try:
            OUTLETS[way.outlet](_Query(scan, whole, shown, condition), str(way))
        except _ClosedError as closed:
            why = str(closed)
    return why
