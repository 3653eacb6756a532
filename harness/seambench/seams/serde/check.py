"""Running one case of the serde seam.

Decoding is judged on plain values. Encoding is judged on bytes where the format leaves no choice,
and on what an independent reader finds in them where it does. Both are asked in several ways that
must give the same: unaligned input, slices, dictionaries.

Operators of an engine between columns and rows must make the rows of the plain writer, byte for
byte, of slices of one batch, with batches without rows before, between and behind them, which give
no rows and no batch. How many rows each call makes, and each batch has, follows from the lengths of
the plain writer's rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambase.serde import SerdeRequest
from seambase.wording import counted
from seambench.conformance.judge import as_mismatch
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.contracts.serde import Operated, Serde
from seambench.seams.serde.cases import DAMAGE, SerdeCase, common_needs
from seambench.seams.serde.damage import check_damage
from seambench.seams.serde.handed import (
    Change,
    as_runs,
    at_leaves,
    changed,
    sliced,
    through_entries,
    through_values,
)
from seambench.seams.serde.streams import batches_of, check_reread, check_stream, write_stream
from seambench.seams.serde.values import flat_type
from seambench.seams.serde.vectors import Expected, Vector, decode_problem, plain_rows
from seambench.seams.serde.written import encode_problem, first_difference, written_again


def check_serde(case: SerdeCase, serde: Serde) -> None:
    """Decode, encode or damage a case's vector."""
    vector = case.vector()
    if case.operation == "stream":
        check_stream(case, serde)
    elif case.operation == "reread":
        check_reread(vector, serde)
    elif case.operation == "operate":
        check_operators(vector, serde)
    elif case.operation in DAMAGE:
        check_damage(case.operation, vector, serde)
    else:
        _CHECKS[case.operation](case, vector, serde)


def attempt_serde(case: SerdeCase, serde: Serde) -> None:
    """Decode or encode what must be refused."""
    vector = case.vector()
    if case.operation == "stream":
        write_stream(case, serde)
    elif case.operation == "operate":
        operated(vector, serde)
    elif case.operation == "encode":
        serde.serialize(vector.request, batches_of(vector, case.given_types))
    else:
        assert vector.data is not None
        serde.deserialize(vector.request, vector.data)


def produce_serde(case: SerdeCase, serde: Serde) -> bytes:
    """Bytes of a case's values, for others to read."""
    vector = case.vector()
    _require_offered(["serialize", *common_needs(vector)], serde)
    with as_mismatch():
        return bytes(serde.serialize(vector.request, batches_of(vector, case.given_types)))


def consume_serde(case: SerdeCase, serde: Serde, data: bytes) -> None:
    """Read what another wrote of a case's values."""
    vector = case.vector()
    _require_offered(["deserialize", *common_needs(vector)], serde)
    with as_mismatch():
        _require(vector, serde.deserialize(vector.request, data), "")


def _require_offered(needs: Sequence[str], serde: Serde) -> None:
    for need in needs:
        if not serde.capabilities.get(need):
            raise NotOffered(f"no {need}")


def _decode(_: SerdeCase, vector: Vector, serde: Serde) -> None:
    """The bytes give the values, also from an odd address and without encodings."""
    data = vector.data
    if data is None:
        raise NotOffered("no bytes are known")
    request = vector.request
    first = serde.deserialize(request, data)
    _require(vector, first, "")
    shifted = memoryview(b"\0" + data)[1:]
    _require(vector, serde.deserialize(request, shifted), "from an odd address: ")
    if not vector.traits.isdisjoint({"rle", "dictionary"}):
        _require_kept(vector, serde.deserialize(request, data))
        flatten = replace(request, options={**request.options, "encodings": "flatten"})
        batches = serde.deserialize(flatten, data)
        _require(vector, batches, "flattened: ")
        for batch in batches:
            if bent := [f.name for f in batch.schema if f.type != flat_type(f.type)]:
                raise Mismatch(f"flattened, column {bent[0]!r} is still encoded")
    _require(vector, first, "read first, looked at after others were read: ")


def _require(vector: Vector, batches: Sequence[pa.RecordBatch], how: str) -> None:
    if problem := decode_problem(vector, batches):
        raise Mismatch(f"{how}{problem}")


def _require_kept(vector: Vector, batches: Sequence[pa.RecordBatch]) -> None:
    """A dictionary stays a dictionary, a run a run."""
    for layouts, batch in zip(vector.layouts, batches, strict=False):
        for layout, name, column in zip(layouts, batch.schema.names, batch.columns, strict=True):
            if layout.startswith("DICTIONARY") and not pa.types.is_dictionary(column.type):
                raise Mismatch(f"column {name!r} came as a dictionary and is {column.type}")
            if layout.startswith("RLE") and not pa.types.is_run_end_encoded(column.type):
                raise Mismatch(f"column {name!r} came as a run and is {column.type}")


def _encode(case: SerdeCase, vector: Vector, serde: Serde) -> None:
    """The values give bytes that hold them, and just the bytes known where there is no choice."""
    batches = batches_of(vector, case.given_types)
    written = bytes(serde.serialize(vector.request, batches))
    if problem := encode_problem(vector, written):
        raise Mismatch(problem)
    is_arrow = vector.request.format == "arrow"
    # By its C data interface, who takes arrays of Arrow need not take those with an offset.
    with suppress(RefusedError) if is_arrow else nullcontext():
        _same("a slice of a longer batch", vector, written, serde, _changed(batches, sliced))
    if is_arrow:
        return
    if vector.data is None or vector.plain:
        covered = batches_of(vector, case.given_types, beneath=True)
        _same("values beneath nulls, which mean nothing,", vector, written, serde, covered)
    nested = any(pa.types.is_nested(field.type) for batch in batches for field in batch.schema)
    flat, stated = replace(vector, request=_flattening(vector.request)), serde.capabilities
    for encoding, what, change, is_deep in _ENCODED if vector.plain else ():
        # Where nothing is nested, every depth is the first, which is handed over anyhow.
        if stated.get(f"encodings.{encoding}") and (nested or not is_deep):
            _same(f"{what}, flattened,", flat, written, serde, _changed(batches, change))


