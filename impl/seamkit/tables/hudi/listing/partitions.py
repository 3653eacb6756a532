"""Partition columns: their types, and their values from a partition's path.

Hudi 1.2.0 takes the values of partition columns from the path, not from the rows, unless a key
generator made the path from a time (`SparkHoodieTableFileIndex`, `SparkParsePartitionUtil`). The
difference shows where an empty text became the default partition (null), and where a global index
kept a row in its old partition. What cannot be read from the path comes from the rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from seamkit.tables.hudi.config.properties import TableConfig

__all__ = ["PartitionColumns", "partition_schema"]

_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"[+-]?\d+")


def partition_schema(schema: pa.Schema, config: TableConfig) -> pa.Schema:
    """The table's schema with its partition columns as Hudi 1.2.0 shows them.

    Dropped ones that the schema does not tell come last, as text; those of which a key generator
    made times are text. Points in time stay what they are: Hudi's text of them depends on whether
    a log applies ("2024-01-01 01:30:00" or microseconds).
    """
    for name in config.partition_fields:
        at = schema.get_field_index(name)
        if at < 0 and config.drops_partition_columns:
            schema = schema.append(pa.field(name, pa.string()))
        elif (
            at >= 0
            and config.key_generator == "timestamp"
            and not pa.types.is_timestamp(schema.field(at).type)
        ):
            schema = schema.set(at, pa.field(name, pa.string()))
    return schema


class PartitionColumns:
    """What the path of a partition says of its rows.

    Args:
        config: the table's properties.
        schema: the table's schema, partition columns included.
    """

    def __init__(self, config: TableConfig, schema: pa.Schema) -> None:
        self._fields = config.partition_fields
        times = () if config.drops_partition_columns else config.time_partition_fields
        self._read = {
            name: schema.field(name)
            for name in self._fields
            if name not in times and schema.get_field_index(name) >= 0
        }
        self._schema = schema
        self._known: dict[str, Mapping[str, pa.Scalar]] = {}

    def values(self, partition: str) -> Mapping[str, pa.Scalar]:
        """Values that all rows of a partition have, by column; others are told by the rows.

        Args:
            partition: its path below the table.
        """
        if partition not in self._known:
            self._known[partition] = self._parse(partition)
        return self._known[partition]

    def _parse(self, partition: str) -> Mapping[str, pa.Scalar]:
        if not self._fields or not partition:
            return {}
        parts = partition.split("/")
        if len(parts) != len(self._fields):
            return self._whole(partition) if len(self._fields) == 1 else {}
        found = {}
        for name, part in zip(self._fields, parts, strict=True):
            key, equals, text = part.partition("=")
            if equals and key != name:
                return {}
            if name in self._read:
                value = _value(text if equals else part, self._read[name].type)
                if value is not None:
                    found[name] = value
        return found

    def _whole(self, partition: str) -> Mapping[str, pa.Scalar]:
        """A single column whose value has slashes: the whole path, as it stands."""
        (name,) = self._fields
        if name not in self._read or not pa.types.is_string(self._read[name].type):
            return {}
        return {name: pa.scalar(partition.removeprefix(f"{name}="))}


def _value(text: str, kind: pa.DataType) -> pa.Scalar | None:
    """The value that a part of a path stands for, or None if it is none of the column's type."""
    if text == _DEFAULT_PARTITION:
        return pa.scalar(None, kind)
    try:
        return pa.scalar(_python_value(text, kind), kind)
    except (ValueError, InvalidOperation, pa.ArrowException, OverflowError):
        return None


def _python_value(text: str, kind: pa.DataType) -> Any:
    """Raises ValueError if the text is none of the type."""
    if pa.types.is_string(kind):
        return re.sub(r"%([0-9a-fA-F]{2})", lambda m: chr(int(m[1], 16)), text)
    if pa.types.is_integer(kind) and _INTEGER.fullmatch(text):
        return int(text)
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_decimal(kind):
        return Decimal(text)
    if pa.types.is_date32(kind):
        return date.fromisoformat(text)
    if pa.types.is_boolean(kind) and text.lower() in ("true", "false"):
        return text.lower() == "true"
    raise ValueError(f"{text!r} is no {kind}")
