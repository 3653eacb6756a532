"""Batches that an implementation is handed: flat ones, or in the encodings of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambase.pages.reader import Page, page_options, read_pages
from seambase.types import arrow_type
from seambench.seams.serde.blocks import block_array
from seambench.seams.serde.values import arrow_array
from seambench.seams.serde.vectors import Expected, Vector


def batches_of(vector: Vector, given: Any = None) -> list[pa.RecordBatch]:
    """Record batches of a vector's values: flat, or in the encodings of its pages.

    `given` are Arrow types by column, for columns in another type than the format's.
    """
    if vector.data is not None and vector.request.format == "presto" and not vector.plain:
        pages = read_pages(vector.data, page_options(vector.request), list(vector.types))
        return [_page_batch(vector, page) for page in pages]
    return [_flat_batch(vector, batch, given or {}) for batch in vector.batches]


def _page_batch(vector: Vector, page: Page) -> pa.RecordBatch:
    pairs = zip(page.columns, vector.types, strict=True)
    arrays = [block_array(block, type_, vector.timestamps) for block, type_ in pairs]
    return _batch(vector, arrays, page.rows)


def _flat_batch(vector: Vector, batch: Expected, given: Any) -> pa.RecordBatch:
    arrays = []
    for field, type_, column in zip(
        vector.request.fields, vector.types, batch.columns, strict=True
    ):
        wanted = arrow_type(type_, vector.timestamps)
        if field.name in given:
            wanted = pa.type_for_alias(given[field.name])
        arrays.append(arrow_array(column, wanted))
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
