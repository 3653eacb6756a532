"""Rows of TPC-H tables as Spark data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from seambench.data.tpch import TABLES, part_count, part_reader


def generated_rows(session: Any, table: str, scale: float) -> Any:
    """Data frame of the generator's rows, made inside Spark tasks."""
    parts = part_count(table, scale, session.sparkContext.defaultParallelism)
    numbers = session.range(0, parts, 1, parts)
    return numbers.mapInArrow(part_reader(table, scale, parts), _ddl(TABLES[table].schema))


def map_rows(frame: Any, table: str, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Any:
    """Data frame with `change`, which adds `ts`, applied to each batch of rows, in Spark tasks."""
    schema = TABLES[table].schema
    out = schema.append(pa.field("ts", pa.int64()))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield change(batch.cast(schema))

    return frame.mapInArrow(run, _ddl(out))


def _ddl(schema: pa.Schema) -> str:
    """Spelling of an Arrow schema in Spark's DDL, for the types of TPC-H."""
    names = {pa.int64(): "bigint", pa.int32(): "int", pa.string(): "string", pa.date32(): "date"}
    spelled = []
    for field in schema:
        if pa.types.is_decimal(field.type):
            kind = f"decimal({field.type.precision},{field.type.scale})"
        else:
            kind = names[field.type]
        spelled.append(f"`{field.name}` {kind}")
    return ", ".join(spelled)
