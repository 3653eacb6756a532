"""Types of Iceberg's schemas: fields of all depths, and values as JSON spells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambench.formats.lint.values import is_day

_PRIMITIVES = "boolean int long float double date time timestamp timestamptz string uuid binary"
_SINCE_3 = "unknown variant timestamp_ns timestamptz_ns"
_FIXED, _DECIMAL = r"fixed\[\s*(\d+)\s*\]", r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)"
_GIVEN = {_FIXED: 1, _DECIMAL: 1, r"geometry(\(.*\))?": 3, r"geography(\(.*\))?": 3}
NO_DEFAULT = re.compile(r"unknown|variant|geo(metry|graphy).*")
TIMES = ("timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns")


@dataclass(frozen=True)
class Field:
    """A field of a schema at any depth."""

    id: int
    name: str  # with those of the fields around it
    kind: Any  # its type as JSON has it
    required: bool
    said: Mapping[str, Any]  # the field's own JSON, where it is one of a struct
    above: tuple[Field, ...] = ()  # the fields around it, outermost first

    @property
    def nested(self) -> str:
        """`struct`, `list` or `map`; empty where the type is none of them."""
        return str(self.kind["type"]) if isinstance(self.kind, dict) else ""

    @property
    def plain(self) -> bool:
        """Whether its values are known here to be counted and bounded."""
        return not self.nested and not NO_DEFAULT.fullmatch(self.kind)

    @property
    def repeated(self) -> bool:
        """Whether it lies within a list or map."""
        return any(one.nested != "struct" for one in self.above)


def fields_of(kind: Mapping[str, Any], above: tuple[Field, ...] = ()) -> Iterator[Field]:
    """All fields below a nested type.

    Raises:
        KeyError, TypeError: it is not spelled as one.
    """
    path = f"{above[-1].name}." if above else ""
    if kind["type"] == "struct":
        parts = [
            (one["id"], one["name"], one["type"], one["required"], one) for one in kind["fields"]
        ]
    elif kind["type"] == "list":
        parts = [(kind["element-id"], "element", kind["element"], kind["element-required"], {})]
    elif kind["type"] == "map":
        parts = [(kind["key-id"], "key", kind["key"], True, {})]
        parts += [(kind["value-id"], "value", kind["value"], kind["value-required"], {})]
    else:
        raise KeyError(kind["type"])
    for number, name, inner, required, said in parts:
        if type(number) is not int or type(required) is not bool or type(name) is not str:
            raise TypeError(f"field {number!r}, {name!r}, required {required!r}")
        field = Field(number, path + name, inner, required, said, above)
        yield field
        if not isinstance(inner, str):
            yield from fields_of(inner, (*above, field))


def since(kind: str) -> int | None:
    """The first version of the format that has a primitive type; None: there is none."""
    if kind in _PRIMITIVES.split():
        return 1
    if kind in _SINCE_3.split():
        return 3
    found = next((v for spelled, v in _GIVEN.items() if re.fullmatch(spelled, kind)), None)
    digits = decimal_of(kind)
    return None if digits and not (0 < digits[0] <= 38 and digits[1] <= digits[0]) else found


def decimal_of(kind: Any) -> tuple[int, int] | None:
    """Precision and scale of a decimal."""
    match = re.fullmatch(_DECIMAL, kind) if isinstance(kind, str) else None
    return (int(match[1]), int(match[2])) if match else None


def width_of(kind: str) -> int | None:
    """Bytes of a value of a type of fixed length."""
    found = re.fullmatch(_FIXED, kind)
    return int(found[1]) if found else 16 if kind == "uuid" else None


def promotes(old: Any, new: Any, version: int) -> bool:
    """Whether a field of one type may become one of the other."""
    if isinstance(old, dict) or isinstance(new, dict):
        return isinstance(old, dict) and isinstance(new, dict) and old["type"] == new["type"]
    digits = decimal_of(old), decimal_of(new)
    if digits[0] and digits[1]:
        return digits[0][1] == digits[1][1] and digits[0][0] <= digits[1][0]
    allowed = [("int", "long"), ("float", "double")]
    if version > 2:
        allowed += [("date", "timestamp"), ("date", "timestamp_ns"), ("unknown", new)]
    return "".join(old.split()) == "".join(new.split()) or (old, new) in allowed


@dataclass(frozen=True)
class Held:
    """A field with an id in a file."""

    id: int
    above: tuple[int, ...]  # ids of the fields around it
    type: pa.DataType  # as Arrow reads it
    # of a field that lies within no list or map; null where a struct around it is
    values: pa.ChunkedArray | None


def held_in(table: pa.Table) -> Iterator[Held]:
    """The fields of all depths that have ids in a file."""
    for at, field in enumerate(table.schema):
        yield from _held(field, table.column(at), ())


def held_by(
    rows: Sequence[Any], known: Mapping[int, Field], above: tuple[int, ...] = ()
) -> Iterator[Held]:
    """The fields of Avro's records, by ids; of lists and maps no values."""
    first: Mapping[Any, Any] = next((row for row in rows if row is not None), {})
    for number in (one for one in first if type(one) is int):
        values = [None if row is None else row[number] for row in rows]
        nested = any(type(one) in (dict, list) for one in values)
        column = None if nested else pa.chunked_array([pa.array(values)])
        yield Held(number, above, pa.null() if column is None else column.type, column)
        if number in known and known[number].nested == "struct":
            yield from held_by(values, known, (*above, number))


