"""Column types as the core's structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seambench_impl._seam import ffi, lib
from seambench_impl.columns.types import ColumnType
from seambench_impl.errors import check, new_error

__all__ = ["c_types"]


def c_types(types: Sequence[ColumnType]) -> Any:
    """The types as `struct seam_column_type *`: one structure after the other.

    The pointer owns the structures, their children and names. Structures copied out of it (into a
    table, into an engine's slot) borrow from it: whoever holds one must keep the pointer.

    Raises:
        seambench.errors.RefusedError: a type that no column has.
    """
    names = [
        ffi.new("char[]", name.encode()) if name is not None else ffi.NULL
        for name, _ in _breadth_first(types)
    ]
    nodes = [column for _, column in _breadth_first(types)]
    structs = ffi.new("struct seam_column_type[]", max(len(nodes), 1))
    free = len(types)
    for struct, column, name in zip(structs, nodes, names, strict=False):
        struct.kind, struct.precision, struct.scale = column.kind, column.precision, column.scale
        struct.n_children, struct.name = len(column.children), name
        if column.children:
            struct.children = structs + free
            free += len(column.children)
    error = new_error()
    for index, column in enumerate(types):
        code = lib.seam_column_type_check(structs + index, error)
        check(code, error, source=f"column type {column}")
    # What the pointer stands for lives as long as the pointer does.
    return ffi.gc(structs + 0, lambda _, _kept=(structs, names): None)


def _breadth_first(types: Sequence[ColumnType]) -> list[tuple[str | None, ColumnType]]:
    """Every node with its name; the children of one node stand side by side."""
    found: list[tuple[str | None, ColumnType]] = [(None, column) for column in types]
    for _, column in found:  # the list grows under way
        found.extend(zip(column.names, column.children, strict=True))
    return found
