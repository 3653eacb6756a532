"""Serializers of vectors: rows appended in many small steps, flushed, written over, read again.

What a flush must give is worked out here from the plain values: an iterative serializer writes
values, so its pages are those of the plain writer, byte for byte, and its groups of rows those of
the plain writers of rows. A page written at once keeps encodings: its values are judged, and its
layout where the case file states one. Where an engine's own bytes of the steps are at hand, they
are what must come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seambase.errors import UsageError
from seambase.pages.reader import Page, layout_of, page_options, read_pages
from seambase.types import arrow_type
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.serde import Serde, StreamStep
from seambench.seams.serde.blocks import block_array
from seambench.seams.serde.cases import SerdeCase
from seambench.seams.serde.handed import changed, sliced
from seambench.seams.serde.plain_rows import framed
from seambench.seams.serde.values import arrow_array
from seambench.seams.serde.vectors import (
    Expected,
    Vector,
    decode_problem,
    plain_pages,
    plain_rows,
)
from seambench.seams.serde.written import encode_problem, written_again


def batches_of(vector: Vector, given: Any = None, *, beneath: bool = False) -> list[pa.RecordBatch]:
    """Record batches of a vector's values: flat, or in the encodings of its pages.

    `given` are Arrow types by column, for columns in another type than the format's; `beneath`
    nulls of flat ones, values stand where asked for.
    """
    if vector.data is not None and vector.request.format == "presto" and not vector.plain:
        pages = read_pages(vector.data, page_options(vector.request), list(vector.types))
        return [_page_batch(vector, page) for page in pages]
    return [_flat_batch(vector, batch, given or {}, beneath) for batch in vector.batches]


def _page_batch(vector: Vector, page: Page) -> pa.RecordBatch:
    pairs = zip(page.columns, vector.types, strict=True)
    arrays = [block_array(block, type_, vector.timestamps) for block, type_ in pairs]
    return _batch(vector, arrays, page.rows)


def _flat_batch(vector: Vector, batch: Expected, given: Any, beneath: bool) -> pa.RecordBatch:
    arrays = []
    for field, type_, column in zip(
        vector.request.fields, vector.types, batch.columns, strict=True
    ):
        wanted = arrow_type(type_, vector.timestamps)
        if field.name in given:
            wanted = pa.type_for_alias(given[field.name])
        arrays.append(arrow_array(column, wanted, beneath=beneath))
    return _batch(vector, arrays, batch.rows)


def _batch(vector: Vector, arrays: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
    """A batch of arrays; one without columns still has rows."""
    if not arrays:
        empty = pa.Array.from_buffers(pa.struct([]), rows, [None])
        return pa.RecordBatch.from_struct_array(empty)
    names = [field.name for field in vector.request.fields]
    fields = [
        pa.field(name, array.type, field.nullable)
        for name, array, field in zip(names, arrays, vector.request.fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(list(arrays), schema=pa.schema(fields))


_TIMES = 3


def steps_over(batches: Sequence[Expected]) -> list[StreamStep]:
    """Steps for any batches: ranges, lists in any order, rows twice, flushes with what was before.

    The last rows go through a page written at once.
    """
    steps = [StreamStep("flush")]
    for number, batch in enumerate(batches):
        half = batch.rows // 2
        steps.append(StreamStep("append", number, range=(half, batch.rows)))
        steps.append(StreamStep("append", number, rows=list(range(half))[::-1]))
        steps += [StreamStep("flush"), StreamStep("append", number), StreamStep("flush")]
    steps += [StreamStep("flush"), StreamStep("clear"), StreamStep("append", 0, range=(0, 0))]
    picked = [row for row in range(batches[0].rows) for _ in range(2)]
    steps += [StreamStep("append", 0, rows=picked), StreamStep("flush")]
    steps.append(StreamStep("write", len(batches) - 1, rows=picked[: batches[-1].rows][::-1]))
    return steps


def _rows(step: StreamStep, batch: Expected) -> Sequence[int]:
    if step.rows is not None:
        return step.rows
    return range(*step.range) if step.range is not None else range(batch.rows)


def replayed(
    batches: Sequence[Expected], steps: Sequence[StreamStep], *, keeps: bool
) -> Iterator[Expected]:
    """The pages or groups that steps give, as plain values.

    `keeps`: a flush keeps the rows, as Velox's of pages does; those of groups are gone.
    """
    none = held = Expected(0, [[] for _ in batches[0].columns])
    for step in steps:
        batch = batches[step.batch]
        rows = _rows(step, batch)
        taken = Expected(len(rows), [[column[row] for row in rows] for column in batch.columns])
        if step.do == "append":
            pairs = zip(held.columns, taken.columns, strict=True)
            held = Expected(held.rows + taken.rows, [[*a, *b] for a, b in pairs])
        elif step.do == "clear":
            held = none
        elif step.do == "flush":
            yield held
            held = held if keeps else none
        else:
            yield taken


def stream_batches(case: SerdeCase) -> list[pa.RecordBatch]:
    """The batches of a stream, in the dress that its case file says, as slices of longer ones."""
    batches = batches_of(replace(case.vector(), data=None))
    dressed = [_dressed(batch, case.dress) for batch in batches] if case.dress else batches
    return [changed(batch, sliced) for batch in dressed]


def _dressed(batch: pa.RecordBatch, dress: Mapping[str, str]) -> pa.RecordBatch:
    """A batch with columns handed over as constants or dictionaries."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, kind in dress.items():
        column = columns[name]
        if kind == "dictionary":
            columns[name] = column.dictionary_encode()
        elif kind == "constant" and len(column.unique()) == 1:
            ends = pa.array([len(column)], pa.int32())
            columns[name] = pa.RunEndEncodedArray.from_arrays(ends, column.slice(0, 1))
        else:
            raise UsageError(f"column {name!r} cannot be handed over as {kind!r}")
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def steps_of(case: SerdeCase) -> Sequence[StreamStep]:
    """The steps of a stream: those of its case file, or those that a set makes."""
    return case.steps or steps_over(case.vector().batches)


