"""What a chunk's bytes are: one buffer, or pieces that lie where they were made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seamkit.core._seam import ffi, lib
from seamkit.core.border import made
from seamkit.core.memory import Block, TrackedAllocator

_PIECE_BYTES = ffi.sizeof("struct seam_piece")


class ArrowPieces:
    """A record batch as a message of Arrow's IPC format that nobody has joined.

    It takes the batch's C structures over and owns the buffers that are its pieces; the allocator
    counts the metadata.
    """

    def __init__(self, allocator: TrackedAllocator, schema: Any, array: Any) -> None:
        make, free = lib.seam_ipc_message_new, lib.seam_ipc_message_free
        self._allocator = allocator
        self._pointer = made(
            ffi.new("struct seam_ipc_message **"), make, free, allocator.pointer, schema, array
        )
        self.nbytes = int(lib.seam_ipc_message_bytes(self._pointer))

    def pieces(self) -> tuple[Any, int]:
        """`struct seam_piece *` and how many; they live as long as this does."""
        count = ffi.new("int64_t *")
        return lib.seam_ipc_message_pieces(self._pointer, count), count[0]

    def joined(self) -> memoryview:
        """A copy in one place."""
        block = Block(self._allocator, self.nbytes)
        pieces, count = self.pieces()
        lib.seam_pieces_join(pieces, count, block.pointer)
        return block.view


def size_of(payload: Any) -> int:
    """Bytes of a payload."""
    return payload.nbytes if isinstance(payload, ArrowPieces) else memoryview(payload).nbytes


def flat(payload: Any) -> Any:
    """The payload as one buffer; what is in pieces is copied."""
    return payload.joined() if isinstance(payload, ArrowPieces) else payload


def to_c(payloads: Iterable[Any]) -> tuple[Any, int, list[Any]]:
    """Payloads as `struct seam_piece *`, how many these are, and what they borrow from."""
    runs: list[tuple[Any, int]] = []
    kept: list[Any] = []
    for payload in payloads:
        if isinstance(payload, ArrowPieces):
            kept.append(payload)
            runs.append(payload.pieces())
            continue
        piece = ffi.new("struct seam_piece *")
        piece.data = data = ffi.from_buffer(payload)
        piece.size_bytes = len(data)
        kept += (piece, data)
        runs.append((piece, 1))
    total = sum(count for _, count in runs)
    pieces, at = ffi.new("struct seam_piece[]", total), 0
    for run, count in runs:
        ffi.memmove(pieces + at, run, count * _PIECE_BYTES)
        at += count
    return pieces, total, kept
