"""Off-heap tables that Spark reads, and tables that Spark's side writes, in this process.

All that crosses the border is the address of a meta chain. Spark's side follows it with
`org.apache.spark.unsafe.Platform`, which is `sun.misc.Unsafe`, into a `ColumnarBatch` of Spark's
own column vectors; the other way round it allocates with `Platform` and lays the same chain out.

| off-heap column | Spark |
|---|---|
| date (Julian day) | date (days since 1970) |
| datetime, any spelling (Julian day << 40, microsecond) | timestamp_ntz (microseconds since 1970) |
| time (seconds) | double |
| decimal of 4, 8 or 16 bytes | decimal(p,s) |
| char, varchar, string | string |
| variant | struct of metadata and value, both binary |
| unknown | void |

All others are what their names say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.types import SerdeType
from seambase.wording import counted
from seambench_impl.peers.spark.chain import (
    ABSENT,
    JULIAN_DAY,
    JULIAN_TIME,
    LIST,
    MAP,
    STRUCT,
    TEXT,
    ArrowChain,
    chain_arrays,
    forms_of,
    spark_schema,
)
from seambench_impl.peers.spark.rows import spark_helpers
from seamkit.core.border import batch_of
from seamkit.jvm.machine import java_failure
from seamkit.offheap.columns.table import Chain, OffHeapTable
from seamkit.offheap.columns.types import ColumnType, Kind

_KINDS = {
    Kind.BOOLEAN: ("boolean", 1),
    Kind.TINYINT: ("tinyint", 1),
    Kind.SHORT: ("smallint", 2),
    Kind.INT: ("int", 4),
    Kind.LONG: ("bigint", 8),
    Kind.FLOAT: ("float", 4),
    Kind.DOUBLE: ("double", 8),
    Kind.TIME: ("double", 8),
    Kind.DATE: ("date", JULIAN_DAY),
    Kind.DATETIME: ("timestamp_ntz", JULIAN_TIME),
    Kind.DATETIME_MICROS: ("timestamp_ntz", JULIAN_TIME),
    Kind.DATETIME_MILLIS: ("timestamp_ntz", JULIAN_TIME),
    Kind.DECIMALV2: ("decimal", 16),
    Kind.DECIMAL32: ("decimal", 4),
    Kind.DECIMAL64: ("decimal", 8),
    Kind.DECIMAL128: ("decimal", 16),
    Kind.STRING: ("string", TEXT),
    Kind.BINARY: ("binary", TEXT),
    Kind.ARRAY: ("array", LIST),
    Kind.MAP: ("map", MAP),
    Kind.STRUCT: ("struct", STRUCT),
    Kind.VARIANT: ("struct", STRUCT),
    Kind.UNKNOWN: ("void", ABSENT),
}


def _spark_type(column: ColumnType) -> SerdeType:
    if column.kind not in _KINDS or (column.kind is Kind.MAP and len(column.children) != 2):
        raise RefusedError(f"Spark has no column for {column}")
    kind = _KINDS[column.kind][0]
    return SerdeType(
        "spark",
        kind,
        str(column),
        column.precision if kind == "decimal" else 0,
        column.scale if kind == "decimal" else 0,
        column.names if kind == "struct" else (),
        tuple(_spark_type(child) for child in column.children),
    )


def _forms(types: Sequence[ColumnType]) -> list[int]:
    """Forms of columns in a meta chain, each before its children's."""
    forms = []
    for column in types:
        forms.append(_KINDS[column.kind][1])
        forms += _forms(column.children)
    return forms


