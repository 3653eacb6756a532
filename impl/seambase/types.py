"""Types of bytes between engines: the two type languages, and the Arrow types they stand for.

Pages carry no types, so whoever reads or writes them is told the type of each column in the words
of the engine whose format it is: `row(a integer,b varchar(10))` for Presto,
`struct<a:int,b:string>` for Spark. What Arrow has no type for are extension types, registered when
this module is imported:

| extension | storage | stands for |
|---|---|---|
| `seambench.zoned_millis` | int64 | Presto's time and timestamp with zone: millis << 12, zone key |
| `seambench.months` | int32 | intervals of years and months |
| `seambench.ipaddress` | fixed_size_binary(16) | Presto's ipaddress, in network order |
| `seambench.ipprefix` | fixed_size_binary(17) | the same, then a byte of prefix length |
| `seambench.calendar_interval` | struct of months, days, micros | Spark's interval |

A dictionary is an Arrow dictionary with int32 indexes over the type, a run is a run-end encoded
array of one run; neither shows in the type that a text stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.wording import counted, did_you_mean

Language = Literal["presto", "spark"]

# A text nested deeper than this is refused before it exhausts anybody's stack.
MAX_DEPTH = 128


class _Extension(pa.ExtensionType):  # type: ignore[misc]
    """An extension type without parameters; subclasses name it and its storage."""

    extension: str
    storage: pa.DataType

    def __init__(self) -> None:
        super().__init__(self.storage, self.extension)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> _Extension:
        if storage != cls.storage or serialized:
            raise ValueError(f"{cls.extension} is stored as {cls.storage}, not as {storage}")
        return cls()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class ZonedMillisType(_Extension):
    """UTC milliseconds << 12 | zone key, as Presto packs a time or timestamp with its zone."""

    extension = "seambench.zoned_millis"
    storage = pa.int64()


class MonthsType(_Extension):
    """A number of months."""

    extension = "seambench.months"
    storage = pa.int32()


class IpAddressType(_Extension):
    """An IPv6 (or mapped IPv4) address in network order."""

    extension = "seambench.ipaddress"
    storage = pa.binary(16)


class IpPrefixType(_Extension):
    """An address in network order, then one byte of prefix length."""

    extension = "seambench.ipprefix"
    storage = pa.binary(17)


class CalendarIntervalType(_Extension):
    """Spark's `interval`: months, days and microseconds, which do not add up to each other."""

    extension = "seambench.calendar_interval"
    storage = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())])


def _register() -> None:
    """Make the extension types known to Arrow; a second import of this module finds them there."""
    for cls in (
        ZonedMillisType,
        MonthsType,
        IpAddressType,
        IpPrefixType,
        CalendarIntervalType,
    ):
        try:
            pa.register_extension_type(cls())
        except pa.ArrowKeyError:
            pa.unregister_extension_type(cls.extension)
            pa.register_extension_type(cls())


_register()


@dataclass(frozen=True)
class SerdeType:
    """A type of either language as a tree.

    Attributes:
        language: whose words `kind` is in.
        kind: the engine's own word without parameters: `integer`, `timestamp with time zone`,
            `row` (Presto), `int`, `interval day to second`, `struct` (Spark); aliases are resolved.
        text: the type spelled as the engine does, without needless blanks.
        precision: digits of a decimal, else 0.
        scale: digits of a decimal behind the point, else 0.
        names: names of the fields of a row or struct; "" for a field without a name.
        children: element of an array; key and value of a map; fields of a row or struct.
    """

    language: Language
    kind: str
    text: str
    precision: int = 0
    scale: int = 0
    names: tuple[str, ...] = ()
    children: tuple[SerdeType, ...] = ()

    @property
    def depth(self) -> int:
        """Levels of nesting: 1 for a type without children."""
        return 1 + max((child.depth for child in self.children), default=0)


