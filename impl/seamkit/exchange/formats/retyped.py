"""Batches as they come out of pages and rows in the types of the schema that they were made of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.serde import SerdeField
from seamkit.serde.presto.schema import has_nulls
from seamkit.serde.stream.result import flattened

#: An engine's fields of a schema.
Words = Callable[[pa.Schema], Sequence[SerdeField]]


class Bound:
    """Makes batches of an exchange's own schema of such as were read.

    The bytes do not say what may be null, how wide offsets were, and what was a dictionary or runs.
    Small batches that become one page lose their encodings, and another engine's page may have
    such where this schema has none.

    Args:
        schema: of the exchange.
        words: in which the types of both must be the same; None where they are the same at once.
    """

    def __init__(self, schema: pa.Schema, words: Words | None = None) -> None:
        self.schema = schema
        self._words = words
        self._sure = [number for number, field in enumerate(schema) if _is_sure(field)]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch, in which nothing is null that cannot be."""
        schema, given, columns = self.schema, batch.schema, batch.columns
        if self._words and (given.types != schema.types or given.names != schema.names):
            _check_words(given, schema, self._words)
            plain = map(flattened, columns)
            columns = [retyped(*both) for both in zip(plain, schema.types, strict=True)]
        if not columns:
            return batch.replace_schema_metadata(schema.metadata)  # keeps the number of its rows
        return self.held(pa.RecordBatch.from_arrays(columns, schema=schema))

    def held(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of this schema, unless it has a null where there can be none."""
        for number in self._sure:
            field = self.schema.field(number)
            _hold(batch.column(number), field, field.name)
        return batch


def _parts(kind: pa.DataType) -> list[pa.Field]:
    """What a nested type says of what lies within; keys of maps are looked at by who reads them."""
    if pa.types.is_map(kind):
        return [kind.item_field]
    if pa.types.is_nested(kind) and not pa.types.is_run_end_encoded(kind):
        return [kind.field(number) for number in range(kind.num_fields)]
    return []


def _is_sure(field: pa.Field) -> bool:
    """Whether a field, or one within it, is never null."""
    return not field.nullable or any(map(_is_sure, _parts(field.type)))


def _hold(array: pa.Array, field: pa.Field, path: str) -> None:
    if not field.nullable and has_nulls(array):
        raise InputError(f"a chunk has a null in {path!r}, which can hold none")
    if not (len(array) and any(map(_is_sure, _parts(array.type)))):
        return
    if pa.types.is_struct(array.type):
        inner = array.drop_null().flatten()
    else:
        inner = [_map_items(array.drop_null()) if pa.types.is_map(array.type) else array.flatten()]
    for one, part in zip(inner, _parts(array.type), strict=True):
        _hold(one, part, f"{path}.{part.name}")


def _map_items(maps: pa.MapArray) -> pa.Array:
    """The values of maps without nulls; Arrow has those that a slice leaves out among them."""
    if not len(maps):
        return maps.items[:0]
    first, end = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return maps.items[first:end]


def _check_words(given: pa.Schema, schema: pa.Schema, words: Words) -> None:
    found, wanted = words(given), words(schema)
    if [(one.name, one.type) for one in found] != [(one.name, one.type) for one in wanted]:
        raise InputError(f"a chunk of another schema: {given.types}, not {schema.types}")


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
