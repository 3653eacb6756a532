"""Column types as the core's structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamkit.core._seam import ffi, lib
from seamkit.core.border import call
from seamkit.offheap.columns.types import ColumnType


class CTypes:
    """Column types as `struct seam_column_type`, made once and used by any number of tables.

    Structures copied out of it (into a table) borrow from it: whoever holds one must keep it.

    Attributes:
        types: the same, as a tuple.
        pointer: the structures, one after the other.
    """

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self.types = tuple(types)
        nodes = _breadth_first(self.types)
        self._names = [
            ffi.NULL if name is None else ffi.new("char[]", name.encode()) for name, _ in nodes
        ]
        self.pointer: Any = ffi.new("struct seam_column_type[]", max(len(nodes), 1))
        free = len(self.types)
        for index, (_, column) in enumerate(nodes):
            struct = self.pointer[index]
            struct.kind, struct.precision, struct.scale = (
                column.kind,
                column.precision,
                column.scale,
            )
            struct.n_children, struct.name = len(column.children), self._names[index]
            if column.children:
                struct.children = self.pointer + free
                free += len(column.children)
        for index, column in enumerate(self.types):
            call(lib.seam_column_type_check, self.pointer + index, source=f"column type {column}")


def _breadth_first(types: Sequence[ColumnType]) -> list[tuple[str | None, ColumnType]]:
    """Every node with its name; the children of one node stand side by side."""
    found: list[tuple[str | None, ColumnType]] = [(None, column) for column in types]
    for _, column in found:  # the list grows under way
        found.extend(zip(column.names, column.children, strict=True))
    return found
