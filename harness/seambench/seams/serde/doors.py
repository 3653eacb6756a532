"""The serde seam's doors: a command, or a shared library, that turns batches into bytes and back.

A command gets one JSON line on standard input, then what is to be turned: an Arrow IPC stream
(`serialize`, and `stream` with its `steps` in the line) or the bytes (`deserialize`). The other
form comes back on standard output.

A library has two functions:

    int seambench_serialize(const char *request_json, struct ArrowArrayStream *batches,
                            unsigned char **bytes, size_t *size, char *error, size_t error_size);
    int seambench_deserialize(const char *request_json, const unsigned char *bytes, size_t size,
                              struct ArrowArrayStream *out, char *error, size_t error_size);
    void seambench_free(unsigned char *bytes);

`seambench_serialize` releases the stream it is given; the bytes it hands out go back through
`seambench_free`. What ends and numbers mean stands in `seambench.conformance.doors`.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.foreign_arrow import sound_stream, stream_of
from seambase.serde import SerdeRequest
from seambase.types import schema_of
from seambench.conformance.doors.command import Command, Running
from seambench.conformance.doors.facts import REQUEST_VERSION
from seambench.conformance.doors.library import ArrowArrayStream, Library, trusted
from seambench.contracts.outcomes import ProtocolError
from seambench.contracts.serde import StreamStep
from seambench.seams.serde.cases import SerdeCase
from seambench.seams.serde.streams import batches_of, steps_of, stream_batches
from seambench.seams.serde.values import plain_batch

_WRITE, _READ, _FREE = "seambench_serialize", "seambench_deserialize", "seambench_free"


def serde_request(
    operation: str, request: SerdeRequest, steps: Sequence[StreamStep] | None = None
) -> str:
    """A request as one line of JSON; `steps` are those of a stream."""
    content: dict[str, Any] = {
        "version": REQUEST_VERSION,
        "seam": "serde",
        "operation": operation,
        "format": request.format,
        "schema": [
            {"name": field.name, "type": field.type, "nullable": field.nullable}
            for field in request.fields
        ],
        "options": dict(request.options),
    }
    if steps is not None:
        content["steps"] = [_step(step) for step in steps]
    try:
        return json.dumps(content)
    except TypeError as error:
        raise RefusedError(f"an option of the request has no form in JSON: {error}") from error


def _step(step: StreamStep) -> dict[str, Any]:
    """A step, without what it does not say."""
    if step.do in ("flush", "clear"):
        return {"do": step.do}
    rows = {"rows": list(step.rows)} if step.rows is not None else {}
    span = {"range": list(step.range)} if step.range is not None else {}
    return {"do": step.do, "batch": step.batch, **rows, **span}


def _alike(
    request: SerdeRequest, batches: Sequence[pa.RecordBatch]
) -> tuple[pa.Schema, Sequence[pa.RecordBatch]]:
    """Batches of one schema, which a stream needs: flat ones where encodings change."""
    schemas = [batch.schema for batch in batches]
    if all(schema == schemas[0] for schema in schemas):
        return schemas[0] if schemas else schema_of(request), batches
    return schema_of(request), [plain_batch(batch, request) for batch in batches]


def _stream_of(request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
    schema, alike = _alike(request, batches)
    try:
        content: bytes = stream_of(alike, schema).to_pybytes()
    except pa.ArrowException as error:
        raise RefusedError(f"these batches fit no Arrow stream: {error}") from error
    return content


class CommandSerde(Command):
    """A serde that is a command, started anew for each call."""

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches; see `seambench.contracts.serde.Serde`."""
        return self._run(serde_request("serialize", request), _stream_of(request, batches))

    def stream(
        self,
        request: SerdeRequest,
        batches: Sequence[pa.RecordBatch],
        steps: Sequence[StreamStep],
    ) -> bytes:
        """Bytes of a stream's steps; see `seambench.contracts.serde.Serde`."""
        return self._run(serde_request("stream", request, steps), _stream_of(request, batches))

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes; see `seambench.contracts.serde.Serde`."""
        written = self._run(serde_request("deserialize", request), bytes(data))
        try:
            return sound_stream(written, f"{self.name}: its standard output", marked=True)
        except InputError as error:
            raise ProtocolError(str(error)) from error

    def _run(self, line: str, content: bytes) -> bytes:
        """One call of the command."""
        with contextlib.closing(Running(self)) as running:
            return running.converse(line.encode() + b"\n" + content)


class LibrarySerde(Library):
    """A serde that is a shared library."""

    def __init__(self, library: str) -> None:
        """Load the library; see `Library`."""
        super().__init__(library, (_WRITE, _READ, _FREE))
        stream, text, size = ctypes.POINTER(ArrowArrayStream), ctypes.c_char_p, ctypes.c_size_t
        address = ctypes.c_void_p
        self.declare(_WRITE, text, stream, ctypes.POINTER(address), ctypes.POINTER(size))
        self.declare(_READ, text, address, size, stream)
        self._free = self.functions[_FREE]
        self._free.restype, self._free.argtypes = None, (address,)

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches; see `seambench.contracts.serde.Serde`."""
        return self._written(serde_request("serialize", request), request, batches)

    def stream(
        self,
        request: SerdeRequest,
        batches: Sequence[pa.RecordBatch],
        steps: Sequence[StreamStep],
    ) -> bytes:
        """Bytes of a stream's steps; see `seambench.contracts.serde.Serde`."""
        return self._written(serde_request("stream", request, steps), request, batches)

    def _written(
        self, line: str, request: SerdeRequest, batches: Sequence[pa.RecordBatch]
    ) -> bytes:
        given = ArrowArrayStream()
        reader = pa.RecordBatchReader.from_batches(*_alike(request, batches))
        reader._export_to_c(ctypes.addressof(given))
        bytes_, size = ctypes.c_void_p(), ctypes.c_size_t()
        places = (ctypes.byref(one) for one in (given, bytes_, size))
        self.call(_WRITE, line.encode(), *places)
        try:
            return ctypes.string_at(bytes_, size.value) if size.value else b""
        finally:
            self._free(bytes_)

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes; see `seambench.contracts.serde.Serde`."""
        view = pa.py_buffer(data)
        stream = ArrowArrayStream()
        line = serde_request("deserialize", request).encode()
        self.call(_READ, line, view.address, view.size, ctypes.byref(stream))
        try:
            with self.reader(stream) as reader:
                return [trusted(batch, self.name) for batch in reader]
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name}: its stream is broken: {error}") from error


def keep_serde(case: SerdeCase, folder: Path) -> list[str]:
    """Leave the bytes as `input`, or the batches as an Arrow stream; see `Seam.keep`."""
    vector = case.vector()
    content = vector.data
    if case.operation in ("encode", "stream"):
        streamed = case.operation == "stream"
        batches = stream_batches(case) if streamed else batches_of(vector, case.given_types)
        content = stream_of(batches, batches[0].schema).to_pybytes()
    if content is None:
        raise UsageError(f"{case.id}: no bytes are known that could be kept")
    folder.mkdir(parents=True)
    (folder / "input").write_bytes(content)
    (folder / "request.json").write_text(line_of_case(case) + "\n", encoding="utf-8")
    files = f"{folder / 'request.json'} {folder / 'input'}"
    return [f"cat {files} | ./serde > output    # as the door for programs asks"]


def line_of_case(case: SerdeCase) -> str:
    """The request as the door for programs has it."""
    request = case.vector().request
    if case.operation == "stream":
        return serde_request("stream", request, steps_of(case))
    return serde_request("serialize" if case.operation == "encode" else "deserialize", request)
