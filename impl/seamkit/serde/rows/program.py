"""The types of rows, as the core wants them: compiled once for a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, parse_schema, schema_of
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call
from seamkit.serde.vectors import fits

# Levels of columns that the core follows, below the row itself (SEAM_NODE_DEPTH).
_DEEPEST = 63
# Spark's flat types by the bytes of a value.
_WIDTHS = {
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "bigint": 8,
    "float": 4,
    "double": 8,
    "date": 4,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "interval year to month": 4,
    "interval day to second": 8,
}
_KINDS = {
    "void": lib.SEAM_ROW_VOID,
    "boolean": lib.SEAM_ROW_BOOLEAN,
    "string": lib.SEAM_ROW_STRING,
    "char": lib.SEAM_ROW_STRING,
    "varchar": lib.SEAM_ROW_STRING,
    "binary": lib.SEAM_ROW_BINARY,
    "interval": lib.SEAM_ROW_CALENDAR,
    "array": lib.SEAM_ROW_ARRAY,
    "map": lib.SEAM_ROW_MAP,
    "struct": lib.SEAM_ROW_STRUCT,
}


class RowProgram:
    """Columns of rows, their Spark types compiled for the core.

    Immutable; any number of threads may share one.

    Args:
        fields: the columns, in order, with types in Spark's words.
        depth_limit: most levels of nested columns (1: none), or None for the 63 that the core
            follows.

    Attributes:
        types: the parsed types.
        schema: the Arrow schema of the batches that are read.
        root: the core's `struct seam_row_type *`: a struct of the columns.
    """

    def __init__(self, fields: Sequence[SerdeField], *, depth_limit: int | None = None) -> None:
        request = SerdeRequest("unsaferow", tuple(fields))
        self.fields: tuple[SerdeField, ...] = tuple(fields)
        self.types: list[SerdeType] = parse_schema(request)
        self.schema: pa.Schema = schema_of(request)
        deepest = max((type_.depth for type_ in self.types), default=0)
        limit = _DEEPEST if depth_limit is None else min(depth_limit, _DEEPEST)
        if deepest > limit:
            raise RefusedError(
                f"columns are nested {counted(deepest, 'level')} deep, the limit is {limit}"
            )
        self._kept: list[Any] = []  # what the tree borrows
        self.root: Any = ffi.new("struct seam_row_type *")
        self.root.kind = lib.SEAM_ROW_STRUCT
        self.root.name = self._text("row")
        children = [(f.name, t, f.nullable) for f, t in zip(fields, self.types, strict=True)]
        self._fill_children(self.root, children)
        call(lib.seam_row_type_check, self.root)

    def _text(self, text: str) -> Any:
        kept = ffi.new("char[]", text.encode("utf-8", "replace").replace(b"\0", b"?"))
        self._kept.append(kept)
        return kept

    def _fill_children(self, node: Any, children: Sequence[tuple[str, SerdeType, bool]]) -> None:
        block = ffi.new("struct seam_row_type[]", len(children))
        self._kept.append(block)
        node.n_children = len(children)
        node.children = block
        for i, (name, type_, nullable) in enumerate(children):
            self._fill(block[i], name, type_, nullable)

    def _fill(self, node: Any, name: str, type_: SerdeType, nullable: bool) -> None:
        node.name = self._text(name)
        node.nullable = nullable
        node.precision = type_.precision
        if type_.kind == "decimal":
            short = type_.precision <= lib.SEAM_ROW_SHORT_DIGITS
            node.kind = lib.SEAM_ROW_SHORT_DECIMAL if short else lib.SEAM_ROW_LONG_DECIMAL
        elif type_.kind in _WIDTHS:
            node.kind = lib.SEAM_ROW_FIXED
            node.width_bytes = _WIDTHS[type_.kind]
        else:
            node.kind = _KINDS[type_.kind]
        self._fill_children(node, _parts(name, type_))

    def check_batch(self, batch: pa.RecordBatch) -> None:
        """Refuse a batch whose columns are not those of the program.

        Dictionaries and runs of a column's type pass, at any level, and 64-bit offsets do.
        """
        if batch.num_columns != len(self.fields):
            raise UsageError(
                f"the batch has {counted(batch.num_columns, 'column')} where "
                f"{len(self.fields)} are stated"
            )
        for field, wanted, given in zip(self.fields, self.schema, batch.schema, strict=True):
            if not fits(given.type, wanted.type):
                raise UsageError(
                    f"column {field.name!r}: {field.type} is {wanted.type} in Arrow, "
                    f"the batch has {given.type}; cast it"
                )


def _parts(name: str, type_: SerdeType) -> list[tuple[str, SerdeType, bool]]:
    """Children of a type: what messages call them, and whether nulls are allowed."""
    if type_.kind == "array":
        return [(f"{name}.element", type_.children[0], True)]
    if type_.kind == "map":
        key, value = type_.children
        return [(f"{name}.key", key, False), (f"{name}.value", value, True)]
    pairs = zip(type_.names, type_.children, strict=True)
    return [(f"{name}.{field}", child, True) for field, child in pairs]
