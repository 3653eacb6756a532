"""Arrow's encodings of a column: dictionaries, runs and views, and the type without them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that is left when dictionaries, runs and views are resolved, at any depth."""
    fields = [field.with_type(plain_type(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def plain_type(data_type: Any) -> Any:
    """The type that is left when dictionaries, runs and views are resolved, at any depth."""
    kinds = pa.types
    if kinds.is_string_view(data_type):
        return pa.large_string()
    if kinds.is_binary_view(data_type):
        return pa.large_binary()
    if kinds.is_dictionary(data_type) or kinds.is_run_end_encoded(data_type):
        return plain_type(data_type.value_type)
    if kinds.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(plain_type(data_type.value_type)))
    if kinds.is_large_list(data_type):
        return pa.large_list(data_type.value_field.with_type(plain_type(data_type.value_type)))
    if kinds.is_map(data_type):
        item = data_type.item_field.with_type(plain_type(data_type.item_type))
        return pa.map_(plain_type(data_type.key_type), item, keys_sorted=data_type.keys_sorted)
    if kinds.is_struct(data_type):
        return pa.struct([part.with_type(plain_type(part.type)) for part in data_type])
    return data_type
