"""What columns of data files may be, by the types of a Delta table's schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from seambench.formats.lint.values import fits

#: Types by name, and as what files may have them, which may be older than a wider type.
_HELD = {
    "string|binary": r"(large_)?(string|binary)",
    "byte|short|integer": r"u?int(8|16|32)",
    "long": r"u?int\d+",
    "float": r"float|halffloat",
    "double": r"float|double|u?int(8|16|32)",
    "boolean": "bool",
    "date": "date32.*",
    # Nanoseconds without a zone are those of INT96, too.
    "timestamp": r"timestamp\[([mu]s.*|ns)\]",
    "timestamp_ntz": r"timestamp\[([mu]s.*|ns)\]|date32.*",
    "decimal.*": r"decimal.*|u?int\d+",
    "variant": "struct.*|extension.*",
}


def physical(field: Mapping[str, Any], *, mapped: bool) -> str:
    """By which name files have a field."""
    own = (field.get("metadata") or {}).get("delta.columnMapping.physicalName")
    return str(own if mapped and own else field["name"])


def misfit(kind: Any, held: pa.DataType, *, mapped: bool) -> str:
    """Why a file's column cannot be read as a type of the schema; empty where it can."""
    if isinstance(kind, str):
        says = f"the file has it as {held}, the table as {kind}"
        return "" if fits(kind, held, _HELD) else says
    parts = {"array": ["elementType"], "map": ["keyType", "valueType"]}.get(kind["type"])
    if parts is None and pa.types.is_struct(held):
        inner = {one.name: one.type for one in held}
        pairs = [(one["type"], inner.get(physical(one, mapped=mapped))) for one in kind["fields"]]
    elif parts and pa.types.is_nested(held) and not pa.types.is_struct(held):
        known = [held.key_type, held.item_type] if pa.types.is_map(held) else [held.value_type]
        if len(known) != len(parts):
            return f"the file has it as {held}, the table as {kind['type']}"
        pairs = [(kind[part], type_) for part, type_ in zip(parts, known, strict=True)]
    else:
        return f"the file has it as {held}, the table as {kind['type']}"
    wrong = (misfit(part, type_, mapped=mapped) for part, type_ in pairs if type_ is not None)
    return next(filter(None, wrong), "")
