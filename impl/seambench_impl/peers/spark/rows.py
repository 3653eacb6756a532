"""Spark's own UnsafeRows, run in this process, as a serde.

Rows are made by the code-generating `UnsafeProjection` out of a `ColumnarBatch`, streams by
`UnsafeRowSerializer`, which is what Spark's shuffle uses; values are read through the rows'
getters.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.serde import SerdeRequest
from seambase.type_fields import fields_of
from seambase.types import SerdeType, parse_schema
from seambase.wording import counted
from seambench.contracts.common import Kind, Stage
from seambench.contracts.peers.catalogue import stated
from seambench_impl.peers import XFAILS
from seambench_impl.peers.jvm import SOURCES, TimedLoops
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.chain import ArrowChain, chain_arrays, forms_of, spark_schema
from seamkit.core.border import batch_of
from seamkit.jvm.machine import JavaClasses, java_failure, spark_classes
from seamkit.jvm.sources import compiled_package

_FRAMINGS = ("be32", "packed")
#: Types whose values `touch` reads, by the bytes they take in a slot (0: texts).
_TOUCHED = {
    8: ("bigint", "double", "decimal", "timestamp", "timestamp_ntz", "interval day to second"),
    4: ("int", "date", "float", "interval year to month"),
    0: ("string", "char", "varchar"),
}


@functools.cache
def spark_helpers() -> tuple[JavaClasses, Any, Any]:
    """Spark's classes, and the compiled helpers for columns and rows."""
    peer = spark_classes()
    sources = [SOURCES / "SparkColumns.java", SOURCES / "SparkRows.java"]
    own = compiled_package("seambench.spark", sources, peer)
    columns, rows = (own.java_class(f"seambench.{name}") for name in ("SparkColumns", "SparkRows"))
    return peer, columns, rows


def framing_of(request: SerdeRequest, name: str, meant: Sequence[str] = ()) -> str:
    """The framing of a request; other options must be those meant, or leave Spark no choice."""
    if request.format != "unsaferow":
        raise RefusedError(f"{name}: format {request.format!r} is not Spark's")
    options = dict(request.options)
    framing = str(options.pop("framing", "be32"))
    if framing not in _FRAMINGS:
        raise RefusedError(f"{name}: Spark has no framing {framing!r}")
    if options.pop("writer", "spark") != "spark":
        raise RefusedError(f"{name}: Spark writes its own rows only")
    for option in options:
        spans = option in ("lengths", "offsets") and framing == "packed"
        if not spans and option not in meant:
            raise RefusedError(f"{name}: Spark knows no option {option} with framing {framing}")
    return framing


def spans_of(request: SerdeRequest, size: int) -> tuple[list[int], list[int]]:
    """Offsets and lengths of packed rows within `size` bytes."""
    lengths = [int(length) for length in request.options.get("lengths", ())]
    if "lengths" not in request.options and size:
        raise UsageError("packed rows need the option lengths: nothing in them says where they end")
    starts = np.concatenate(([0], np.cumsum(lengths))).tolist()[:-1]
    offsets = [int(offset) for offset in request.options.get("offsets", starts)]
    if len(offsets) != len(lengths):
        raise UsageError(
            f"{counted(len(offsets), 'offset', 'do')} not fit {counted(len(lengths), 'length')}"
        )
    for row, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        if offset < 0 or length < 0 or offset + length > size:
            raise InputError(
                f"row {row} at {offset} of {counted(length, 'byte')} "
                f"is beyond {counted(size, 'byte')}"
            )
    return offsets, lengths


