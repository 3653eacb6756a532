"""Plans for the core's Avro decoder: which field goes into which column, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambench.errors import RefusedError
from seambench_impl._seam import ffi, lib
from seambench_impl.avro.schema import LOGICAL_TYPES, AvroType
from seambench_impl.errors import check, new_error
from seambench_impl.memory import TrackedAllocator

__all__ = ["Column", "Plan", "new_native_decoder", "plan_column"]

_KINDS: dict[str, int] = {
    "null": lib.SEAM_AVRO_NULL,
    "boolean": lib.SEAM_AVRO_BOOLEAN,
    "int": lib.SEAM_AVRO_INT,
    "long": lib.SEAM_AVRO_LONG,
    "float": lib.SEAM_AVRO_FLOAT,
    "double": lib.SEAM_AVRO_DOUBLE,
    "bytes": lib.SEAM_AVRO_BYTES,
    "string": lib.SEAM_AVRO_STRING,
    "fixed": lib.SEAM_AVRO_FIXED,
    "enum": lib.SEAM_AVRO_ENUM,
    "array": lib.SEAM_AVRO_ARRAY,
    "map": lib.SEAM_AVRO_MAP,
    "union": lib.SEAM_AVRO_UNION,
    "record": lib.SEAM_AVRO_RECORD,
}


@dataclass(frozen=True)
class Column:
    """How the core keeps one column (`struct seam_avro_column`, without nullability)."""

    kind: int
    utf8: int = 0
    size: int = 0
    shift: int = 0


_UNIT_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_TEXT = (pa.string(), pa.binary())


def _plan_decimal(avro: AvroType, target: pa.Decimal128Type) -> Column | None:
    shift = target.scale - avro.scale
    if avro.logical != "decimal" or shift < 0:
        return None
    return Column(lib.SEAM_AVRO_TO_DECIMAL, size=target.precision, shift=shift)


def _plan_time(avro: AvroType, target: pa.DataType) -> Column | None:
    """Dates, times and timestamps: the same thing in the same or a finer unit."""
    source = LOGICAL_TYPES.get((avro.kind, avro.logical))
    if source is None or source.id not in (target.id, pa.time32("ms").id):
        return None
    if source == target:
        is_int = avro.kind == "int"
        return Column(lib.SEAM_AVRO_TO_INT32 if is_int else lib.SEAM_AVRO_TO_INT64)
    if not hasattr(source, "unit") or not hasattr(target, "unit"):
        return None
    if pa.types.is_timestamp(source) != pa.types.is_timestamp(target):
        return None
    if getattr(source, "tz", None) != getattr(target, "tz", None) or target.bit_width != 64:
        return None
    shift = _UNIT_DIGITS[target.unit] - _UNIT_DIGITS[source.unit]
    return Column(lib.SEAM_AVRO_TO_INT64, shift=shift) if shift >= 0 else None


def _plan_plain(avro: AvroType, target: pa.DataType) -> Column | None:
    """Types without a logical type on the Arrow side."""
    number = avro.kind if not avro.logical else ""
    if target == pa.bool_() and number == "boolean":
        return Column(lib.SEAM_AVRO_TO_BOOL)
    if target == pa.int32() and number == "int":
        return Column(lib.SEAM_AVRO_TO_INT32)
    if target == pa.int64() and number in ("int", "long"):
        return Column(lib.SEAM_AVRO_TO_INT64)
    if target == pa.float32() and number in ("int", "long", "float"):
        return Column(lib.SEAM_AVRO_TO_FLOAT)
    if target == pa.float64() and number in ("int", "long", "float", "double"):
        return Column(lib.SEAM_AVRO_TO_DOUBLE)
    plain = avro.logical in ("", "uuid")
    if target in _TEXT and plain and avro.kind in ("string", "bytes", "enum"):
        return Column(lib.SEAM_AVRO_TO_BYTES, utf8=int(target == pa.string()))
    if target == pa.binary() and plain and avro.kind == "fixed":
        return Column(lib.SEAM_AVRO_TO_BYTES)
    if target == pa.binary(max(avro.size, 1)) and plain and avro.kind == "fixed":
        return Column(lib.SEAM_AVRO_TO_FIXED, size=avro.size)
    return None


def plan_column(name: str, avro: AvroType, target: pa.DataType) -> Column:
    """How a field goes into a column, or a refusal that names both types."""
    value = avro.value_type()
    plan: Column | None
    if value.kind == "null":  # any column can hold it; the kind only shapes the empty values
        plan = _plan_null(target)
    elif pa.types.is_decimal128(target):
        plan = _plan_decimal(value, target)
    elif pa.types.is_temporal(target):
        plan = _plan_time(value, target)
    else:
        plan = _plan_plain(value, target)
    if plan is None:
        logical = f" ({value.logical})" if value.logical else ""
        raise RefusedError(
            f"field '{name}': Avro {value.kind}{logical} cannot be read as Arrow {target}."
        )
    return plan


def _plan_null(target: pa.DataType) -> Column | None:
    if pa.types.is_boolean(target):
        return Column(lib.SEAM_AVRO_TO_BOOL)
    if target in _TEXT:
        return Column(lib.SEAM_AVRO_TO_BYTES)
    if pa.types.is_decimal128(target):
        return Column(lib.SEAM_AVRO_TO_DECIMAL, size=target.precision)
    if pa.types.is_nested(target) or pa.types.is_null(target):
        return None
    width = {32: lib.SEAM_AVRO_TO_INT32, 64: lib.SEAM_AVRO_TO_INT64}.get(target.bit_width)
    return Column(width) if width is not None else None


class Plan:
    """The writer's schema as the flat arrays that the core takes.

    Keeps the C strings alive until the decoder has copied them.
    """

    def __init__(self, root: AvroType) -> None:
        self._keep: list[Any] = []
        self._types = [root]
        self._names = [""]
        self._links: list[list[int]] = [[]]
        self._index = {id(root): 0}
        self.columns: dict[int, int] = {}
        for name, child in zip(root.names, root.children, strict=True):
            # Fields get nodes of their own, so that each has its name; deeper types are shared.
            self._index.pop(id(child), None)
            self._links[0].append(self._add(child, name))

    def field_node(self, position: int) -> int:
        """Node of a field of the top-level record."""
        return self._links[0][position]

    def _add(self, avro: AvroType, name: str) -> int:
        known = self._index.get(id(avro))
        if known is not None:
            return known
        index = len(self._types)
        self._index[id(avro)] = index
        self._types.append(avro)
        self._names.append(name)
        self._links.append([])
        self._links[index] = [self._add(child, name) for child in avro.children]
        return index

    def _text(self, value: str) -> Any:
        kept = ffi.new("char[]", value.encode())
        self._keep.append(kept)
        return kept

    def native(self) -> tuple[Any, int, Any, int]:
        """Nodes and children as C arrays, each with its length."""
        nodes = ffi.new("struct seam_avro_node[]", len(self._types))
        flat: list[int] = []
        for index, (node, avro) in enumerate(zip(nodes, self._types, strict=True)):
            node.kind = _KINDS[avro.kind]
            node.column = self.columns.get(index, -1)
            node.first_child = len(flat)
            node.n_children = len(self._links[index])
            node.size = len(avro.names) if avro.kind == "enum" else avro.size
            node.name = self._text(self._names[index])
            flat.extend(self._links[index])
            if avro.kind == "enum":
                symbols = ffi.new("char *[]", [self._text(symbol) for symbol in avro.names])
                self._keep.append(symbols)
                node.symbols = symbols
        return nodes, len(self._types), ffi.new("int32_t[]", flat), len(flat)


def new_native_decoder(
    plan: Plan, columns: Sequence[tuple[Column, bool]], allocator: TrackedAllocator, source: str
) -> Any:
    """Compile a plan in the core; the result frees itself."""
    native = ffi.new("struct seam_avro_column[]", len(columns))
    for slot, (column, nullable) in zip(native, columns, strict=True):
        slot.kind, slot.nullable, slot.utf8 = column.kind, int(nullable), column.utf8
        slot.size, slot.shift = column.size, column.shift
    out = ffi.new("struct seam_avro_decoder **")
    error = new_error()
    code = lib.seam_avro_new(allocator.pointer, *plan.native(), native, len(columns), out, error)
    check(code, error, source=source)
    return ffi.gc(out[0], lib.seam_avro_free)
