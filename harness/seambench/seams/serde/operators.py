"""Operators of an engine between columns and rows: what they must make of a vector's values.

The rows are those of the plain writer, byte for byte. They go in as slices of one batch, with
batches without rows before, between and behind them, which give no rows and no batch. How many
rows each call makes, and each batch has, follows from the lengths of the plain writer's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seambase.wording import counted
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.serde import Operated, Serde
from seambench.seams.serde.given import batches_of
from seambench.seams.serde.plain_rows import unsafe_row
from seambench.seams.serde.vectors import Expected, Vector, decode_problem
from seambench.seams.serde.written import first_difference

_UNBOUNDED = 2**63 - 1


def operated(vector: Vector, serde: Serde) -> Operated:
    """What an implementation's operators make of a vector's values."""
    method: Any = serde.operate  # type: ignore[attr-defined]
    result: Operated = method(vector.request, [piece for piece, _ in _pieces(vector)])
    return result


def check_operators(vector: Vector, serde: Serde) -> None:
    """Rows, calls, batches and their values are those that the given values call for."""
    options = vector.request.options
    most_bytes = int(options.get("threshold_bytes", _UNBOUNDED))
    found = operated(vector, serde)
    _require_rows(vector, [bytes(row) for call in found.calls for row in call])
    lengths = [len(row) for row in _plain(vector)]
    if "threshold_bytes" in options:
        _require_calls(vector, lengths, most_bytes, found)
    if {"threshold_bytes", "batch_rows"} & set(options):
        most_rows = int(options.get("batch_rows", _UNBOUNDED))
        sizes = list(_cuts(lengths, most_rows, most_bytes))
        _require_sizes("batches", sizes, [batch.num_rows for batch in found.batches])
    _require_values(vector, found.batches)
    if found.held:
        raise Mismatch(f"{counted(found.held, 'thing')} were not given back")


def _pieces(vector: Vector) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batches that go in, and how many rows each has."""
    for batch in batches_of(replace(vector, data=None)):
        rows = batch.num_rows
        first = min(1, rows)
        for begin, count in ((0, 0), (0, first), (first, 0), (first, rows - first), (rows, 0)):
            yield batch.slice(begin, count), count


def _plain(vector: Vector) -> list[bytes]:
    """The rows as the plain writer has them."""
    writer = str(vector.request.options.get("writer", "spark"))
    return [
        unsafe_row([column[row] for column in batch.columns], vector.types, writer)
        for batch in vector.batches
        for row in range(batch.rows)
    ]


def _require_rows(vector: Vector, rows: Sequence[bytes]) -> None:
    wanted = _plain(vector)
    if len(rows) != len(wanted):
        raise Mismatch(f"{counted(len(wanted), 'row')} expected, {len(rows)} came")
    for number, (want, row) in enumerate(zip(wanted, rows, strict=True)):
        if want != row:
            raise Mismatch(f"row {number} has other bytes: {first_difference(want, row)}")


def _cuts(lengths: Sequence[int], most_rows: int, most_bytes: int) -> Iterator[int]:
    """How many rows lie in each part, where parts are cut as late as the bounds allow."""
    rows, size = 0, 0
    for length in lengths:
        if rows and (rows == most_rows or size + length > most_bytes):
            yield rows
            rows, size = 0, 0
        rows, size = rows + 1, size + length
    if rows:
        yield rows


def _require_calls(vector: Vector, lengths: Sequence[int], most: int, found: Operated) -> None:
    """Each batch that went in is cut for itself."""
    sizes: list[int] = []
    begin = 0
    for _, count in _pieces(vector):
        sizes += _cuts(lengths[begin : begin + count], _UNBOUNDED, most)
        begin += count
    _require_sizes("calls", sizes, [len(call) for call in found.calls])


def _require_sizes(what: str, wanted: Sequence[int], found: Sequence[int]) -> None:
    if list(wanted) != list(found):
        raise Mismatch(f"{what} of {list(wanted)} rows expected, {list(found)} came")


def _require_values(vector: Vector, batches: Sequence[pa.RecordBatch]) -> None:
    """The rows of all batches together; none is empty."""
    if any(not batch.num_rows for batch in batches):
        raise Mismatch("a batch without rows was made")
    pages: list[Expected] = []
    rows = iter(
        [column[row] for column in batch.columns]
        for batch in vector.batches
        for row in range(batch.rows)
    )
    for batch in batches:
        taken = [row for _, row in zip(range(batch.num_rows), rows, strict=False)]
        columns = list(map(list, zip(*taken, strict=True))) or [[] for _ in vector.types]
        pages.append(Expected(len(taken), columns))
    if (left := sum(1 for _ in rows)) or any(
        page.rows != batch.num_rows for page, batch in zip(pages, batches, strict=True)
    ):
        count = sum(batch.num_rows for batch in batches)
        raise Mismatch(f"batches of {counted(count, 'row')} came, {left} are missing")
    if problem := decode_problem(replace(vector, batches=pages), batches):
        raise Mismatch(problem)
