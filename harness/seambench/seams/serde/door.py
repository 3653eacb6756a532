"""The serde seam's doors: a command, or a shared library, that turns batches into bytes and back.

A command gets one JSON line on standard input, then what is to be turned: an Arrow IPC stream
(`serialize`) or the bytes (`deserialize`). The other form comes back on standard output. Exit code
0, 2 for a refusal with its sentence on standard error, anything else is a crash.

A library has two functions:

    int seambench_serialize(const char *request_json, struct ArrowArrayStream *batches,
                            unsigned char **bytes, size_t *size, char *error, size_t error_size);
    int seambench_deserialize(const char *request_json, const unsigned char *bytes, size_t size,
                              struct ArrowArrayStream *out, char *error, size_t error_size);
    void seambench_free(unsigned char *bytes);

They return 0, 2 for a refusal or another number for a failure, and then leave a sentence in
`error`. `seambench_serialize` releases the stream it is given; the bytes it hands out go back
through `seambench_free`. Both are called with the interpreter's lock released.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, SeambenchError, UsageError
from seambase.foreign_arrow import sound_batches, sound_stream
from seambase.serde import SerdeRequest
from seambase.types import schema_of
from seambench.conformance.doors.command import Command, CommandCrashError, CommandTimeoutError
from seambench.conformance.doors.library import ERROR_BYTES, ArrowArrayStream
from seambench.conformance.doors.request import REQUEST_VERSION, read_facts
from seambench.contracts.common import Kind
from seambench.seams.serde.values import plain_batch

__all__ = ["CommandSerde", "LibrarySerde", "serde_request"]

_REFUSED = 2


def serde_request(operation: str, request: SerdeRequest) -> str:
    """A request as one line of JSON.

    Raises:
        RefusedError: an option that JSON cannot hold.
    """
    content = {
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
    try:
        return json.dumps(content)
    except TypeError as error:
        raise RefusedError(f"an option of the request has no form in JSON: {error}") from error


def _alike(
    request: SerdeRequest, batches: Sequence[pa.RecordBatch]
) -> tuple[pa.Schema, Sequence[pa.RecordBatch]]:
    """Batches of one schema, which a stream needs: flat ones where encodings change."""
    schemas = [batch.schema for batch in batches]
    if all(schema == schemas[0] for schema in schemas):
        return schemas[0] if schemas else schema_of(request), batches
    return schema_of(request), [plain_batch(batch, request) for batch in batches]


def _stream_of(request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
    """Batches as an IPC stream.

    Raises:
        RefusedError: batches that Arrow streams cannot carry.
    """
    sink = pa.BufferOutputStream()
    schema, alike = _alike(request, batches)
    try:
        with pa.ipc.new_stream(sink, schema) as writer:
            for batch in alike:
                writer.write_batch(batch)
    except pa.ArrowException as error:
        raise RefusedError(f"these batches fit no Arrow stream: {error}") from error
    content: bytes = sink.getvalue().to_pybytes()
    return content


class CommandSerde(Command):
    """A serde that is a command, started anew for each call."""

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches; see `seambench.contracts.serde.Serde`."""
        return self._run(serde_request("serialize", request), _stream_of(request, batches))

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes; see `seambench.contracts.serde.Serde`."""
        written = self._run(serde_request("deserialize", request), bytes(data))
        return sound_stream(written, f"{self.name}: its standard output")

    def _run(self, line: str, content: bytes) -> bytes:
        """One call of the command."""
        try:
            done = subprocess.run(
                self.arguments,
                input=line.encode() + b"\n" + content,
                capture_output=True,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandTimeoutError(
                f"{self.name}: not finished after {self.timeout:g} s, killed"
            ) from error
        if done.returncode == 0:
            return done.stdout
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-2000:]
        if done.returncode == _REFUSED:
            raise RefusedError(f"{self.name}: {said or 'refused without a reason'}")
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        raise CommandCrashError(
            f"{self.name}: ended with {how}{f'; it said: {said}' if said else ''}"
        )


class LibrarySerde:
    """A serde that is a shared library; it stays loaded until the process ends."""

    kind: Kind = "peer"

    def __init__(self, library: str) -> None:
        """Load the library.

        Raises:
            UsageError: there is no such library, or it lacks one of the functions.
        """
        path = Path(library).absolute()
        try:
            loaded = ctypes.CDLL(str(path))
            self._serialize = loaded.seambench_serialize
            self._deserialize = loaded.seambench_deserialize
            self._free = loaded.seambench_free
        except (OSError, AttributeError) as error:
            raise UsageError(f"lib:{library}: {error}") from error
        stream, text, size = ctypes.POINTER(ArrowArrayStream), ctypes.c_char_p, ctypes.c_size_t
        address = ctypes.c_void_p
        self._serialize.restype = self._deserialize.restype = ctypes.c_int
        self._serialize.argtypes = (
            *(text, stream, ctypes.POINTER(address), ctypes.POINTER(size)),
            *(text, size),
        )
        self._deserialize.argtypes = (text, address, size, stream, text, size)
        self._free.restype = None
        self._free.argtypes = (address,)
        facts = read_facts(path)
        self.name = facts.name
        self.version = facts.version
        self.capabilities: Mapping[str, bool] = facts.capabilities

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches; see `seambench.contracts.serde.Serde`."""
        given = ArrowArrayStream()
        reader = pa.RecordBatchReader.from_batches(*_alike(request, batches))
        reader._export_to_c(ctypes.addressof(given))
        bytes_, size = ctypes.c_void_p(), ctypes.c_size_t()
        said = ctypes.create_string_buffer(ERROR_BYTES)
        code = self._serialize(
            serde_request("serialize", request).encode(),
            *(ctypes.byref(given), ctypes.byref(bytes_), ctypes.byref(size)),
            *(said, ERROR_BYTES),
        )
        self._check(code, said)
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
        said = ctypes.create_string_buffer(ERROR_BYTES)
        code = self._deserialize(
            serde_request("deserialize", request).encode(),
            *(view.address, view.size, ctypes.byref(stream), said, ERROR_BYTES),
        )
        self._check(code, said)
        if not stream.release:
            raise SeambenchError(f"{self.name}: it returned 0 but handed out no stream")
        try:
            with pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)) as reader:
                return list(sound_batches(reader, self.name))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name}: its stream is broken: {error}") from error

    def _check(self, code: int, said: Any) -> None:
        """Raise what a code other than 0 stands for."""
        if code != 0:
            reason = said.value.decode("utf-8", "replace") or "no reason given"
            kind = RefusedError if code == _REFUSED else SeambenchError
            raise kind(f"{self.name}: {reason}")
