"""Rows of declarations, as Spark takes them and as it gives them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seambench.conformance.plain import typed


def data_frame(session: Any, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> Any:
    """Declared rows, as cases spell them, as a frame of one partition; what is left out is null."""
    values = [
        tuple(_for_spark(typed(row.get(name), type_)) for name, type_ in columns.items())
        for row in rows
    ]
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in columns.items())
    return session.createDataFrame(values, schema).coalesce(1)


def _for_spark(value: Any) -> Any:
    """A value as Spark takes it: pairs, which are the entries of a map, as a dictionary."""
    if isinstance(value, dict):
        return {name: _for_spark(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], tuple):
        return {name: _for_spark(inner) for name, inner in value}
    return [_for_spark(item) for item in value]


def plain_value(value: Any) -> Any:
    """Spark's Python value as cases compare it: entries of maps are pairs, variants their parts."""
    if type(value).__name__ == "VariantVal":  # Spark 4 has the class
        return {"metadata": bytes(value.metadata), "value": bytes(value.value)}
    if isinstance(value, bytearray):
        return bytes(value)
    if hasattr(value, "asDict"):
        return {name: plain_value(inner) for name, inner in value.asDict().items()}
    if isinstance(value, list):
        return [plain_value(inner) for inner in value]
    if isinstance(value, dict):
        return [(plain_value(key), plain_value(inner)) for key, inner in value.items()]
    return value