_PRESTO_FLAT: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "char": pa.string(),
    "varbinary": pa.binary(),
    "json": pa.json_(pa.string()),
    "uuid": pa.uuid(),
    "date": pa.date32(),
    "time": pa.time32("ms"),
    "timestamp": pa.timestamp("ms"),
    "timestamp microseconds": pa.timestamp("us"),
    "timestamp with time zone": ZonedMillisType(),
    "time with time zone": ZonedMillisType(),
    "interval year to month": MonthsType(),
    "interval day to second": pa.duration("ms"),
    "ipaddress": IpAddressType(),
    "ipprefix": IpPrefixType(),
    "unknown": pa.null(),
    "hyperloglog": pa.binary(),
    "p4hyperloglog": pa.binary(),
    "setdigest": pa.binary(),
    "qdigest": pa.binary(),
    "tdigest": pa.binary(),
}
_SPARK_FLAT: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "interval year to month": MonthsType(),
    "interval day to second": pa.duration("us"),
    "interval": CalendarIntervalType(),
    "void": pa.null(),
}
_ALIASES: Mapping[Language, Mapping[str, str]] = {
    "presto": {"int": "integer", "timestamp without time zone": "timestamp"},
    "spark": {
        "byte": "tinyint",
        "short": "smallint",
        "integer": "int",
        "long": "bigint",
        "real": "float",
        "dec": "decimal",
        "numeric": "decimal",
        "timestamp_ltz": "timestamp",
        "interval year": "interval year to month",
        "interval month": "interval year to month",
    }
    | {
        f"interval {span}": "interval day to second"
        for span in (
            "day",
            "hour",
            "minute",
            "second",
            "day to hour",
            "day to minute",
            "hour to minute",
            "hour to second",
            "minute to second",
        )
    },
}
#: The Arrow type of each flat type, by language and word.
FLAT_TYPES: Mapping[Language, Mapping[str, pa.DataType]] = {
    "presto": _PRESTO_FLAT,
    "spark": _SPARK_FLAT,
}
#: Words of the types of both languages, as capabilities (`types.map`) name them.
TYPE_WORDS = frozenset({*_PRESTO_FLAT, *_SPARK_FLAT, "decimal", "array", "map", "row", "struct"})
# Parameters of these are one number, a length that no byte depends on.
_SIZED = frozenset({"varchar", "char"})
# Digests of values of one type; the bytes do not depend on it.
_OF_TYPE = frozenset({"qdigest", "tdigest"})
_RECORD: Mapping[Language, str] = {"presto": "row", "spark": "struct"}
_BRACKETS: Mapping[Language, str] = {"presto": "()", "spark": "<>"}
# What `decimal` means without parameters.
_PLAIN_DECIMAL: Mapping[Language, tuple[int, int]] = {"presto": (38, 0), "spark": (10, 0)}
_MAX_PRECISION = 38
_TIMESTAMPS = {"millis": "ms", "micros": "us", "lossless": "ns"}


def parse_presto(text: str) -> SerdeType:
    """A Presto type: `map(varchar,array(decimal(38,4)))`; see `parse_type`."""
    return parse_type(text, "presto")


def parse_spark(text: str) -> SerdeType:
    """A Spark type: `map<string,array<decimal(38,4)>>`; see `parse_type`."""
    return parse_type(text, "spark")


@lru_cache(maxsize=4096)
def parse_type(text: str, language: Language) -> SerdeType:
    """Read a type of either language. Words may be in any case; names keep theirs.

    Names with blanks, commas or brackets are quoted as the engine does (`"a b"`, `` `a b` ``).
    """
    return _parse(text, language, 1, text)


def _parse(text: str, language: Language, depth: int, whole: str) -> SerdeType:
    """One type of a text; `whole` is for messages."""
    if depth > MAX_DEPTH:
        raise RefusedError(f"a type nested more than {MAX_DEPTH} levels deep is not supported")
    text = text.strip()
    word, inner = _head(text, language, whole)
    kind = _ALIASES[language].get(word, word)
    if kind == "decimal":
        return _decimal(inner, language, whole)
    if kind in ("array", "map", _RECORD[language]):
        if inner is None:
            raise UsageError(f"type {whole!r}: {kind} needs its parts in brackets")
        return _nested(kind, _split(inner, language, whole), language, depth, whole)
    if kind not in FLAT_TYPES[language]:
        known = [*FLAT_TYPES[language], *_ALIASES[language], "decimal", "array", "map"]
        hint = did_you_mean(word, [*known, _RECORD[language]])
        raise RefusedError(f"type {whole!r}: there is no {language} type {word!r} here{hint}")
    if inner is None:
        return SerdeType(language, kind, kind)
    if kind in _SIZED and inner.strip().isdecimal():
        return SerdeType(language, kind, f"{kind}({int(inner)})")
    if kind in _OF_TYPE and language == "presto":
        return SerdeType(language, kind, f"{kind}({_parse(inner, language, depth, whole).text})")
    raise UsageError(f"type {whole!r}: {kind} does not take ({inner})")


