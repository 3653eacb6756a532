"""Arrow's own IPC stream as a serde, for comparison: pyarrow writes it and reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.foreign_arrow import sound_stream
from seambase.serde import SerdeRequest
from seambase.types import schema_of
from seambench.contracts.common import Kind, Stage
from seambench.contracts.peers.catalogue import stated

_CODECS = ("lz4", "zstd")
_OPTIONS = frozenset({"types", "codec"})


def compression_of(request: SerdeRequest) -> str | None:
    """The codec of buffers, None for none."""
    if strange := set(request.options) - _OPTIONS:
        raise UsageError(f"an Arrow stream has no option {min(strange)!r}")
    codec = str(request.options.get("codec", "none"))
    if codec != "none" and codec not in _CODECS:
        raise RefusedError(f"codec {codec!r}: Arrow streams know lz4 and zstd")
    return None if codec == "none" else codec


def write_arrow(request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
    """An IPC stream of batches of one schema; of no batches, a stream of the request's schema."""
    options = pa.ipc.IpcWriteOptions(compression=compression_of(request))
    schema = batches[0].schema if batches else schema_of(request)
    sink = pa.BufferOutputStream()
    try:
        with pa.ipc.new_stream(sink, schema, options=options) as writer:
            for batch in batches:
                writer.write_batch(batch)
    except pa.ArrowInvalid as error:
        raise UsageError(f"these batches make no Arrow stream: {error}") from error
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_arrow(request: SerdeRequest, data: bytes | bytearray | memoryview) -> list[pa.RecordBatch]:
    """Batches of an IPC stream, checked in full."""
    compression_of(request)
    return sound_stream(data, "what was given")


class ArrowIpcSerde:
    """Implements `seambench.contracts.serde.Serde` with pyarrow."""

    name = "arrow"
    version = pa.__version__
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.capabilities: Mapping[str, bool] = stated("serde", self.name, self.version)

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """See `write_arrow`."""
        self._require(request)
        return write_arrow(request, batches)

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """See `read_arrow`."""
        self._require(request)
        return read_arrow(request, data)

    def stages(self, batch: pa.RecordBatch) -> list[Stage]:
        """An IPC stream written into memory and read from it."""
        stream = self._write(batch)
        return [
            Stage("arrow/serialize", lambda: self._write(batch), self._read),
            Stage("arrow/deserialize", lambda: self._read(stream), lambda table: table),
        ]

    @staticmethod
    def _write(batch: pa.RecordBatch) -> pa.Buffer:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return sink.getvalue()

    @staticmethod
    def _read(stream: pa.Buffer) -> pa.Table:
        """Buffers of the table point into the stream; each is looked through."""
        with pa.ipc.open_stream(stream) as reader:
            table = reader.read_all()
        table.validate(full=True)
        return table

    @staticmethod
    def _require(request: SerdeRequest) -> None:
        if request.format != "arrow":
            raise RefusedError(f"arrow: format {request.format!r} is not Arrow's")
