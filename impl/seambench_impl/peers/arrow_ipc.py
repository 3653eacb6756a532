"""Implementations of Arrow as serdes of its IPC streams: pyarrow, arro3 (Rust), nanoarrow (C).

arro3 writes Parquet files, too.

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

from seambase.errors import InputError, RefusedError, UsageError
from seambase.foreign_arrow import sound_batches, sound_stream, stream_of
from seambase.serde import SerdeRequest
from seambase.types import schema_of
from seambench.contracts.common import Kind, Stage
from seambench.contracts.peers.catalogue import stated
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import import_peer, installed_version
from seambench_impl.peers.peer_writer import CODEC, DICTIONARY, GROUP_ROWS, FileWriter

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
    try:
        written: bytes = stream_of(batches, schema, options).to_pybytes()
    except pa.ArrowInvalid as error:
        raise UsageError(f"these batches make no Arrow stream: {error}") from error
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
        return stream_of([batch], batch.schema)

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


class ForeignArrowSerde(ABC):
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
            raise RefusedError(f"{self.name} does not write it: {_in_short(error)}") from error

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
            raise InputError(f"{self.name} does not read it: {_in_short(error)}") from error

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


def _in_short(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or ['no word'])[0][:300]}"


class Arro3Serde(ForeignArrowSerde):
    """arro3: the Rust implementation of Arrow, as Python has it."""

    name = "arro3"
    package, module = "arro3-io", "arro3.io"
    xfails = XFAILS / "arro3.toml"

    def _write(self, batches: pa.RecordBatchReader, codec: str | None) -> bytes:
        sink = io.BytesIO()
        self._module.write_ipc_stream(batches, sink, compression=codec)
        return sink.getvalue()

    def _read(self, data: bytes) -> Iterable[pa.RecordBatch]:
        return list(
            pa.RecordBatchReader.from_stream(self._module.read_ipc_stream(io.BytesIO(data)))
        )


class Arro3Files(FileWriter):
    """arro3: `write_parquet`, of Arrow's Rust."""

    name, package = "arro3", "arro3-io"
    keywords: ClassVar = {
        CODEC: "compression",
        DICTIONARY: "dictionary_enabled",
        GROUP_ROWS: "max_row_group_size",
    }

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        level = {"gzip": "gzip(6)", "zstd": "zstd(1)"}.get(given.get("compression", ""))
        more = {"compression": level} if level else {}  # without one it refuses these
        module = import_peer("arro3.io", self.name, "peers")
        module.write_parquet(rows, str(file), **{**given, **more})


class NanoarrowSerde(ForeignArrowSerde):
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
