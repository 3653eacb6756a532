"""Types of off-heap columns: the tree, its type string, its Arrow type, the core's structures.

The grammar of type strings:

    T := keyword | decimal(p,s) | varchar(n) | char(n) | array<T> | map<T,T> | struct<name:T,...>

The parser of StarRocks' JNI connector (`ColumnType`, commit 37c7c51e) takes far more than that and
reads much of it as something other than what it says; `lenient_types` does as it does. `parse` is
strict: what StarRocks would misread is refused. Blanks around words and mixed case, at which
StarRocks gives up, are taken. So is `variant`, which younger versions know. A field's name is kept
as it is; it may hold blanks inside, but not begin or end with one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa

from seambase.errors import InputError, RefusedError, UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import call

#: Deepest nesting of a type, the column itself counted; the core has the same limit.
DEPTH_LIMIT = 64


class Kind(enum.IntEnum):
    """Kinds as the core numbers them (`enum seam_column_kind`), which is how Java does."""

    UNKNOWN = 0
    BYTE = 1
    BOOLEAN = 2
    SHORT = 3
    INT = 4
    FLOAT = 5
    LONG = 6
    DOUBLE = 7
    STRING = 8
    BINARY = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    DATETIME_MICROS = 13
    DATETIME_MILLIS = 14
    DECIMALV2 = 15
    DECIMAL32 = 16
    DECIMAL64 = 17
    DECIMAL128 = 18
    ARRAY = 19
    MAP = 20
    STRUCT = 21
    TINYINT = 22
    VARIANT = 23

    @property
    def is_decimal(self) -> bool:
        """Whether precision and scale count."""
        return Kind.DECIMALV2 <= self <= Kind.DECIMAL128

    @property
    def is_nested(self) -> bool:
        """Whether values are made of children's values."""
        return self in (Kind.ARRAY, Kind.MAP, Kind.STRUCT, Kind.VARIANT)

    @property
    def is_datetime(self) -> bool:
        """Whether values are packed Julian days and microseconds."""
        return self in (Kind.DATETIME, Kind.DATETIME_MICROS, Kind.DATETIME_MILLIS)

    @property
    def has_offsets(self) -> bool:
        """Whether values are runs of bytes, found through offsets."""
        return self in (Kind.STRING, Kind.BINARY)


