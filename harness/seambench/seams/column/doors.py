"""The column seam's doors: a command, or a shared library, that fills off-heap tables.

A command gets one JSON line on standard input, then the rows as an Arrow IPC stream, a batch a
chunk. It answers each batch with one line of JSON, the table as its meta chain tells it:

    {"num_rows": 2, "slots": [{"kind": "nulls", "column": "a", "hex": "0001"}, ...]}

A library has the functions

    int seambench_columns_open(const char *request_json, struct ArrowArrayStream *rows,
                               void **tables, char *error, size_t error_size);
    int seambench_columns_next(void *tables, const int64_t **chain, char *error, size_t error_size);
    void seambench_columns_close(void *tables);
    int64_t seambench_columns_live_blocks(void);

`open` takes the stream over. Each `next` makes a table of the next batch and hands out the address
of its meta chain, good until `next` or `close`, which release it. `live_blocks` counts the blocks
of memory that tables still hold.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import UsageError
from seambase.foreign_arrow import stream_of
from seambase.wording import counted
from seambench.conformance.doors.command import Command, Running
from seambench.conformance.doors.library import ArrowArrayStream, Library
from seambench.contracts.column import ColumnChunk, ColumnRequest, ColumnSlot
from seambench.contracts.outcomes import NotOffered, ProtocolError
from seambench.seams.column.cases import ColumnCase
from seambench.seams.column.check import request_of
from seambench.seams.column.oracle import TypeTree, requested_parts
from seambench.seams.column.request_rows import column_request, row_batches
from seambench.seams.serde.handed import changed, sliced

_WORDS = ("open", "next", "close", "live_blocks")
_OPEN, _NEXT, *_OTHERS = (f"seambench_columns_{word}" for word in _WORDS)
#: Words about methods that no door has.
_OF_CLASSES = ("batches", "type-strings", "type-strings.lenient")
_KINDS = ("nulls", "data", "offsets", "bytes", "unknown")


def _require_doors(name: str, capabilities: Mapping[str, bool]) -> None:
    """Refuse words about what only a class can offer."""
    for word in _OF_CLASSES:
        if capabilities.get(word):
            raise UsageError(f"{name} states {word!r}, which passes no door: a class can offer it")


def rows_stream(request: ColumnRequest) -> bytes:
    """The rows of a request as an Arrow IPC stream, a batch a chunk."""
    batches = row_batches(request)
    content: bytes = stream_of(batches, batches[0].schema).to_pybytes()
    return content


class CommandColumns(Command):
    """Off-heap tables of a command, started anew for each request."""

    def __init__(self, command: str, timeout: float = 600.0) -> None:
        super().__init__(command, timeout)
        _require_doors(self.name, self.capabilities)

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """What its tables hold; see `seambench.contracts.column.ColumnTable`."""
        content = column_request(request).encode() + b"\n" + rows_stream(request)
        with contextlib.closing(Running(self)) as running:
            written = running.converse(content)
        return list(_chunks(written, self.name))

    def live_blocks(self) -> int:
        """None: its process has ended."""
        return 0


def _chunks(written: bytes, name: str) -> Iterator[ColumnChunk]:
    for number, line in enumerate(written.splitlines(), 1):
        try:
            yield _chunk(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            text = line[:100].decode("utf-8", "replace")
            raise ProtocolError(
                f"{name}: line {number} tells no chunk ({error}): {text}"
            ) from error


def _chunk(chunk: Mapping[str, Any]) -> ColumnChunk:
    rows = chunk["num_rows"]
    if not isinstance(rows, int) or set(chunk) != {"num_rows", "slots"}:
        raise ValueError("`num_rows`, a number, and `slots` are expected")
    return ColumnChunk(rows, [_slot(slot) for slot in chunk["slots"]])


def _slot(slot: Mapping[str, Any]) -> ColumnSlot:
    kind, column, content = slot["kind"], slot["column"], slot.get("hex")
    if (
        kind not in _KINDS
        or not isinstance(column, str)
        or (content is None) != (kind == "unknown")
    ):
        raise ValueError(f"no slot is {kind} of {column}")
    return ColumnSlot(kind, column, None if content is None else bytes.fromhex(content))


class LibraryColumns(Library):
    """Off-heap tables of a shared library."""

    def __init__(self, library: str) -> None:
        """Load the library; see `Library`."""
        super().__init__(library, (_OPEN, _NEXT, *_OTHERS))
        _require_doors(self.name, self.capabilities)
        self._close, self._live_blocks = (self.functions[name] for name in _OTHERS)
        address, stream = ctypes.c_void_p, ctypes.POINTER(ArrowArrayStream)
        self.declare(_OPEN, ctypes.c_char_p, stream, ctypes.POINTER(address))
        self.declare(_NEXT, address, ctypes.POINTER(address))
        self._close.restype, self._close.argtypes = None, (address,)
        self._live_blocks.restype, self._live_blocks.argtypes = ctypes.c_int64, ()

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """What its tables hold; see `seambench.contracts.column.ColumnTable`."""
        batches = [changed(batch, sliced) for batch in row_batches(request)]
        rows = ArrowArrayStream()
        reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
        reader._export_to_c(ctypes.addressof(rows))
        tables, line = ctypes.c_void_p(), column_request(request).encode()
        self.call(_OPEN, line, ctypes.byref(rows), ctypes.byref(tables))
        parts = requested_parts(
            *(request.fields, request.types, request.required_fields, request.nested_fields or ()),
            form=request.form,
        )
        found = []
        try:
            for _ in batches:
                chain = ctypes.c_void_p()
                self.call(_NEXT, tables, ctypes.byref(chain))
                found.append(read_chain(chain.value or 0, parts))
        finally:
            self._close(tables)
        return found

    def live_blocks(self) -> int:
        """Blocks of memory that its tables still hold."""
        return int(self._live_blocks())


_MOST = 2**31 - 16
_WORD = 8


def read_chain(address: int, parts: Sequence[tuple[str, TypeTree]]) -> ColumnChunk:
    """Follow a chain from the address of its first word, and copy what it points at.

    `parts` are the columns asked for, with the parts of each
    (`seambench.seams.column.oracle.requested_parts`).
    """
    if not address:
        raise ProtocolError("a chunk without a meta chain came")
    walk = _Walk(address)
    rows = _count(walk.word(), "rows")
    for name, tree in parts:
        walk.column(tree, name, rows)
    return ColumnChunk(rows, walk.slots)


class _Walk:
    """The words of a chain, one after the other."""

    def __init__(self, address: int) -> None:
        self._next = address
        self.slots: list[ColumnSlot] = []

    def word(self) -> int:
        """The next word."""
        found = ctypes.c_int64.from_address(self._next).value
        self._next += _WORD
        return found

    def column(self, tree: TypeTree, name: str, rows: int) -> None:
        """The words of a column or a part of one."""
        if tree.kind == "unknown":
            if word := self.word():
                raise ProtocolError(f"the word of {name}, which there is not, is {word:#x}, not 0")
            self.slots.append(ColumnSlot("unknown", name, None))
            return
        self._slot("nulls", name, rows)
        if tree.width:
            self._slot("data", name, rows * tree.width)
        elif tree.kind in ("struct", "variant"):
            for child, part in zip(tree.names, tree.children, strict=True):
                self.column(part, f"{name}.{child}", rows)
        else:
            offsets = np.frombuffer(self._slot("offsets", name, 4 * (rows + 1)), "<i4")
            inside = _count(int(offsets[-1]), f"entries of {name}")
            if tree.is_run:
                self._slot("bytes", name, inside)
            for child, part in zip(tree.names, tree.children, strict=True):
                self.column(part, f"{name}.{child}", inside)

    def _slot(self, kind: str, name: str, size: int) -> bytes:
        address = self.word()
        if size and not address:
            raise ProtocolError(f"the {kind} of {name} are {counted(size, 'byte')} at address 0")
        content = ctypes.string_at(address, size) if size else b""
        self.slots.append(ColumnSlot(kind, name, content))  # type: ignore[arg-type] # one of its words
        return content


def _count(number: int, what: str) -> int:
    if not 0 <= number <= _MOST:
        raise ProtocolError(f"{number} {what}; there are 0 to {_MOST}")
    return number


def line_of_case(case: ColumnCase) -> str:
    """The request as the door for programs has it; empty for a case that passes no door."""
    content = case.content()
    if isinstance(content, list) or content.get("kinds"):
        return ""
    return column_request(request_of(content))


def keep_column(case: ColumnCase, folder: Path) -> list[str]:
    """Leave the rows as an Arrow stream; see `Seam.keep`."""
    line = line_of_case(case)
    if not line:
        raise UsageError(f"{folder}: nothing to keep, since {case.id} passes no door")
    try:
        content = rows_stream(request_of(case.content()))
    except NotOffered as reason:
        raise UsageError(f"{folder}: nothing to keep: {reason}") from reason
    folder.mkdir(parents=True)
    (folder / "input").write_bytes(content)
    (folder / "request.json").write_text(line + "\n", encoding="utf-8")
    files = f"{folder / 'request.json'} {folder / 'input'}"
    return [f"cat {files} | ./columns    # as the door for programs asks"]
