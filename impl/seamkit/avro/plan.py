"""Plans for the core's Avro decoder: which field goes into which column, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seamkit.avro.schema import LOGICAL_TYPES, AvroType, arrow_type
from seamkit.core._seam import ffi, lib
from seamkit.files.promotion import TypeRules

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
    """How the core keeps one column (`struct seam_avro_column`), and what is below it."""

    kind: int  # the core's word for it
    nullable: bool = True  # whether a null is taken; else it is an error
    utf8: bool = False  # texts must be UTF-8
    size: int = 0  # bytes of a fixed, digits of a decimal
    shift: int = 0  # values are multiplied by ten to this power
    # a list's item, a map's key and value, the fields of a struct that are kept
    children: tuple[Column, ...] = ()
    names: tuple[str, ...] = ()  # of a struct's fields


_UNIT_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_TEXT = (pa.string(), pa.binary())


def _plan_decimal(avro: AvroType, target: pa.Decimal128Type) -> Column | None:
    shift = target.scale - avro.scale
    if avro.logical != "decimal" or shift < 0:
        return None
    return Column(lib.SEAM_AVRO_TO_DECIMAL, size=target.precision, shift=shift)


def _plan_time(avro: AvroType, target: pa.DataType, rules: TypeRules) -> Column | None:
    """Dates, times and timestamps: the same thing in the same or a finer unit."""
    source = LOGICAL_TYPES.get((avro.kind, avro.logical))
    if source is not None and rules.relabels(source, target):
        return Column(lib.SEAM_AVRO_TO_INT64)
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


def _plan_plain(avro: AvroType, target: pa.DataType, rules: TypeRules) -> Column | None:
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
        by_text = rules.floats_by_text
        return Column(lib.SEAM_AVRO_TO_DOUBLE_BY_TEXT if by_text else lib.SEAM_AVRO_TO_DOUBLE)
    plain = avro.logical in ("", "uuid")
    if target in _TEXT and plain and avro.kind in ("string", "bytes", "enum"):
        return Column(lib.SEAM_AVRO_TO_BYTES, utf8=target == pa.string())
    if target == pa.binary() and plain and avro.kind == "fixed":
        return Column(lib.SEAM_AVRO_TO_BYTES)
    if target == pa.binary(max(avro.size, 1)) and plain and avro.kind == "fixed":
        return Column(lib.SEAM_AVRO_TO_FIXED, size=avro.size)
    return None


def plan_column(
    name: str, avro: AvroType, target: pa.Field, rules: TypeRules, source: str
) -> tuple[Column, pa.DataType]:
    """How a field goes into a column, and the type that it has then.

    That type is the target's wherever the core can promote to it. Otherwise it is the writer's own,
    and in structs fields that the writer lacks are left out: `seamkit.files.promotion` does the
    rest, by the rules.
    """
    value = avro.value_type()
    column, kind = _plan_type(name, value, target.type, rules, source)
    return replace(column, nullable=target.nullable), kind


def _plan_type(
    name: str, value: AvroType, target: pa.DataType, rules: TypeRules, source: str
) -> tuple[Column, pa.DataType]:
    if value.kind == "record" and pa.types.is_struct(target):
        return _plan_struct(name, value, target, rules, source)
    if value.kind == "array" and pa.types.is_list(target):
        item = target.value_field
        column, kind = plan_column(f"{name}.element", value.children[0], item, rules, source)
        return Column(lib.SEAM_AVRO_TO_LIST, children=(column,)), pa.list_(item.with_type(kind))
    if value.kind == "map" and pa.types.is_map(target) and target.key_type == pa.string():
        item = target.item_field
        column, kind = plan_column(f"{name}.value", value.children[0], item, rules, source)
        key = Column(lib.SEAM_AVRO_TO_BYTES, nullable=False, utf8=True)
        nested = Column(lib.SEAM_AVRO_TO_MAP, children=(key, column))
        return nested, pa.map_(pa.string(), item.with_type(kind))
    leaf = _plan_leaf(value, target, rules)
    if leaf is not None:
        return leaf, target
    own = _own_type(name, value)
    leaf = (
        _plan_leaf(value, own, rules) if own is not None and rules.promotes(own, target) else None
    )
    if own is None or leaf is None:
        logical = f" ({value.logical})" if value.logical else ""
        raise RefusedError(
            f"{source}: field '{name}': Avro {value.kind}{logical} cannot be read as Arrow "
            f"{target}."
        )
    return leaf, own


def _plan_leaf(value: AvroType, target: pa.DataType, rules: TypeRules) -> Column | None:
    if value.kind == "null":  # any column can hold it; the kind only shapes the empty values
        return _plan_null(target)
    if pa.types.is_decimal128(target):
        return _plan_decimal(value, target)
    if pa.types.is_temporal(target):
        return _plan_time(value, target, rules)
    return _plan_plain(value, target, rules)


def _own_type(name: str, value: AvroType) -> pa.DataType | None:
    """The type of one value as its writer has it."""
    nested = value.kind in ("record", "array", "map", "union")
    return None if nested else arrow_type(value, f"field '{name}'")


def _plan_struct(
    name: str, value: AvroType, target: pa.StructType, rules: TypeRules, source: str
) -> tuple[Column, pa.DataType]:
    writer = dict(zip(value.names, value.children, strict=True))
    columns: list[Column] = []
    fields: list[pa.Field] = []
    for field in target:
        avro = writer.get(field.name)
        if avro is None or avro.kind == "null":
            continue
        column, kind = plan_column(f"{name}.{field.name}", avro, field, rules, source)
        columns.append(column)
        fields.append(field.with_type(kind))
    names = tuple(field.name for field in fields)
    nested = Column(lib.SEAM_AVRO_TO_STRUCT, children=tuple(columns), names=names)
    return nested, pa.struct(fields)


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
    """The writer's schema and the columns wanted, as the flat arrays that the core takes.

    Keeps the C strings alive for decoders, which copy them. May be used for any number of these.
    `wanted` says how to keep the root's fields, by position, in the order of the columns. A tagged
    column takes the place of three (`SEAM_AVRO_TO_TAGGED`).
    """

    def __init__(self, root: AvroType, wanted: Mapping[int, Column]) -> None:
        self._keep: list[Any] = []
        self._types = [root]
        self._names = [""]
        self._links: list[list[int]] = [[]]
        self._index = {id(root): 0}
        self._columns: list[Column] = []
        self._column_of: dict[int, int] = {}
        kept = {
            position: self._add_kept(root.children[position], root.names[position], column)
            for position, column in wanted.items()
        }
        for position, (name, child) in enumerate(zip(root.names, root.children, strict=True)):
            # Fields get nodes of their own, so that each has its name; deeper types are shared.
            self._index.pop(id(child), None)
            node = kept.get(position)
            self._links[0].append(self._add(child, name) if node is None else node)

    def _new(self, avro: AvroType, name: str) -> int:
        self._types.append(avro)
        self._names.append(name)
        self._links.append([])
        return len(self._types) - 1

    def _add(self, avro: AvroType, name: str) -> int:
        """A type without a column: shared by all that refer to it."""
        known = self._index.get(id(avro))
        if known is not None:
            return known
        index = self._index[id(avro)] = self._new(avro, name)
        self._links[index] = [self._add(child, name) for child in avro.children]
        return index

    def _add_kept(self, avro: AvroType, name: str, column: Column) -> int:
        """A type with a column: a node of its own, as are those below that have one."""
        node = self._new(avro, name)
        self._column_of[node] = len(self._columns)
        self._columns.append(column)
        if column.kind == lib.SEAM_AVRO_TO_TAGGED:
            self._columns.append(Column(lib.SEAM_AVRO_TO_INT64, nullable=False))
            self._columns.append(Column(lib.SEAM_AVRO_TO_BYTES, nullable=False))
        value = avro.value_type()
        if value is avro or not column.children:
            links = self._links_below(avro, name, column)
        else:
            inner = self._new(value, name)
            self._links[inner] = self._links_below(value, name, column)
            links = [inner if c is value else self._add(c, name) for c in avro.children]
        self._links[node] = links
        return node

    def _links_below(self, value: AvroType, name: str, column: Column) -> list[int]:
        if column.kind == lib.SEAM_AVRO_TO_LIST:
            return [self._add_kept(value.children[0], f"{name}.element", column.children[0])]
        if column.kind == lib.SEAM_AVRO_TO_MAP:
            self._columns.append(column.children[0])
            return [self._add_kept(value.children[0], f"{name}.value", column.children[1])]
        below = dict(zip(value.names, value.children, strict=True)) if column.names else {}
        kept = {
            field: self._add_kept(below[field], f"{name}.{field}", child)
            for field, child in zip(column.names, column.children, strict=True)
        }
        if not kept:
            return [self._add(child, name) for child in value.children]
        return [
            kept[field] if field in kept else self._add(child, f"{name}.{field}")
            for field, child in below.items()
        ]

    def _text(self, value: str) -> Any:
        kept = ffi.new("char[]", value.encode())
        self._keep.append(kept)
        return kept

    @cached_property
    def native_nodes(self) -> tuple[Any, int, Any, int]:
        """Nodes and children as C arrays, each with its length."""
        nodes = ffi.new("struct seam_avro_node[]", len(self._types))
        flat: list[int] = []
        for index, (node, avro) in enumerate(zip(nodes, self._types, strict=True)):
            node.kind = _KINDS[avro.kind]
            node.column = self._column_of.get(index, -1)
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

    @cached_property
    def native_columns(self) -> tuple[Any, int]:
        """Columns as a C array, and how many they are."""
        native = ffi.new("struct seam_avro_column[]", len(self._columns))
        for slot, column in zip(native, self._columns, strict=True):
            slot.kind, slot.nullable, slot.utf8 = column.kind, column.nullable, column.utf8
            slot.size, slot.shift = column.size, column.shift
            slot.n_children = len(column.children)
        return native, len(self._columns)