#: Encodings, how they are put to a reader, and whether parts within nested columns have them.
_ENCODED: Sequence[tuple[str, str, Change, bool]] = (
    ("dictionary", "dictionaries", through_entries, False),
    ("dictionary", "dictionaries at every depth", at_leaves(through_entries), True),
    ("dictionary", "a slice of dictionaries", lambda column: sliced(through_values(column)), False),
    (
        "dictionary",
        "a slice of dictionaries at every depth",
        lambda column: sliced(at_leaves(through_values)(column)),
        True,
    ),
    ("rle", "runs", as_runs, False),
    ("rle", "a slice of runs", lambda column: sliced(as_runs(column)), False),
    (
        "rle",
        "a slice of runs at every depth",
        lambda column: sliced(at_leaves(as_runs)(column)),
        True,
    ),
)


def _changed(batches: Sequence[pa.RecordBatch], change: Change) -> list[pa.RecordBatch]:
    return [changed(batch, change) for batch in batches]


def _flattening(request: SerdeRequest) -> SerdeRequest:
    """A request under which encodings are not kept; rows never keep any."""
    extra = {"encodings": "flatten"} if request.format == "presto" else {}
    return replace(request, options={**request.options, **extra})


def _same(
    what: str, vector: Vector, want: bytes, serde: Serde, batches: Sequence[pa.RecordBatch]
) -> None:
    """Another way to hand over the same values must give the same bytes."""
    have = bytes(serde.serialize(vector.request, batches))
    if not vector.plain:
        if problem := encode_problem(vector, have):
            raise Mismatch(f"{what}: {problem}")
        return
    if have != want:
        raise Mismatch(f"{what} gives other bytes: {first_difference(want, have)}")


def _re_encode(_: SerdeCase, vector: Vector, serde: Serde) -> None:
    """What was read is written again as it was, encodings and flags included."""
    if vector.data is None:
        raise NotOffered("no bytes are known")
    # What an Arrow batch cannot say of a page rides with it where the layout is to be kept.
    layout = {"layout": "preserve"} if vector.request.format == "presto" else {}
    request = replace(vector.request, options={**vector.request.options, **layout})
    written = bytes(serde.serialize(request, serde.deserialize(request, vector.data)))
    if problem := written_again(vector, written):
        raise Mismatch(problem)


_CHECKS = {"decode": _decode, "encode": _encode, "re-encode": _re_encode}


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
    came = operated(vector, serde)
    _require_rows(vector, [bytes(row) for call in came.calls for row in call])
    lengths = [len(row) for row in _plain(vector)]
    if "threshold_bytes" in options:
        _require_calls(vector, lengths, most_bytes, came)
    if {"threshold_bytes", "batch_rows"} & set(options):
        most_rows = int(options.get("batch_rows", _UNBOUNDED))
        sizes = list(_cuts(lengths, most_rows, most_bytes))
        _require_sizes("batches", sizes, [batch.num_rows for batch in came.batches])
    _require_values(vector, came.batches)
    if came.held:
        raise Mismatch(f"{counted(came.held, 'thing')} were not given back")


def _pieces(vector: Vector) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batches that go in, and how many rows each has."""
    for batch in batches_of(replace(vector, data=None)):
        rows = batch.num_rows
        first = min(1, rows)
        for begin, count in ((0, 0), (0, first), (first, 0), (first, rows - first), (rows, 0)):
            yield batch.slice(begin, count), count


def _plain(vector: Vector) -> list[bytes]:
    """The rows as the plain writer has them."""
    pieces = (plain_rows(vector.request, vector.types, batch) for batch in vector.batches)
    return list(chain.from_iterable(pieces))


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


def _require_calls(vector: Vector, lengths: Sequence[int], most: int, given: Operated) -> None:
    """Each batch that went in is cut for itself."""
    sizes: list[int] = []
    begin = 0
    for _, count in _pieces(vector):
        sizes += _cuts(lengths[begin : begin + count], _UNBOUNDED, most)
        begin += count
    _require_sizes("calls", sizes, [len(call) for call in given.calls])


def _require_sizes(what: str, wanted: Sequence[int], given: Sequence[int]) -> None:
    if list(wanted) != list(given):
        raise Mismatch(f"{what} of {list(wanted)} rows expected, {list(given)} came")


def _require_values(vector: Vector, batches: Sequence[pa.RecordBatch]) -> None:
    """The rows of all batches together; none is empty."""
    if any(not batch.num_rows for batch in batches):
        raise Mismatch("a batch without rows was made")
    pages: list[Expected] = []
    rows = chain.from_iterable(batch.by_row for batch in vector.batches)
    for batch in batches:
        taken = list(islice(rows, batch.num_rows))
        pages.append(Expected.of_rows(taken, len(vector.types)))
    if (left := sum(1 for _ in rows)) or any(
        page.rows != batch.num_rows for page, batch in zip(pages, batches, strict=True)
    ):
        count = sum(batch.num_rows for batch in batches)
        raise Mismatch(f"batches of {counted(count, 'row')} came, {left} are missing")
    if problem := decode_problem(replace(vector, batches=pages), batches):
        raise Mismatch(problem)
