"""The schema of a Delta table: JSON of Spark's types, and what its fields are called in data files.

With column mapping a field has an id and a physical name for life; files know it by these, the
table by its present name. Without, the two names are the same.

A column may have had a narrower type when a file was written (PROTOCOL.md, "Type Widening"). Old
files keep the narrow type; their values are cast when they are read. Every value stays what it
is: a float becomes the double that equals it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.columns import VARIANT, Key
from seamkit.files.promotion import LosslessTypes, is_text_or_bytes
from seamkit.tables.delta.log.actions import WIDENING, Metadata, Protocol, has_feature, maps_columns

MappingMode = Literal["none", "name", "id"]

_FLAT: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),  # as Spark reads it, and writes it nowhere
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
    "null": pa.null(),  # Spark's name for it before version 3.1
    "decimal": pa.decimal128(10, 0),
}
_VARIANT = "variant"
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(-?\d+)\s*\)")
_MOST_DIGITS = 38
_OF_MAPS = frozenset(("key", "value", "keys", "values"))
_ID = "delta.columnMapping.id"


@dataclass(frozen=True)
class Field:
    """A field of the table, or of a struct in it."""

    name: str  # as the table shows it
    physical: str  # its name in data files, partition values and statistics
    id: int | None  # its field id, by which data files know it; None where they know it by its name
    type: pa.DataType  # its Arrow type; `VARIANT` for a variant
    # fields of a struct; the element of an array; key and value of a map; the two parts of a
    # variant. All but the first are no fields of Delta's: they have no name or id of their own
    children: Sequence[Field] = ()
    is_variant: bool = False  # whether it is one, and no struct of the same two fields

    @property
    def keys(self) -> Sequence[Key]:
        """By which files know it; see `seamkit.files.columns`."""
        return (self.physical,) if self.id is None else (self.id,)


@dataclass(frozen=True)
class TableSchema:
    """All columns of a version."""

    fields: Sequence[Field]
    mode: MappingMode  # how data files are matched with them
    partition_columns: Sequence[str]  # names of those whose values stand in the log

    @cached_property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow has them."""
        return pa.schema([pa.field(own.name, own.type) for own in self.fields])

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The columns by name."""
        return {own.name: own for own in self.fields}

    @cached_property
    def stored(self) -> Sequence[Field]:
        """Columns that files hold."""
        return [own for own in self.fields if own.name not in self.partition_columns]

    @cached_property
    def plain(self) -> Sequence[Field]:
        """Columns that files hold and that are not nested."""
        return [own for own in self.stored if not own.children]

    @cached_property
    def miscounted(self) -> frozenset[str]:
        """What columns are called in files whose nulls may be counted as those of other values.

        Up to its version 1.6.1 delta-rs tells the nulls of a map's keys and values, of top-level
        maps and those in lists, as if they were columns with such names.
        """
        kinds = [own.type for own in self.stored]
        while any(map(pa.types.is_list, kinds)):
            kinds = [one.value_type if pa.types.is_list(one) else one for one in kinds]
        return _OF_MAPS if any(map(pa.types.is_map, kinds)) else frozenset()


def table_schema(protocol: Protocol, metadata: Metadata, root: str) -> TableSchema:
    """What the metadata of a version says of its columns."""
    where = f"{root}: the schema"
    mode = _mode(protocol, metadata, root)
    try:
        parsed = json.loads(metadata.schema_string)
        if parsed["type"] != "struct":
            raise InputError(f"{where} is no struct")
        fields = _fields(parsed["fields"], mode, where, has_feature(protocol, *WIDENING))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where} is not readable ({error!r})") from error
    for name in metadata.partition_columns:
        same = [own for own in fields if own.name == name]
        if not same:
            raise InputError(f"{where} has no column {name!r}, by which the table is partitioned")
        if same[0].children:
            raise InputError(f"{where} has a nested type for the partition column {name!r}")
    return TableSchema(fields, mode, metadata.partition_columns)


def _mode(protocol: Protocol, metadata: Metadata, root: str) -> MappingMode:
    mode = metadata.configuration.get("delta.columnMapping.mode", "none").lower()
    if not maps_columns(protocol) or mode == "none":
        return "none"
    if mode == "name":
        return "name"
    if mode == "id":
        return "id"
    raise RefusedError(f"{root}: the column mapping mode {mode!r} is not supported")


def _fields(
    declared: Sequence[Mapping[str, Any]], mode: MappingMode, where: str, widens: bool
) -> list[Field]:
    fields = [_field(own, mode, where, widens) for own in declared]
    ids = [(own.get("metadata") or {}).get(_ID) for own in declared] if mode != "none" else []
    for what, keys in (
        ("name", [own.name for own in fields]),
        ("physical name", [own.physical for own in fields]),
        ("id", [str(id_) for id_ in ids if id_ is not None]),
    ):
        for key, count in Counter(keys).items():
            if count > 1:
                raise InputError(f"{where} has the {what} {key!r} twice")
    return fields


def _field(declared: Mapping[str, Any], mode: MappingMode, where: str, widens: bool) -> Field:
    name = declared["name"]
    if not isinstance(name, str):
        raise InputError(f"{where} has a field whose name is {name!r}")
    where = f"{where}, field {name!r}"
    properties = declared.get("metadata") or {}
    physical: Any = name
    id_: Any = None
    if mode != "none":
        physical = properties.get("delta.columnMapping.physicalName")
        id_ = properties.get(_ID) if mode == "id" else None
        if not isinstance(physical, str) or (mode == "id" and not isinstance(id_, int)):
            raise InputError(f"{where} has no physical name or id, though columns are mapped")
    if widens:
        check_type_changes(properties.get("delta.typeChanges") or [], where)
    kind, children = _type(declared["type"], mode, where, widens)
    return Field(name, physical, id_, kind, children, declared["type"] == _VARIANT)


def _type(
    declared: Any, mode: MappingMode, where: str, widens: bool
) -> tuple[pa.DataType, Sequence[Field]]:
    """An Arrow type, and the fields within it."""
    if declared == _VARIANT:
        return VARIANT, [Field(own.name, own.name, None, own.type) for own in VARIANT]
    if isinstance(declared, str):
        return _flat(declared, where), ()
    kind = declared["type"]
    if kind == "struct":
        fields = _fields(declared["fields"], mode, where, widens)
        return pa.struct([pa.field(own.name, own.type) for own in fields]), fields
    if kind == "array":
        item = _part("element", declared["elementType"], mode, where, widens)
        return pa.list_(item.type), (item,)
    if kind == "map":
        key = _part("key", declared["keyType"], mode, where, widens)
        value = _part("value", declared["valueType"], mode, where, widens)
        return pa.map_(key.type, value.type), (key, value)
    if kind == "udt":  # of an engine: files have its `sqlType`, in which no field is mapped
        return _type(declared["sqlType"], "none", where, widens)
    raise RefusedError(f"{where} has the type {kind!r}, which is not supported")


def _part(name: str, declared: Any, mode: MappingMode, where: str, widens: bool) -> Field:
    kind, children = _type(declared, mode, where, widens)
    return Field(name, name, None, kind, children, declared == _VARIANT)


def _flat(text: str, where: str) -> pa.DataType:
    if text in _FLAT:
        return _FLAT[text]
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise RefusedError(f"{where} has the type {text!r}, which is not supported")
    precision, scale = int(match[1]), int(match[2])
    if not 1 <= precision <= _MOST_DIGITS or not 0 <= scale <= precision:
        raise InputError(f"{where} has the type {text!r}, which is no decimal of Delta's")
    return pa.decimal128(precision, scale)


_WHOLE = ("byte", "short", "integer", "long")
_WIDENED_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# The protocol wants ten digits of all but long; some writers take as many as the type needs.
_WHOLE_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}


class DeltaTypes(LosslessTypes):
    """Type rules of a Delta table's data files.

    `widens`: the protocol allows that a file's type is narrower than the table's. Bytes and shorts
    may be so in any table, as Spark evolves them (`mergeSchema`): Parquet has all three as INT32.
    `cuts`: nanoseconds are those of INT96, of which Spark cuts the last digits off.
    """

    def __init__(self, widens: bool, *, cuts: bool = False) -> None:
        self._widens, self._cuts = widens, cuts

    def of_int96(self) -> DeltaTypes:
        """The same for a file whose times of INT96 come as nanoseconds."""
        return DeltaTypes(self._widens, cuts=True)

    def promotes(self, have: pa.DataType, want: pa.DataType) -> bool:
        """Whether values of a file's type are read as the table's."""
        if is_text_or_bytes(have) and is_text_or_bytes(want):
            return True
        if pa.types.is_timestamp(have) and pa.types.is_timestamp(want):
            # Of another unit: Trino writes instants as milliseconds without a zone, and times of
            # INT96 by Arrow up to its release 22 come as nanoseconds.
            return bool(have.tz == want.tz or have in (pa.timestamp("ms"), pa.timestamp("ns")))
        is_free = have in (pa.int8(), pa.int16()) and want in (pa.int16(), pa.int32())
        return (self._widens or is_free) and super().promotes(have, want)

    def promote(self, column: pa.Array, want: pa.DataType) -> pa.Array:
        """The values in the wider type.

        Of nanoseconds, of which tables have none and files should have none, no digit is lost:
        Spark refuses them, and delta-kernel-rs cuts them.
        """
        if pa.types.is_timestamp(column.type) and not self._cuts:
            return pc.cast(column, want)
        return super().promote(column, want)

    def relabels(self, have: pa.DataType, want: pa.DataType) -> bool:
        """INT96 comes as microseconds without a zone, and is an instant.

        Trino does not say how wide bytes and shorts are, which Parquet has as INT32.
        """
        if have == pa.int32():
            return bool(want in (pa.int8(), pa.int16()))
        return bool(have == pa.timestamp("us") and want == pa.timestamp("us", "UTC"))


def check_type_changes(changes: Sequence[Mapping[str, Any]], where: str) -> None:
    """Check the changes of type that a field's metadata lists."""
    for change in changes:
        old, new = change.get("fromType"), change.get("toType")
        if not isinstance(old, str) or not isinstance(new, str):
            raise InputError(f"{where} has an entry of delta.typeChanges without its types")
        if not _is_known(old.replace(" ", ""), new.replace(" ", "")):
            raise RefusedError(
                f"{where} changed its type from {old} to {new}, which is not supported"
            )


def _is_known(old: str, new: str) -> bool:
    if old in _WHOLE and new in _WHOLE:
        return _WHOLE.index(old) <= _WHOLE.index(new)
    if new == "double":
        return old in ("float", "byte", "short", "integer")
    if (old, new) == ("date", "timestamp_ntz"):
        return True
    wide = _WIDENED_DECIMAL.fullmatch(new)
    if wide is None:
        return False
    precision, scale = int(wide[1]), int(wide[2])
    if old in _WHOLE_DIGITS:
        return precision - scale >= _WHOLE_DIGITS[old]
    narrow = _WIDENED_DECIMAL.fullmatch(old)
    if narrow is None:
        return False
    more_digits, more_scale = precision - int(narrow[1]), scale - int(narrow[2])
    return more_digits >= more_scale >= 0
