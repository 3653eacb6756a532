"""Presto's own partitioning, run in this process: which part a row of keys goes to."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambase.types import SerdeType, parse_presto
from seambench_impl.peers.presto.blocks import BlockWriter
from seambench_impl.peers.presto.pages import presto_peer
from seamkit.jvm.machine import JavaClasses

_TYPES = "com.facebook.presto.common.type"
_FLAT = {
    "boolean": ("BooleanType", "BOOLEAN"),
    "tinyint": ("TinyintType", "TINYINT"),
    "smallint": ("SmallintType", "SMALLINT"),
    "integer": ("IntegerType", "INTEGER"),
    "bigint": ("BigintType", "BIGINT"),
    "real": ("RealType", "REAL"),
    "double": ("DoubleType", "DOUBLE"),
    "varchar": ("VarcharType", "VARCHAR"),
    "varbinary": ("VarbinaryType", "VARBINARY"),
    "date": ("DateType", "DATE"),
    "time": ("TimeType", "TIME"),
    "timestamp": ("TimestampType", "TIMESTAMP"),
    "timestamp microseconds": ("TimestampType", "TIMESTAMP_MICROSECONDS"),
}


class PrestoPartitioning:
    """`InterpretedHashGenerator` and `LocalPartitionGenerator` over all columns of a batch.

    Args:
        types: of the columns, in Presto's words.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self._peer, self._helper = presto_peer()
        self._types = [parse_presto(text) for text in types]
        generator = self._peer.java_class("com.facebook.presto.operator.InterpretedHashGenerator")
        with self._peer.inside():
            java_types = [_java_type(self._peer, type_) for type_ in self._types]
            self._generator = generator.createPositionalWithTypes(self._peer.list(java_types))

    def _page(self, batch: pa.RecordBatch) -> Any:
        writer = BlockWriter(self._peer, self._helper, flatten=False)
        blocks = [writer.write(t, c) for t, c in zip(self._types, batch.columns, strict=True)]
        return self._helper.page(batch.num_rows, self._peer.list(blocks))

    def hashes(self, batch: pa.RecordBatch) -> list[int]:
        """The raw hash of every row, as a number of 64 bits without sign."""
        with self._peer.inside():
            page = self._page(batch)
            found = [self._generator.hashPosition(row, page) for row in range(batch.num_rows)]
        return [int(value) % (1 << 64) for value in found]

    def parts(self, batch: pa.RecordBatch, channels: int) -> list[int]:
        """The task of every row."""
        with self._peer.inside():
            page = self._page(batch)
            return [
                int(self._generator.getPartition(channels, row, page))
                for row in range(batch.num_rows)
            ]

    def local_parts(self, batch: pa.RecordBatch, drivers: int) -> list[int]:
        """The driver of every row within its task; `drivers` is a power of two."""
        name = "com.facebook.presto.operator.exchange.LocalPartitionGenerator"
        with self._peer.inside():
            page = self._page(batch)
            local = self._peer.java_class(name)(self._generator, drivers)
            return [int(local.getPartition(page, row)) for row in range(batch.num_rows)]


def _java_type(peer: JavaClasses, type_: SerdeType) -> Any:
    if type_.kind in _FLAT:
        name, field = _FLAT[type_.kind]
        return getattr(peer.java_class(f"{_TYPES}.{name}"), field)
    children = [_java_type(peer, child) for child in type_.children]
    if type_.kind == "decimal":
        decimal = peer.java_class(f"{_TYPES}.DecimalType")
        return decimal.createDecimalType(type_.precision, type_.scale)
    if type_.kind == "array":
        return peer.java_class(f"{_TYPES}.ArrayType")(children[0])
    if type_.kind == "row":
        return peer.java_class(f"{_TYPES}.RowType").anonymous(peer.list(children))
    raise RefusedError(f"Presto's partitioning is not asked with columns of type {type_.text}")