class SparkJvmSerde:
    """Implements `seambench.contracts.serde.Serde` with Spark's classes.

    Spark's getters follow whatever a row says; before any is called, the extents in the rows are
    checked here, so broken rows are an error rather than foreign memory.
    """

    name = "spark-jvm"
    #: What conformance is known to find in it.
    xfails = XFAILS / "spark-jvm.toml"
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version("pyspark", self.name, "jvm")
        self.capabilities: Mapping[str, bool] = stated("serde", self.name, self.version)
        self._peer, self._columns, self._rows = spark_helpers()

    def _schema(self, request: SerdeRequest, types: Sequence[SerdeType]) -> Any:
        return spark_schema(self._peer, [field.name for field in request.fields], types)

    def _forms(self, types: Sequence[SerdeType]) -> Any:
        return self._peer.jpype.JArray(self._peer.jpype.JInt)(forms_of(types))

    def _batch(self, types: Sequence[SerdeType], schema: Any, batch: pa.RecordBatch) -> Any:
        if batch.num_columns != len(types):
            raise UsageError(
                f"a batch of {counted(batch.num_columns, 'column')} does "
                f"not fit {counted(len(types), 'field')}"
            )
        chain = ArrowChain(types, batch)
        return self._columns.batch(chain.address, schema, self._forms(types), False)

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Rows of all batches, one after the other."""
        framing = framing_of(request, self.name)
        types = parse_schema(request)
        write = self._rows.writeStream if framing == "be32" else self._rows.writePacked
        with self._peer.inside():
            schema = self._schema(request, types)
            try:
                return b"".join(
                    bytes(write(self._batch(types, schema, batch), schema)) for batch in batches
                )
            except self._peer.jpype.JException as error:
                raise RefusedError(
                    f"Spark does not take these columns: {java_failure(error)}"
                ) from error

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """One batch of all rows."""
        framing = framing_of(request, self.name)
        types = parse_schema(request)
        with self._peer.inside():
            schema = self._schema(request, types)
            try:
                rows = self._read(request, framing, schema, data)
                self._rows.check(rows, schema)
                chain = self._columns.chain(rows, schema, self._forms(types))
            except self._peer.jpype.JException as error:
                raise InputError(f"Spark cannot read the rows: {java_failure(error)}") from error
            arrays = chain_arrays(chain, types)
        return [batch_of(arrays, [field.name for field in request.fields], len(rows))]

    def _read(
        self, request: SerdeRequest, framing: str, schema: Any, data: bytes | bytearray | memoryview
    ) -> Any:
        jpype = self._peer.jpype
        content = jpype.JArray(jpype.JByte)(np.frombuffer(data, np.int8))
        if framing == "be32":
            return self._rows.readStream(content, schema)
        offsets, lengths = spans_of(request, len(content))
        ints = jpype.JArray(jpype.JInt)
        return self._rows.readPacked(content, schema.size(), ints(offsets), ints(lengths))

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """Spark's own projection into UnsafeRows, and a look at every field of finished rows."""
        request = SerdeRequest("unsaferow", fields_of(batch.schema, "spark"))
        timed = self.timed_rows(request, batch)
        steps = {"unsaferow/serialize": "project", "unsaferow/touch": "touch"}
        return timed.stages(steps, timed.row_bytes, self, request, batch)

    def timed_rows(self, request: SerdeRequest, batch: pa.RecordBatch) -> TimedRows:
        """Rows made ready for timing Spark on them."""
        types = parse_schema(request)
        with self._peer.inside():
            schema = self._schema(request, types)
            rows = self._columns.rows(self._batch(types, schema, batch))
        stream = self.serialize(SerdeRequest("unsaferow", request.fields), [batch])
        return TimedRows(self._peer, self._rows, (rows, schema), types, stream)


class TimedRows(TimedLoops):
    """Times Spark on prepared rows.

    `project` turns Spark's generic internal rows into UnsafeRows; `touch` visits every field of
    finished UnsafeRows that lie end to end.

    Attributes:
        num_rows: rows of one pass.
        row_bytes: bytes of all UnsafeRows, which is what one pass moves.
    """

    def __init__(
        self,
        peer: JavaClasses,
        helper: Any,
        prepared: tuple[Any, Any],
        types: Sequence[SerdeType],
        stream: bytes,
    ) -> None:
        jpype = peer.jpype
        packed, offsets = _unframe(stream)
        self.num_rows = len(offsets) - 1
        self.row_bytes = len(packed)
        ints = jpype.JArray(jpype.JInt)
        data = jpype.JArray(jpype.JByte)(np.frombuffer(packed, np.int8))
        ordinals = [ints(part) for part in _touched(types)]
        loops = {
            "project": partial(helper.timeProject, *prepared),
            "touch": partial(helper.timeTouch, data, ints(offsets), *ordinals),
        }
        super().__init__(peer, "Spark", loops)


def _unframe(stream: bytes) -> tuple[bytes, list[int]]:
    """Rows of a stream end to end, and their offsets with the end."""
    rows, offsets, at = [], [0], 0
    while at < len(stream):
        length = int.from_bytes(stream[at : at + 4], "big")
        rows.append(stream[at + 4 : at + 4 + length])
        offsets.append(offsets[-1] + length)
        at += 4 + length
    return b"".join(rows), offsets


def _touched(types: Sequence[SerdeType]) -> tuple[list[int], list[int], list[int]]:
    """Ordinals of the columns that are read as longs, as ints, as texts."""
    longs, ints, texts = [], [], []
    for ordinal, type_ in enumerate(types):
        if type_.kind in _TOUCHED[4]:
            ints.append(ordinal)
        elif type_.kind in _TOUCHED[0]:
            texts.append(ordinal)
        elif type_.kind in _TOUCHED[8] and type_.precision <= 18:
            longs.append(ordinal)
        else:
            raise UsageError(f"no time is taken for touching values of type {type_.text}")
    return longs, ints, texts