def _head(text: str, language: Language, whole: str) -> tuple[str, str | None]:
    """The word of a type and what stands in its brackets, None without brackets."""
    at = min((i for i in (text.find("("), text.find("<")) if i >= 0), default=-1)
    word = " ".join((text if at < 0 else text[:at]).lower().split())
    if not word:
        raise UsageError(f"type {whole!r}: a type is missing")
    if at < 0:
        return word, None
    record = word in ("array", "map", _RECORD[language])
    opening, closing = tuple(_BRACKETS[language] if record else "()")
    if text[at] != opening or not text.endswith(closing):
        raise UsageError(f"type {whole!r}: {word} takes its parts in {opening}{closing}")
    return word, text[at + 1 : -1]


def _decimal(inner: str | None, language: Language, whole: str) -> SerdeType:
    precision, scale = _PLAIN_DECIMAL[language]
    if inner is not None:
        digits = [part.strip() for part in inner.split(",")]
        if len(digits) > 2 or not all(part.isdecimal() for part in digits):
            raise UsageError(f"type {whole!r}: a decimal takes (precision,scale)")
        precision, scale = int(digits[0]), int(digits[1]) if len(digits) == 2 else 0
    if not 1 <= precision <= _MAX_PRECISION or scale > precision:
        raise UsageError(
            f"type {whole!r}: no decimal has {counted(precision, 'digit')}, {scale} of them last"
        )
    text = f"decimal({precision},{scale})"
    return SerdeType(language, "decimal", text, precision=precision, scale=scale)


def _nested(
    kind: str, parts: Sequence[str], language: Language, depth: int, whole: str
) -> SerdeType:
    opening, closing = tuple(_BRACKETS[language])
    if kind == _RECORD[language]:
        named = [_field(part, language, depth + 1, whole) for part in parts]
        texts = [_field_text(name, child) for name, child in named]
        names, children = tuple(n for n, _ in named), tuple(c for _, c in named)
    else:
        wanted = 1 if kind == "array" else 2
        if len(parts) != wanted:
            raise UsageError(
                f"type {whole!r}: {kind} has {counted(wanted, 'part')}, not {len(parts)}"
            )
        names = ()
        children = tuple(_parse(part, language, depth + 1, whole) for part in parts)
        texts = [child.text for child in children]
    text = f"{kind}{opening}{','.join(texts)}{closing}"
    return SerdeType(language, kind, text, names=names, children=children)


def _field(part: str, language: Language, depth: int, whole: str) -> tuple[str, SerdeType]:
    """Name and type of a field; Presto's may go without a name."""
    part = part.strip()
    quote = '"' if language == "presto" else "`"
    if part.startswith(quote):
        name, rest = _unquote(part, quote, whole)
    elif language == "spark":
        name, colon, rest = part.partition(":")
        if not colon:
            raise UsageError(f"type {whole!r}: a field of a struct is written name:type")
        return name.strip(), _parse(rest, language, depth, whole)
    else:
        name, _, rest = part.partition(" ")
        word = _head(part, language, whole)[0]
        if not rest or _ALIASES["presto"].get(word, word) in _PRESTO_FLAT or "(" in name + rest[:1]:
            return "", _parse(part, language, depth, whole)
    rest = rest.strip().removeprefix(":") if language == "spark" else rest
    return name, _parse(rest, language, depth, whole)


def _unquote(part: str, quote: str, whole: str) -> tuple[str, str]:
    """A quoted name and what follows it; a doubled quote stands for itself."""
    at = 1
    while (at := part.find(quote, at)) >= 0:
        if part[at : at + 2] != quote * 2:
            return part[1:at].replace(quote * 2, quote), part[at + 1 :]
        at += 2
    raise UsageError(f"type {whole!r}: a quoted name does not end")