class SparkBatch:
    """Owns one `org.apache.spark.sql.vectorized.ColumnarBatch`, which holds copies of its values.

    Attributes:
        types: the off-heap types of its columns.
        java: the Java object, for callers that speak Spark's interface themselves.
    """

    def __init__(self, types: Sequence[ColumnType], names: Sequence[str], java: Any) -> None:
        self.types = tuple(types)
        self.names = tuple(names)
        self.java = java
        self._peer, self._columns, self._rows = spark_helpers()

    @classmethod
    def from_table(
        cls, table: OffHeapTable, names: Sequence[str] | None = None, off_heap: bool = False
    ) -> Self:
        """Read an off-heap table through the addresses of its meta chain.

        The table is not needed any more afterwards. Names are `c0`, `c1`, ... by default; with
        `off_heap` Spark's vectors lie outside Java's heap, too (`OffHeapColumnVector`).
        """
        chain = table.chain()
        return cls._read(table.types, names, (chain.address, _forms(table.types)), off_heap)

    @classmethod
    def from_arrow(cls, types: Sequence[ColumnType], batch: pa.RecordBatch) -> Self:
        """Spark's columns of Arrow's: what Spark would write into a table of `types`.

        Dates, timestamps (microseconds) and decimals as Arrow has them; a column of kind time is
        given as seconds in a double, one of kind unknown as nulls.
        """
        if batch.num_columns != len(types):
            raise UsageError(
                f"{counted(batch.num_columns, 'column', 'are')} not "
                f"of {counted(len(types), 'type')}"
            )
        plain = [_spark_type(column) for column in types]
        chain = ArrowChain(plain, batch)
        return cls._read(types, batch.schema.names, (chain.address, forms_of(plain)), False)

    @classmethod
    def _read(
        cls,
        types: Sequence[ColumnType],
        names: Sequence[str] | None,
        chain: tuple[int, list[int]],
        off_heap: bool,
    ) -> Self:
        peer, columns, _ = spark_helpers()
        names = names or [f"c{index}" for index in range(len(types))]
        schema = spark_schema(peer, names, [_spark_type(column) for column in types])
        address, forms = chain
        with peer.inside():
            try:
                java = columns.batch(address, schema, _java_ints(peer, forms), off_heap)
            except peer.jpype.JException as error:
                raise InputError(f"Spark cannot hold the columns: {java_failure(error)}") from error
        return cls(types, names, java)

    @property
    def num_rows(self) -> int:
        """Rows of the batch."""
        return int(self.java.numRows())

    def _schema(self) -> Any:
        return spark_schema(self._peer, self.names, [_spark_type(c) for c in self.types])

    def to_table(self) -> JavaTable:
        """Have the Java side lay the rows out as an off-heap table, by their getters."""
        return JavaTable(self, self._chain(_forms(self.types)))

    def _chain(self, forms: list[int]) -> Any:
        with self._peer.inside():
            try:
                rows = self._columns.rows(self.java)
                return self._columns.chain(rows, self._schema(), _java_ints(self._peer, forms))
            except self._peer.jpype.JException as error:
                raise InputError(f"a table cannot hold the rows: {java_failure(error)}") from error

    def to_arrow(self) -> pa.RecordBatch:
        """The rows as Spark's getters give them (time as seconds in a double)."""
        types = [_spark_type(column) for column in self.types]
        arrays = chain_arrays(self._chain(forms_of(types)), types)
        return batch_of(arrays, self.names, self.num_rows)

    def to_unsafe_rows(self) -> bytes:
        """The rows as Spark's projection makes them, end to end."""
        with self._peer.inside():
            return bytes(self._rows.writePacked(self.java, self._schema()))

    def close(self) -> None:
        """Give the vectors' memory back; repeatable."""
        self.java.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class JavaTable:
    """An off-heap table whose memory the Java side allocated; it goes back by `release`.

    Attributes:
        types: of its columns.
    """

    def __init__(self, batch: SparkBatch, java: Any) -> None:
        self.types = batch.types
        self._java = java

    def chain(self) -> Chain:
        """The meta chain, with the sizes of what its words point at."""
        if self._java is None:
            raise UsageError("the table is released")
        java = self._java
        return Chain(int(java.address), int(java.words), int(java.extents))

    def release(self) -> None:
        """Give all memory back; repeatable."""
        if self._java is not None:
            self._java.free()
            self._java = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _java_ints(peer: Any, values: list[int]) -> Any:
    return peer.jpype.JArray(peer.jpype.JInt)(values)