def write_stream(case: SerdeCase, serde: Serde) -> bytes:
    """What an implementation makes of a stream."""
    method: Any = serde.stream  # type: ignore[attr-defined]
    return bytes(method(case.vector().request, stream_batches(case), steps_of(case)))


def check_stream(case: SerdeCase, serde: Serde) -> None:
    """The steps give the pages or groups that their rows call for."""
    vector, steps = case.vector(), steps_of(case)
    written = write_stream(case, serde)
    if vector.data is not None and case.steps:
        if problem := written_again(vector, written):
            raise Mismatch(problem)
        return
    keeps = vector.request.format == "presto"
    pages = case.expected() if case.steps else list(replayed(vector.batches, steps, keeps=keeps))
    expected = _vector_of(vector, pages, keeps_encodings=bool(case.expect.layouts))
    if problem := encode_problem(expected, written):
        raise Mismatch(problem)
    if not case.expect.layouts:
        return
    written_pages = read_pages(written, page_options(vector.request), list(vector.types))
    for number, (page, layouts) in enumerate(zip(written_pages, case.expect.layouts, strict=True)):
        if (kept := [layout_of(block) for block in page.columns]) != list(layouts):
            raise Mismatch(f"page {number} has columns {kept}, {list(layouts)} is expected")


def _vector_of(vector: Vector, pages: Sequence[Expected], *, keeps_encodings: bool) -> Vector:
    """Pages or groups with their bytes by the plain writers.

    The payload of a page whose encodings are the writer's choice is not compared.
    """
    request, types = vector.request, vector.types
    if request.format == "presto":
        data = plain_pages(request, types, pages)
        traits = frozenset({"dictionary"} if keeps_encodings else ())
        return replace(vector, batches=pages, data=data, traits=traits, layouts=())
    groups = [framed(plain_rows(request, types, page), "velox-group") for page in pages]
    return replace(vector, batches=pages, data=b"".join(groups), dont_care=(), row_ends=())


def check_reread(vector: Vector, serde: Serde) -> None:
    """Read again and again into one result, the values are right and no memory is fresh."""
    method: Any = serde.reread  # type: ignore[attr-defined]
    batches, blocks = method(vector.request, vector.data, _TIMES)
    if problem := decode_problem(vector, batches):
        raise Mismatch(f"read {_TIMES} times: {problem}")
    if len(blocks) != _TIMES or len(set(blocks)) != 1:
        raise Mismatch(f"blocks allocated until the end of each time: {list(blocks)}")
    if not blocks[0] and any(batch.rows for batch in vector.batches if batch.columns):
        raise Mismatch("rows were read, and no block of memory is said to be allocated")
