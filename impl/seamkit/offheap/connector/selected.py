"""Which parts of nested columns are asked for, and the types that are left of them.

The rules are those of StarRocks' JNI connector (main tree of June 2025, `SelectedFields` and
`ColumnType.pruneOnAccess`). A path names a part by dots: `s.a.b` a field of a struct in a struct,
`m.$0` a map's keys, `m.$1` its values, `l.$0` an array's elements. Children come in the order in
which the paths first name them, not in that of the type; a field that the type lacks becomes a
child of kind UNKNOWN. A column that no path goes into comes whole, as does everything below the
last name of a path; of a parent and its part (`a`, `a.x`), only the part comes.

Two deviations. A map's keys stay in front of its values in whatever order the paths name them: Java
always writes keys into the first child, so that `m.$1,m.$0` puts them where the values belong. And
a path that names no part which its type has room for (`l.x` of an array, `m.x` of a map, `n.x` of a
number) is refused, where Java leaves offsets to chance or fails at the first value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from seambase.errors import UsageError
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind

#: What separates the names of a list, the types of a list and the names of a path. There is no
#: escaping, so that no name may hold one.
SEPARATORS = ",#."


class SelectedFields:
    """A tree of names of dotted paths, in their first order (Java: `SelectedFields`)."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._children: dict[str, SelectedFields] = {}
        for path in paths:
            self._add(path)

    def _add(self, path: str) -> None:
        node = self
        for name in path.split("."):
            if not name:
                raise UsageError(f"nested field '{path}': a path has no empty names")
            node = node._children.setdefault(name, SelectedFields())

    @property
    def fields(self) -> tuple[str, ...]:
        """Names on this level (Java: `getFields`)."""
        return tuple(self._children)

    @property
    def whole(self) -> bool:
        """Whether nothing below is named, which asks for all of it."""
        return not self._children

    def child(self, name: str) -> SelectedFields:
        """What is asked for below `name` (Java: `findChildren`); all, if that is not named."""
        return self._children.get(name) or SelectedFields()


def prune(column: ColumnType, selected: SelectedFields, name: str = "") -> ColumnType:
    """What is left of a type (Java: `pruneOnAccess`).

    Its text is that of the parts selected; a child that the type lacks has kind UNKNOWN.
    """
    if selected.whole:
        return column
    if column.kind is Kind.STRUCT:
        return _with_children(column, _struct_children(column, selected, name))
    if column.kind in (Kind.ARRAY, Kind.MAP):
        return _with_children(column, _entries(column, selected, name))
    path = f"{name}.{selected.fields[0]}"
    raise UsageError(f"nested field '{path}': a value of type {column} has no parts to choose from")


def prune_columns(
    columns: Mapping[str, ColumnType], required: Sequence[str], nested: Iterable[str] = ()
) -> list[ColumnType]:
    """Types of the columns asked for (Java: `ScannerHelper` and the scanners' constructors).

    Names may repeat. One that the source lacks gives kind UNKNOWN; nested paths that start with a
    column not asked for mean nothing.
    """
    selected = SelectedFields(nested)
    types = []
    for name in required:
        if selected.fields and "." in name:
            raise UsageError(f"column '{name}' cannot be told from a path: its name holds a dot")
        column = columns.get(name, UNKNOWN)
        if column.kind is not Kind.UNKNOWN:
            column = prune(column, selected.child(name), name)
        types.append(column)
    return types


def _struct_children(
    column: ColumnType, selected: SelectedFields, name: str
) -> dict[str, ColumnType]:
    known = dict(zip(column.names, column.children, strict=True))
    for field in known:
        if any(separator in field for separator in SEPARATORS):
            raise UsageError(
                f"parts of column '{name}' cannot be chosen: the name of its field '{field}' holds "
                f"one of the separators {SEPARATORS}"
            )
    return {
        field: prune(known[field], selected.child(field), f"{name}.{field}")
        if field in known
        else UNKNOWN
        for field in selected.fields
    }


def _entries(column: ColumnType, selected: SelectedFields, name: str) -> dict[str, ColumnType]:
    known = dict(zip(column.names, column.children, strict=True))
    for field in selected.fields:
        if field not in known:
            raise UsageError(
                f"nested field '{name}.{field}': the parts of {column.kind.name.lower()} columns "
                f"are {' and '.join(known)}"
            )
    return {
        entry: prune(child, selected.child(entry), f"{name}.{entry}")
        for entry, child in known.items()
        if entry in selected.fields
    }


def _with_children(column: ColumnType, children: Mapping[str, ColumnType]) -> ColumnType:
    return replace(column, children=tuple(children.values()), names=tuple(children), text="")