def _held(
    field: pa.Field, values: pa.ChunkedArray | None, above: tuple[int, ...]
) -> Iterator[Held]:
    said, kind = field.metadata or {}, field.type
    number = said.get(b"PARQUET:field_id", said.get(b"iceberg.id"))
    if number is not None:
        yield Held(int(number), above, kind, values)
        above = (*above, int(number))
    if pa.types.is_struct(kind):
        inner = values.flatten() if values is not None else [None] * kind.num_fields
        for at, part in enumerate(inner):
            yield from _held(kind.field(at), part, above)
    elif pa.types.is_map(kind):
        yield from (*_held(kind.key_field, None, above), *_held(kind.item_field, None, above))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _held(kind.value_field, None, above)


def misread(held: Held, known: Field, version: int) -> str:
    """Why a file's field cannot be read as the table's field of its id; empty where it can."""
    kind = _kind_of(held.type)
    if held.above != (wanted := tuple(one.id for one in known.above)):
        return f"the file has it below {held.above}, the table below {wanted}"
    if known.nested or kind in ("struct", "list", "map"):
        same = kind == known.nested
    elif known.kind in TIMES:
        same = kind == "timestamp" or promotes(kind, known.kind, version)
    elif width := width_of(known.kind):
        same = kind == f"fixed[{width}]"
    elif known.kind in ("string", "binary"):
        same = kind == "string"
    else:
        same = NO_DEFAULT.fullmatch(known.kind) is not None or promotes(kind, known.kind, version)
    return "" if same else f"the file has it as {held.type}, the table as {known.kind}"


def _kind_of(type_: pa.DataType) -> str:
    """An Arrow type as Iceberg calls it; texts and bytes alike, moments of all units."""
    if isinstance(type_, pa.BaseExtensionType):
        type_ = type_.storage_type
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    if pa.types.is_fixed_size_binary(type_):
        return f"fixed[{type_.byte_width}]"
    for is_, kind in (
        (pa.types.is_map, "map"),
        (pa.types.is_timestamp, "timestamp"),
        (pa.types.is_date, "date"),
        (pa.types.is_time, "time"),
        (pa.types.is_struct, "struct"),
        (pa.types.is_boolean, "boolean"),
    ):
        if is_(type_):
            return kind
    names = {"float": "float", "double": "double", "int64": "long"}
    names |= dict.fromkeys(("int8", "int16", "int32"), "int")
    names |= dict.fromkeys(("string", "large_string", "binary", "large_binary"), "string")
    plain = str(type_)
    return names.get(plain, "list" if plain.startswith(("list", "large_list")) else plain)


def spells(kind: Any, value: Any) -> bool:
    """Whether JSON spells a value of the type, as defaults are."""
    if isinstance(kind, dict):
        return _spells_nested(kind, value)
    if bits := {"int": 31, "long": 63}.get(kind):
        return type(value) is int and -(1 << bits) <= value < 1 << bits
    if kind in ("boolean", "float", "double"):
        return type(value) in ((bool,) if kind == "boolean" else (int, float))
    if type(value) is not str or NO_DEFAULT.fullmatch(kind):
        return False
    if digits := decimal_of(kind):
        match = re.fullmatch(r"-?0*(\d*)(?:\.(\d+))?", value)
        return (
            match is not None
            and len(match[2] or "") == digits[1]
            and len(match[1]) <= digits[0] - digits[1]
        )
    if kind in ("date", *TIMES) and not is_day(value[:10]):
        return False
    fraction = r"T\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
    hexes = f"{{{width_of(kind) or 0}}}" if kind.startswith("fixed") else "*"
    spelled = {
        "string": r"(?s).*",
        "date": ".{10}",
        "time": r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?",
        "timestamp": f".{{10}}{fraction.replace('9', '6')}",
        "timestamptz": rf".{{10}}{fraction.replace('9', '6')}\+00:00",
        "timestamp_ns": f".{{10}}{fraction}",
        "timestamptz_ns": rf".{{10}}{fraction}\+00:00",
        "uuid": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    }.get(kind, f"(?i)([0-9a-f][0-9a-f]){hexes}")
    return bool(re.fullmatch(spelled, value))


def _spells_nested(kind: Mapping[str, Any], value: Any) -> bool:
    if kind["type"] == "struct":
        return bool(value == {})
    if kind["type"] == "list":
        return type(value) is list and all(spells(kind["element"], one) for one in value)
    if type(value) is not dict or not all(type(value.get(n)) is list for n in ("keys", "values")):
        return False
    good = all(spells(kind[n], one) for n in ("key", "value") for one in value[f"{n}s"])
    return good and len(value["keys"]) == len(value["values"])
