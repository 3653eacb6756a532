"""Rows of declarations, as Spark takes them and as it gives them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from seambench.conformance.plain import canonical, typed

#: Of larger tables the witness keeps the number of rows alone.
_WITNESSED_ROWS = 100


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


def witness(frame: Any) -> dict[str, Any]:
    """The rows of a frame of Spark's in the words of cases; of a large table their number."""
    names, count = frame.columns, frame.count()
    if count > _WITNESSED_ROWS:
        return {"columns": names, "count": count}
    return {"columns": names, "rows": in_words(frame.collect())}


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


def in_words(
    rows: Iterable[Iterable[Any]], plain: Callable[[Any], Any] = plain_value
) -> list[list[str]]:
    """Rows of Spark's in the words of cases, in order."""
    return sorted([canonical(plain(value)) for value in row] for row in rows)