@dataclass(frozen=True)
class ColumnType:
    """A column's type, a tree.

    Attributes:
        kind: how values are stored.
        precision: digits, decimals only, else 0.
        scale: digits behind the point, decimals only, else 0.
        text: the type string it came from, or empty. Types that differ in nothing else are equal.
        children: of an array its element, of a map key and value (either may be missing: it was not
            asked for), of a struct its fields, of a variant metadata and value.
        names: of the children: `$0` for an element or key, `$1` for a map's value.

    Raises:
        UsageError: not as many names as children.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    text: str = field(default="", compare=False)
    children: tuple[ColumnType, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.children) != len(self.names):
            raise UsageError(
                f"{len(self.children)} children of a type have {counted(len(self.names), 'name')}"
            )

    @classmethod
    def array(cls, element: ColumnType) -> Self:
        """The type of lists of `element`."""
        return cls(Kind.ARRAY, children=(element,), names=("$0",))

    @classmethod
    def map(cls, key: ColumnType | None, value: ColumnType | None) -> Self:
        """The type of maps; None for the half that was not asked for."""
        halves = [(half, name) for half, name in ((key, "$0"), (value, "$1")) if half is not None]
        return cls(
            Kind.MAP,
            children=tuple(half for half, _ in halves),
            names=tuple(name for _, name in halves),
        )

    @classmethod
    def struct(cls, fields: Mapping[str, ColumnType]) -> Self:
        """The type of structs with these fields, in their order."""
        return cls(Kind.STRUCT, children=tuple(fields.values()), names=tuple(fields))

    @classmethod
    def variant(cls) -> Self:
        """The type of variants: two binaries."""
        binary = cls(Kind.BINARY)
        return cls(Kind.VARIANT, children=(binary, binary), names=("metadata", "value"))

    def child(self, name: str) -> ColumnType | None:
        """The child of that name, or None."""
        return self.children[self.names.index(name)] if name in self.names else None

    def __str__(self) -> str:
        return self.text or _print(self)


#: A column that the file lacks: it has no type string.
UNKNOWN = ColumnType(Kind.UNKNOWN, text="unknown")

#: Words that stand for a type by themselves.
KEYWORDS = {
    "boolean": Kind.BOOLEAN,
    "byte": Kind.BYTE,
    "tinyint": Kind.TINYINT,
    "short": Kind.SHORT,
    "smallint": Kind.SHORT,
    "int": Kind.INT,
    "bigint": Kind.LONG,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "timestamp": Kind.DATETIME,
    "timestamp-micros": Kind.DATETIME_MICROS,
    "timestamp-millis": Kind.DATETIME_MILLIS,
    "string": Kind.STRING,
    "binary": Kind.BINARY,
}
_PLAIN = {kind: word for word, kind in reversed(KEYWORDS.items())}
_NESTED = {"array": Kind.ARRAY, "map": Kind.MAP, "struct": Kind.STRUCT}


def _print(column: ColumnType) -> str:
    kind, children = column.kind, column.children
    if kind in (Kind.DECIMAL64, Kind.DECIMAL128) and decimal_kind(column.precision) is kind:
        return f"decimal({column.precision},{column.scale})"
    if kind.is_decimal:  # no type string yields it
        return f"{kind.name.lower()}({column.precision},{column.scale})"
    if kind is Kind.STRUCT:
        pairs = zip(column.names, children, strict=True)
        return f"struct<{','.join(f'{name}:{_print(child)}' for name, child in pairs)}>"
    if kind in (Kind.ARRAY, Kind.MAP):
        return f"{kind.name.lower()}<{','.join(map(_print, children))}>"
    return _PLAIN.get(kind, kind.name.lower())


def decimal_kind(precision: int) -> Kind:
    """The kind that StarRocks gives a decimal of that many digits."""
    return Kind.DECIMAL64 if precision <= 18 else Kind.DECIMAL128


def decimal_type(precision: int, scale: int) -> ColumnType:
    """The type of `decimal(precision,scale)`."""
    return ColumnType(decimal_kind(precision), precision, scale)


def name_problem(name: str) -> str | None:
    """Why no type string can carry a field of that name; None if one can."""
    if not name:
        return "it is empty"
    if name != name.strip():
        return "it begins or ends with a blank, which is read as a part of it"
    for sign in "<>,():#":
        if sign in name:
            return f"it holds a '{sign}'"
    return None


def shown(text: str) -> str:
    """A type string as messages show it: of a very long one, the beginning."""
    return text if len(text) <= 200 else f"{text[:200]}.."


def parse(text: str) -> ColumnType:
    """The type a type string names, read strictly.

    What StarRocks reads otherwise is refused, too; the message tells the character and the reason.
    """
    return _Parser(text).whole()


class _Parser:
    _BLANKS = re.compile(r"[ \t\r\n]*")
    _WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
    _NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def wrong(self, reason: str, at: int | None = None) -> InputError:
        position = (self.at if at is None else at) + 1
        return InputError(f"column type '{shown(self.text)}', character {position}: {reason}")

    def blanks(self) -> int:
        """Pass blanks by; how many there were."""
        match = self._BLANKS.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return match.end() - match.start()

    def peek(self) -> str:
        self.blanks()
        return self.text[self.at : self.at + 1]

    def expect(self, sign: str, reason: str) -> None:
        if self.peek() != sign:
            raise self.wrong(reason)
        self.at += 1

    def whole(self) -> ColumnType:
        column = self.type(1)
        if self.peek():
            raise self.wrong("nothing may follow the type; StarRocks ignores it")
        return ColumnType(
            column.kind, column.precision, column.scale, self.text, column.children, column.names
        )

    def type(self, depth: int) -> ColumnType:
        self.blanks()
        start = self.at
        match = self._WORD.match(self.text, self.at)
        if match is None:
            raise self.wrong("a type is expected")
        if depth > DEPTH_LIMIT:
            raise self.wrong(f"types are nested at most {DEPTH_LIMIT} deep")
        self.at = match.end()
        word = match[0].lower()
        if word in KEYWORDS:
            return ColumnType(KEYWORDS[word])
        if word == "variant":
            return ColumnType.variant()
        if word in ("varchar", "char"):
            return self.sized(word, depth)
        if word == "decimal":
            return self.decimal()
        if word in _NESTED:
            return self.nested(word, depth)
        if word.startswith("decimal"):
            raise self.wrong(
                "StarRocks chooses the width by the precision; write decimal(p,s)", start
            )
        raise self.wrong(f"'{match[0]}' is no type; there are {_WORDS}", start)

    def number(self, what: str) -> int:
        self.blanks()
        match = self._NUMBER.match(self.text, self.at)
        if match is None:
            raise self.wrong(f"{what} is expected")
        self.at = match.end()
        return int(match[0])

    def sized(self, word: str, depth: int) -> ColumnType:
        if self.peek() == "(":
            self.at += 1
            self.number("a length")
            self.expect(")", "a length ends with ')'")
        elif depth > 1:
            raise self.wrong(
                f"{word} needs a length here; without one StarRocks looks for the next ')'"
            )
        return ColumnType(Kind.STRING)

    def decimal(self) -> ColumnType:
        self.expect("(", "decimal needs precision and scale: decimal(p,s)")
        self.blanks()
        start = self.at
        precision = self.number("a precision")
        self.expect(",", "a scale is expected: decimal(p,s)")
        scale = self.number("a scale")
        self.expect(")", "a scale ends with ')'")
        if not 1 <= precision <= 38 or scale > precision:
            raise self.wrong("a decimal has 1 to 38 digits, scale included", start)
        return decimal_type(precision, scale)

    def nested(self, word: str, depth: int) -> ColumnType:
        self.expect("<", f"{word} needs its types between '<' and '>'")
        if word == "struct":
            column = self.fields(depth)
        else:
            first = self.type(depth + 1)
            column = ColumnType.array(first)
            if word == "map":
                self.expect(",", "a map has two types")
                column = ColumnType.map(first, self.type(depth + 1))
        few = {"array": "an array has one type", "map": "a map has two types"}
        self.expect(">", f"'>' is expected; {few.get(word, 'fields are parted by commas')}")
        return column

    def fields(self, depth: int) -> ColumnType:
        fields: dict[str, ColumnType] = {}
        while True:
            name = self.name(fields)
            fields[name] = self.type(depth + 1)
            end = self.at
            if self.peek() != ",":
                return ColumnType.struct(fields)
            if self.at > end and self.text[end - 1] in ")>":
                raise self.wrong(
                    "StarRocks takes this blank for the comma and the comma for a name", end
                )
            self.at += 1

    def name(self, taken: Mapping[str, ColumnType]) -> str:
        start = self.at
        end = self.text.find(":", start)
        if end < 0:
            raise self.wrong("a field is name:type")
        name = self.text[start:end]
        if problem := name_problem(name):
            raise self.wrong(f"a field cannot be called '{name}': {problem}")
        if name in taken:
            raise self.wrong(f"the field '{name}' comes twice")
        self.at = end + 1
        return name


_WORDS = ", ".join([*KEYWORDS, "decimal(p,s)", "varchar(n)", "char(n)", "variant", *_NESTED])


_TO_ARROW: dict[Kind, Any] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INT: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time32("ms"),
    Kind.DATETIME: pa.timestamp("us"),
    Kind.DATETIME_MICROS: pa.timestamp("us"),
    Kind.DATETIME_MILLIS: pa.timestamp("us"),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
}


def arrow_type(column: ColumnType) -> Any:
    """The `pyarrow.DataType` in which the engine side hands such a column out.

    A variant is a struct of the binaries `metadata` and `value`.
    """
    kind = column.kind
    if kind.is_decimal:
        return pa.decimal128(column.precision, column.scale)
    if kind is Kind.ARRAY:
        return pa.list_(arrow_type(column.children[0]))
    if kind is Kind.MAP and len(column.children) == 2:
        return pa.map_(*map(arrow_type, column.children))
    if kind in (Kind.STRUCT, Kind.VARIANT):
        pairs = zip(column.names, column.children, strict=True)
        return pa.struct([pa.field(name, arrow_type(child)) for name, child in pairs])
    if kind not in _TO_ARROW:
        raise RefusedError(f"a column of type {column} has no Arrow type")
    return _TO_ARROW[kind]


def from_arrow(data_type: Any) -> ColumnType:
    """The column type for a `pyarrow.DataType`, of any nesting.

    Timestamps become `timestamp-millis` or `timestamp-micros` by their unit (nanoseconds lose what
    is finer than a microsecond); zones other than UTC are refused. Dictionaries and runs become
    what their values are.
    """
    kinds = pa.types
    if kinds.is_dictionary(data_type) or kinds.is_run_end_encoded(data_type):
        return from_arrow(data_type.value_type)
    if kinds.is_list(data_type) or kinds.is_large_list(data_type):
        return ColumnType.array(from_arrow(data_type.value_type))
    if kinds.is_map(data_type):
        return ColumnType.map(from_arrow(data_type.key_type), from_arrow(data_type.item_type))
    if kinds.is_struct(data_type):
        return _struct_from_arrow(data_type)
    return _flat_from_arrow(data_type)


def _struct_from_arrow(data_type: Any) -> ColumnType:
    fields: dict[str, ColumnType] = {}
    for part in data_type:
        problem = "it comes twice" if part.name in fields else name_problem(part.name)
        if problem:
            raise RefusedError(
                f"no column type holds Arrow's {data_type}, for its field '{part.name}': {problem}"
            )
        fields[part.name] = from_arrow(part.type)
    if not fields:
        raise RefusedError("no column type holds Arrow's struct without fields")
    return ColumnType.struct(fields)


def _flat_from_arrow(data_type: Any) -> ColumnType:
    kinds = pa.types
    if kinds.is_decimal(data_type) and data_type.bit_width <= 128 and data_type.scale >= 0:
        return decimal_type(data_type.precision, data_type.scale)
    if kinds.is_timestamp(data_type) and data_type.tz in (None, "UTC", "+00:00"):
        millis = data_type.unit in ("s", "ms")
        return ColumnType(Kind.DATETIME_MILLIS if millis else Kind.DATETIME_MICROS)
    if kinds.is_large_string(data_type) or kinds.is_string_view(data_type):
        return ColumnType(Kind.STRING)
    if kinds.is_large_binary(data_type) or kinds.is_binary_view(data_type):
        return ColumnType(Kind.BINARY)
    for kind, arrow in _TO_ARROW.items():
        if arrow == data_type and kind is not Kind.DATETIME:
            return ColumnType(kind)
    raise RefusedError(f"no off-heap column type holds Arrow's {data_type}")


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
