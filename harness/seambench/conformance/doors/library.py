"""What the library doors of all seams share: loading, the Arrow C stream, and what a code means.

Every function of a library returns 0, or 2 for a refusal or another number for a failure, and then
leaves a sentence in `error`. It is called with the interpreter's lock released, possibly by several
threads at once. A refusal without a sentence is a failure.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.foreign_arrow import sound
from seambench.conformance.doors.facts import WithFacts, read_facts
from seambench.contracts.outcomes import CrashError, ProtocolError

_REFUSED = 2
_ERROR_BYTES = 4096


class ArrowArrayStream(ctypes.Structure):
    """The struct of the Arrow C stream interface: four callbacks and a pointer."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class Library(WithFacts):
    """A shared library that implements a seam; it stays loaded until the process ends."""

    def __init__(self, library: str, names: tuple[str, ...]) -> None:
        """Load the library, which has the functions of these names."""
        path = Path(library).absolute()
        try:
            loaded = ctypes.CDLL(str(path))
            self.functions: Mapping[str, Any] = {name: getattr(loaded, name) for name in names}
        except (OSError, AttributeError) as error:
            raise UsageError(f"lib:{library}: {error}") from error
        super().__init__(read_facts(path))

    def declare(self, name: str, *types: object) -> None:
        """State what a function that may fail takes, before the room for its sentence."""
        self.functions[name].restype = ctypes.c_int
        self.functions[name].argtypes = (*types, ctypes.c_char_p, ctypes.c_size_t)

    def call(self, name: str, *arguments: object) -> None:
        """Call such a function, and raise what a number other than 0 stands for."""
        said = ctypes.create_string_buffer(_ERROR_BYTES)
        code = self.functions[name](*arguments, said, _ERROR_BYTES)
        if code == 0:
            return
        reason = said.value.decode("utf-8", "replace")
        if code == _REFUSED and reason.strip():
            raise RefusedError(f"{self.name}: {reason}")
        raise CrashError(f"{self.name}: it returned {code}: {reason or 'no reason given'}")

    def reader(self, stream: ArrowArrayStream) -> pa.RecordBatchReader:
        """The stream that a function has filled; from here on pyarrow releases it."""
        if not stream.release:
            raise ProtocolError(f"{self.name}: it returned 0 but handed out no stream")
        try:
            return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name}: its stream has no readable schema: {error}") from error


def trusted(batch: pa.RecordBatch, source: str) -> pa.RecordBatch:
    """A batch that was handed out, once it is looked through."""
    try:
        return sound(batch, source)
    except InputError as error:
        raise ProtocolError(str(error)) from error
