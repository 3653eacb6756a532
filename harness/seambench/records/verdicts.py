"""Verdicts: made here from what a run gave and what the oracle expects, and made again on reading.

Nobody who measures says whether an answer is right. They hand over rows, or digests that the
processes of a run made of their rows, to an expectation, which holds the oracle's; what comes of it
is a `Finding`, and its word follows from it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambase.wording import counted, uncoloured
from seambench.contracts.outcomes import Word
from seambench.engines.digest import digest_reader, digest_table, quote, rows_of
from seambench.records import compare
from seambench.records.model import Answered, Moved, Timing

#: Words of a timing that has no answer: what came instead.
_NO_ANSWER = frozenset({"not-offered", "unavailable", "error", "timeout", "crash"})
_REASON_LENGTH = 1000


@dataclass(frozen=True)
class Finding:
    """An answer beside the one that is expected."""

    expected: str  # digest of the oracle's rows
    answer: str  # digest of the rows that came
    # the first difference in words; also what no digest tells, such as a type
    difference: str | None = None
    rows: int | None = None
    bytes: int | None = None  # of the answer in Arrow; None where it is no Arrow

    @property
    def wrong(self) -> str | None:
        """What is wrong with it, or None."""
        if self.difference is not None:
            return self.difference
        if self.answer == self.expected:
            return None
        return f"rows {self.expected} expected, {self.answer} found"


@dataclass(frozen=True)
class Arrived:
    """What a step or a floor moved; there is no answer in it."""

    moved: Moved  # how much was sent, and how much arrived
    rows: int | None = None
    bytes: int | None = None  # the same as Arrow has them

    @property
    def wrong(self) -> str | None:
        """See `Finding`."""
        if self.moved.sent == self.moved.arrived:
            return None
        return f"{self.moved.sent} {self.moved.unit} were sent, {self.moved.arrived} arrived"


@dataclass(frozen=True)
class ExpectedRows:
    """Rows of a table, whatever their order."""

    digest: str
    schema: pa.Schema  # names and types they must have
    # a query in DuckDB that yields them, to name the first difference; None: the digests do
    sql: str | None = None

    def judge(self, read: pa.Table | pa.RecordBatch) -> Finding:
        """Compare rows with the oracle's."""
        table = pa.Table.from_batches([read]) if isinstance(read, pa.RecordBatch) else read
        difference = compare.schema_difference(self.schema, table.schema)
        answer = digest_reader(table, None if difference else self.schema)
        if difference is None and answer != self.digest:
            difference = self._difference(table)
        return Finding(self.digest, answer, difference, table.num_rows, int(table.nbytes))

    def _difference(self, table: pa.Table) -> str | None:
        if not self.schema.names:
            return f"{counted(rows_of(self.digest), 'row')} expected, {table.num_rows} found"
        if self.sql is None:
            return None
        with duckdb.connect() as con:
            con.execute("SET enable_progress_bar = false")
            con.register("answer", table)
            return compare.relation_difference(con, f"({self.sql})", "answer", self.schema.names)


@dataclass(frozen=True)
class ExpectedAnswer:
    """The answer of a query: few rows, whose doubles may differ by a rounding."""

    digest: str
    columns: Sequence[tuple[str, str]]  # name and DuckDB type of each column
    rows: Sequence[compare.Row]  # the oracle's, as Python values
    ordered: bool  # whether the order of the rows counts

    def judge(self, rows: Sequence[compare.Row], *, own_types: bool = False) -> Finding:
        """Compare rows of Python values with the oracle's.

        `own_types`: another engine than the oracle's typed them: a decimal may stand for the
        oracle's double (`compare.doubles_for_decimals`). The digest is that of the rows found, in
        which doubles within the tolerance have been replaced by the oracle's; other values are as
        they came.
        """
        if own_types:
            rows = compare.doubles_for_decimals(self.rows, rows)
        names = [name for name, _ in self.columns]
        difference = compare.row_difference(self.rows, rows, names, ordered=self.ordered)
        if difference is not None:
            # Values of other types have no digest in the oracle's: they are taken as text.
            text = pa.table({"row": [repr(tuple(row)) for row in rows]})
            return Finding(self.digest, digest_reader(text), difference, len(rows))
        same = compare.settled(self.rows, rows, ordered=self.ordered)
        return Finding(self.digest, self._digest(same), None, len(rows))

    def _digest(self, rows: Sequence[compare.Row]) -> str:
        with duckdb.connect() as con:
            con.execute("SET TimeZone = 'UTC'")
            con.execute("SET enable_progress_bar = false")
            kinds = ", ".join(f"CAST(NULL AS {kind}) AS {quote(n)}" for n, kind in self.columns)
            schema = con.sql(f"SELECT {kinds}").to_arrow_table().schema
            columns = [
                pa.array([row[at] for row in rows], kind) for at, kind in enumerate(schema.types)
            ]
            con.register("found", pa.Table.from_arrays(columns, schema=schema))
            casts = ", ".join(f"CAST({quote(n)} AS {k}) AS {quote(n)}" for n, k in self.columns)
            return digest_table(con, f"(SELECT {casts} FROM found)")  # noqa: S608 - quoted


def failure(error: Exception) -> tuple[Word, str]:
    """The word and the sentence for an exception that came instead of an answer."""
    text = str(error) or type(error).__name__
    if not isinstance(error, SeambenchError):
        text = f"{type(error).__name__}: {text}"
    text = uncoloured(text).strip().splitlines()[0][:_REASON_LENGTH]
    if isinstance(error, UnavailableError):
        return "unavailable", text
    if isinstance(error, RefusedError):
        return "not-offered", text
    return "timeout" if isinstance(error, TimeoutError) else "error", text


def verdict_problem(timing: Timing) -> str | None:
    """Why a timing's verdict does not follow from what is stored beside it, or None."""
    if isinstance(timing, Answered):
        came, right = timing.answer is not None, timing.answer == timing.expected
        facts = f"answer {timing.answer}, expected {timing.expected}"
    else:
        moved = timing.moved
        # Version 1 did not keep what arrived: its floors and steps stand as they are.
        came = moved is not None or timing.outcome == "pass"
        right = moved is None or moved.sent == moved.arrived
        facts = f"moved {moved}"
    follows = {"pass" if right and timing.reason is None else "fail"} if came else _NO_ANSWER
    if timing.outcome not in follows:
        return f"the verdict {timing.outcome} does not follow from {facts}, {timing.reason}"
    if (timing.outcome == "pass") == (timing.reason is not None):
        return f"{timing.outcome} with the reason {timing.reason}"
    if timing.outcome != "pass" and (timing.cold or timing.hot or timing.cpu):
        return f"times are kept without a right answer: {facts}"
    if timing.outcome == "pass" and not (timing.cold and timing.hot):
        return "it passes without a time"
    if len(timing.cpu) != len(timing.hot):
        return f"{counted(len(timing.hot), 'hot sample')}, {len(timing.cpu)} cpu ones"
    return None