def _field_text(name: str, child: SerdeType) -> str:
    plain = name.replace("_", "a").isalnum() and not name[:1].isdigit()
    if child.language == "spark":
        return f"{name if plain else '`' + name.replace('`', '``') + '`'}:{child.text}"
    if not name:
        return child.text
    return (
        f"{name if plain else chr(34) + name.replace(chr(34), chr(34) * 2) + chr(34)} {child.text}"
    )


def _split(inner: str, language: Language, whole: str) -> list[str]:
    """Parts between the commas of the outermost level."""
    if not inner.strip():
        return []
    quote = '"' if language == "presto" else "`"
    parts, depth, start, quoted = [], 0, 0, False
    for at, sign in enumerate(inner):
        if sign == quote:
            quoted = not quoted
        elif quoted:
            continue
        elif sign in "(<":
            depth += 1
        elif sign in ")>":
            depth -= 1
            if depth < 0:
                raise UsageError(f"type {whole!r}: a bracket closes what none opened")
        elif sign == "," and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    if depth or quoted:
        raise UsageError(f"type {whole!r}: a bracket or quote is left open")
    return [*parts, inner[start:]]


def arrow_type(type_: SerdeType, timestamps: str = "millis") -> pa.DataType:
    """The Arrow type of flat values of a type.

    `timestamps` is what a Presto page holds where the type is `timestamp`: `millis` (Presto and
    Velox by default), `micros` or `lossless` (Velox's options: microseconds, and seconds with
    nanoseconds).
    """
    if timestamps not in _TIMESTAMPS:
        raise UsageError(f"timestamps = {timestamps!r}: one of {', '.join(_TIMESTAMPS)} is meant")
    children = [arrow_type(child, timestamps) for child in type_.children]
    nested: Mapping[str, Callable[[], pa.DataType]] = {
        "array": lambda: pa.list_(children[0]),
        "map": lambda: pa.map_(children[0], children[1]),
        "row": lambda: pa.struct(list(zip(type_.names, children, strict=True))),
        "struct": lambda: pa.struct(list(zip(type_.names, children, strict=True))),
        "decimal": lambda: pa.decimal128(type_.precision, type_.scale),
    }
    if type_.kind in nested:
        return nested[type_.kind]()
    if type_.language == "presto" and type_.kind == "timestamp":
        return pa.timestamp(_TIMESTAMPS[timestamps])
    return FLAT_TYPES[type_.language][type_.kind]


def language_of(request: SerdeRequest) -> Language:
    """The type language of a request: the format's own; `arrow` takes either (option `types`)."""
    known: Mapping[str, Language] = {
        "presto": "presto",
        "unsaferow": "spark",
        "compactrow": "spark",
    }
    if request.format in known:
        return known[request.format]
    if request.format != "arrow":
        raise UsageError(
            f"format {request.format!r}: one of presto, unsaferow, compactrow, arrow is meant"
        )
    types = request.options.get("types", "presto")
    if types == "presto":
        return "presto"
    if types == "spark":
        return "spark"
    raise UsageError(f"option types = {types!r}: presto or spark is meant")


def parse_schema(request: SerdeRequest) -> list[SerdeType]:
    """Types of a request's columns, in order."""
    language = language_of(request)
    types = []
    for field in request.fields:
        try:
            types.append(parse_type(field.type, language))
        except (UsageError, RefusedError) as error:
            raise type(error)(f"column {field.name!r}: {error}") from error
    return types


def schema_of(request: SerdeRequest) -> pa.Schema:
    """The Arrow schema of a request, every column flat.

    Batches may hold a dictionary of a column's type, or runs of it, in its place.
    """
    timestamps = request.options.get("timestamps", "millis")

    def field(of: SerdeField, type_: SerdeType) -> pa.Field:
        return pa.field(of.name, arrow_type(type_, timestamps), of.nullable)

    pairs = zip(request.fields, parse_schema(request), strict=True)
    return pa.schema([field(of, type_) for of, type_ in pairs])
