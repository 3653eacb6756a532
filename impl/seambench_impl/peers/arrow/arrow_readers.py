"""Other implementations of Arrow as serdes of its IPC streams: polars, arro3 (Rust), nanoarrow (C).

Batches change hands through Arrow's C stream, without a copy, so that the bytes alone are judged.
What a library hands over is looked through before anybody uses it.
"""

from __future__ import annotations

import importlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.foreign_arrow import sound_batches
from seambase.serde import SerdeRequest
from seambase.types import schema_of
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import numbers, stated
from seambench_impl.peers.arrow.arrow_ipc import compression_of
from seambench_impl.peers.peer_scan import installed_version


class _ArrowSerde(ABC):
    """Implements `seambench.contracts.serde.Serde` with another library than pyarrow."""

    name: str
    package: ClassVar[str]
    module: ClassVar[str]
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version(self.package, self.name, "peers")
        self.capabilities: Mapping[str, bool] = stated("serde", self.name, self.version)
        self._module: Any = importlib.import_module(self.module)

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """An IPC stream of batches of one schema; of none, a stream of the request's schema."""
        codec = self._codec(request)
        schema = batches[0].schema if batches else schema_of(request)
        try:
            return self._write(pa.RecordBatchReader.from_batches(schema, batches), codec)
        except RefusedError:
            raise
        except Exception as error:  # each library has its own
            raise RefusedError(f"{self.name} does not write it: {_told(error)}") from error

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of an IPC stream."""
        self._codec(request)
        try:
            return list(sound_batches(self._read(bytes(data)), self.name))
        except InputError:
            raise
        except Exception as error:  # as above
            raise InputError(f"{self.name} does not read it: {_told(error)}") from error

    def _codec(self, request: SerdeRequest) -> str | None:
        if request.format != "arrow":
            raise RefusedError(f"{self.name}: format {request.format!r} is not Arrow's")
        return compression_of(request)

    @abstractmethod
    def _write(self, batches: pa.RecordBatchReader, codec: str | None) -> bytes:
        """The bytes of batches, a message for each."""

    @abstractmethod
    def _read(self, data: bytes) -> Iterable[pa.RecordBatch]:
        """The batches of the bytes."""


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or ['no word'])[0][:300]}"


class PolarsIpcSerde(_ArrowSerde):
    """polars: `DataFrame.write_ipc_stream` and `read_ipc_stream`."""

    name = "polars-ipc"
    package = module = "polars"
    #: What conformance is known to find in it.
    xfails = Path(__file__).parents[1] / "xfails" / "polars-ipc.toml"

    def _write(self, batches: pa.RecordBatchReader, codec: str | None) -> bytes:
        sink = io.BytesIO()
        frame = self._module.from_arrow(batches.read_all(), rechunk=False)
        frame.write_ipc_stream(sink, compression=codec or "uncompressed")
        return sink.getvalue()

    def _read(self, data: bytes) -> Iterable[pa.RecordBatch]:
        options = {"rechunk": False} if numbers(self.version) < (2, 0) else {}
        table = self._module.read_ipc_stream(io.BytesIO(data), **options).to_arrow()
        # A frame without rows is one batch of none.
        return table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]


class Arro3Serde(_ArrowSerde):
    """arro3: the Rust implementation of Arrow, as Python has it."""

    name = "arro3"
    package, module = "arro3-io", "arro3.io"

    def _write(self, batches: pa.RecordBatchReader, codec: str | None) -> bytes:
        sink = io.BytesIO()
        self._module.write_ipc_stream(batches, sink, compression=codec)
        return sink.getvalue()

    def _read(self, data: bytes) -> Iterable[pa.RecordBatch]:
        return list(
            pa.RecordBatchReader.from_stream(self._module.read_ipc_stream(io.BytesIO(data)))
        )


class NanoarrowSerde(_ArrowSerde):
    """nanoarrow: the small C implementation of Arrow, as Python has it."""

    name = "nanoarrow"
    package, module = "nanoarrow", "nanoarrow.ipc"

    def _write(self, batches: pa.RecordBatchReader, codec: str | None) -> bytes:
        if codec is not None:
            raise RefusedError("it writes no compressed buffers")
        sink = io.BytesIO()
        with self._module.StreamWriter.from_writable(sink) as writer:
            writer.write_stream(batches)
        return sink.getvalue()

    def _read(self, data: bytes) -> Iterable[pa.RecordBatch]:
        with self._module.InputStream.from_readable(data) as stream:
            return [
                # It hands over no offsets of no rows, and pyarrow would read behind the buffer. Who
                # is right is open: https://github.com/apache/arrow/issues/24523
                batch if batch.num_rows else pa.RecordBatch.from_pylist([], batch.schema)
                for batch in pa.RecordBatchReader.from_stream(stream)
            ]
