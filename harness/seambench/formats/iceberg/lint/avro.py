"""Avro files of metadata by field ids, their values without logical types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro

Row = dict[Any, Any]


@dataclass(frozen=True)
class AvroFile:
    """What stands in an Avro file.

    Attributes:
        rows: records by field ids, or by names where a field has none.
    """

    metadata: Mapping[str, str]
    schema: Any
    rows: list[Row]

    def nameless(self) -> list[str]:
        """Fields of records at any depth that have no id."""
        return list(_nameless(self.schema))


def read_avro(file: Path) -> AvroFile:
    """Read a file to its last sync marker.

    Raises:
        OSError, ValueError, EOFError, TypeError, KeyError: it is no whole Avro file.
    """
    rows: list[Row] = []
    with file.open("rb") as stream:
        reader = fastavro.block_reader(stream)
        schema = json.loads(reader.metadata["avro.schema"])
        plain = fastavro.parse_schema(_bare(schema))
        for block in reader:
            rows += [
                _by_id(schema, fastavro.schemaless_reader(block.bytes_, plain, None))
                for _ in range(block.num_records)
            ]
    return AvroFile(dict(reader.metadata), schema, rows)


def _bare(schema: Any) -> Any:
    if isinstance(schema, dict):
        left_out = ("logicalType", "default", "field-id")
        return {name: _bare(value) for name, value in schema.items() if name not in left_out}
    return [_bare(one) for one in schema] if isinstance(schema, list) else schema


def _by_id(schema: Any, value: Any) -> Any:
    if isinstance(schema, list):
        schema = next((one for one in schema if one != "null"), "null")
    if value is None or not isinstance(schema, dict):
        return value
    if schema["type"] == "record":
        fields = schema["fields"]
        return {f.get("field-id", f["name"]): _by_id(f["type"], value[f["name"]]) for f in fields}
    if schema["type"] == "array":
        items = schema["items"]
        if isinstance(items, dict) and [f["name"] for f in items.get("fields", [])] == [
            "key",
            "value",
        ]:
            return {one["key"]: one["value"] for one in value}
        return [_by_id(items, one) for one in value]
    return value


def _nameless(schema: Any) -> Any:
    for one in schema if isinstance(schema, list) else [schema]:
        if isinstance(one, dict) and one.get("type") == "record":
            for field in one["fields"]:
                if "field-id" not in field:
                    yield field["name"]
                yield from _nameless(field["type"])
        elif isinstance(one, dict) and one.get("type") == "array":
            yield from _nameless(one["items"])
