"""Batches as they come out of pages and rows in the types of the schema that they were made of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.serde import SerdeField
from seamkit.serde.stream.result import flattened

#: An engine's fields of a schema.
Words = Callable[[pa.Schema], Sequence[SerdeField]]


def in_schema(batch: pa.RecordBatch, schema: pa.Schema, words: Words) -> pa.RecordBatch:
    """The batch in the exchange's own schema.

    The bytes do not say what may be null, how wide offsets were, and what was a dictionary or runs.
    Small batches that become one page lose their encodings, and another engine's page may have
    such where this schema has none.

    Args:
        batch: as it was read.
        schema: of the exchange.
        words: in which the types of both must be the same.
    """
    if batch.schema.types != schema.types or batch.schema.names != schema.names:
        _check_words(batch.schema, schema, words)
        columns = map(flattened, batch.columns)
        arrays = [retyped(*both) for both in zip(columns, schema.types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    return rebound(batch, schema)


def _check_words(given: pa.Schema, schema: pa.Schema, words: Words) -> None:
    found, wanted = words(given), words(schema)
    if [(one.name, one.type) for one in found] != [(one.name, one.type) for one in wanted]:
        raise InputError(f"a chunk of another schema: {given.types}, not {schema.types}")


def rebound(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in a schema of the same types: nullability and metadata are not in the bytes."""
    if not schema.names:
        return batch.replace_schema_metadata(schema.metadata)  # keeps the number of its rows
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def retyped(array: pa.Array, kind: Any) -> pa.Array:
    """A plain array without an offset in a type whose values are the same."""
    kinds = pa.types
    if array.type == kind:
        return array
    if kinds.is_dictionary(kind):
        return _as_dictionary(retyped(array, kind.value_type), kind)
    if kinds.is_run_end_encoded(kind):
        ends = counted_by(kind.run_end_type, np.arange(1, len(array) + 1), kind)
        return pa.RunEndEncodedArray.from_arrays(ends, retyped(array, kind.value_type), kind)
    return _nested(array, kind) if kinds.is_nested(kind) else array.cast(kind)


def _as_dictionary(values: pa.Array, kind: Any) -> pa.Array:
    indices = np.arange(len(values))
    if not (pa.types.is_dictionary(values.type) or pa.types.is_run_end_encoded(values.type)):
        with contextlib.suppress(pa.ArrowNotImplementedError):  # as nested ones and others are
            encoded = values.dictionary_encode()
            indices, values = encoded.indices, encoded.dictionary
    indices = counted_by(kind.index_type, indices, kind)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def counted_by(counter: Any, numbers: Any, kind: Any) -> pa.Array:
    """Numbers as the type that counts, where it has them."""
    try:
        return pa.array(numbers).cast(counter)
    except pa.ArrowInvalid as error:
        raise RefusedError(f"a chunk has more values than {kind} can count: {error}") from None


def _nested(array: pa.Array, kind: Any) -> pa.Array:
    """The same lists, maps or structs around children of other types."""
    kinds = pa.types
    buffers = [array.buffers()[0]]
    if kinds.is_struct(kind):
        children = [retyped(array.field(at), part.type) for at, part in enumerate(kind)]
        return pa.Array.from_buffers(kind, len(array), buffers, children=children)
    is_map = kinds.is_map(kind)
    inner = pa.struct([kind.key_field, kind.item_field]) if is_map else kind.value_type
    wide = pa.int64() if kinds.is_large_list(kind) else pa.int32()
    buffers.append(array.offsets.cast(wide).buffers()[1])
    children = [retyped(array.values, inner)]
    return pa.Array.from_buffers(kind, len(array), buffers, children=children)
