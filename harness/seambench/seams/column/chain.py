"""The chunk that a meta chain of this process tells: addresses of a library, followed blindly.

A wrong address ends the process, and the case with it as a crash. What can be seen to be wrong
before it is followed, as a size below nothing, is told instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from seambench.contracts.column import ColumnChunk, ColumnSlot
from seambench.contracts.outcomes import ProtocolError
from seambench.seams.column.oracle import TypeTree

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
            raise ProtocolError(f"the {kind} of {name} are {size} bytes at address 0")
        content = ctypes.string_at(address, size) if size else b""
        self.slots.append(ColumnSlot(kind, name, content))  # type: ignore[arg-type] # one of its words
        return content


def _count(number: int, what: str) -> int:
    if not 0 <= number <= _MOST:
        raise ProtocolError(f"{number} {what}; there are 0 to {_MOST}")
    return number
