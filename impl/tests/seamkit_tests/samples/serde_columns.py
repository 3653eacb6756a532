"""Requests, batches and columns of corner values, as the engines' own serdes are asked for them."""

from typing import Any

import pyarrow as pa

from seambase.serde import SerdeField, SerdeRequest
from seambase.types import Language, arrow_type, parse_type


def request(serde_format: str, *types: str, **options: object) -> SerdeRequest:
    """Columns c0, c1, ... of the types."""
    fields = [SerdeField(f"c{index}", text) for index, text in enumerate(types)]
    return SerdeRequest(serde_format, fields, options)


def batch(*arrays: pa.Array) -> pa.RecordBatch:
    """Columns c0, c1, ... of the arrays."""
    return pa.RecordBatch.from_arrays(list(arrays), names=[f"c{i}" for i in range(len(arrays))])


def column(language: Language, type_text: str, values: list[Any], nulls: bool = True) -> pa.Array:
    """A column of the type with these values (extension types by their storage) or no null ones."""
    kept = [value for value in values if nulls or value is not None]
    return _typed(arrow_type(parse_type(type_text, language)), kept)


def _typed(target: Any, values: list[Any]) -> pa.Array:
    if isinstance(target, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(target, _typed(target.storage_type, values))
    if pa.types.is_temporal(target):
        return pa.array(values, pa.int32() if target.bit_width == 32 else pa.int64()).view(target)
    if pa.types.is_list(target) and isinstance(target.value_type, pa.BaseExtensionType):
        # Arrow makes lists of an extension type of its storage only.
        stored = pa.array(values, pa.list_(target.value_type.storage_type))
        elements = pa.ExtensionArray.from_storage(target.value_type, stored.values)
        lists = pa.ListArray.from_arrays
        return lists(stored.offsets, elements, type=target, mask=stored.is_null())
    return pa.array(values, target)
