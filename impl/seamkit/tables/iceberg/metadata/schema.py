"""Schemas of Iceberg: fields known by their ids, with the Arrow types that hold their values.

Single values outside of files are bounds in manifests, defaults in schemas, partition values.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
import struct
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.values import decimal_of
from seamkit.files.columns import ABSENT, VARIANT, Key
from seamkit.files.promotion import is_text_or_bytes

_FLAT: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "uuid": pa.uuid(),
    "binary": pa.binary(),
    "unknown": pa.null(),
}
STATED = "iceberg.type"
"""Under which name a field's metadata have a type that Arrow lacks."""
BY_NAME = -1
"""The id of the parts of a variant, which a file has by their names."""
_GEO = re.compile(r"geo(metry|graphy)(\(.*\))?")
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d{1,9})\s*\]")
_MOST_DIGITS = 38
_MOST_FIELDS = 100_000
_LAST_ID = 2147483447  # those above are columns of Iceberg's own


@dataclass(frozen=True)
class Field:
    """A field of the table, or of a type within it."""

    id: int  # for life
    name: str  # as the table shows it; `element`, `key` and `value` in lists and maps
    type: pa.DataType
    required: bool  # whether it has a value in every row
    # what rows hold that were written before it was added, in JSON; None for null
    default: Any = None
    # fields of a struct; the element of a list; key and value of a map
    children: Sequence[Field] = ()
    # the type as metadata spell it, where Arrow's does not tell: of shapes on the earth, which are
    # well-known binary (WKB), and whose bounds are none of these bytes
    stated: str = ""

    @property
    def keys(self) -> Sequence[Key]:
        """By which files know it; see `seamkit.files.columns`.

        A column of the type `unknown` is null, whatever a file has under its id.
        """
        if pa.types.is_null(self.type):
            return (f"{ABSENT}{self.name}",)
        return (self.name,) if self.id == BY_NAME else (self.id,)

    @property
    def is_variant(self) -> bool:
        """Whether it is one, and no struct of the same two fields."""
        return bool(self.children) and self.children[0].id == BY_NAME

    @property
    def arrow(self) -> pa.Field:
        """As Arrow has it; null where a file lacks it."""
        return pa.field(self.name, self.type, metadata={STATED: self.stated} if self.stated else {})


@dataclass(frozen=True)
class Schema:
    """One schema of a table."""

    id: int
    fields: Sequence[Field]

    @property
    def arrow(self) -> pa.Schema:
        """The columns as Arrow has them; all may be null, as files may lack them."""
        return pa.schema([own.arrow for own in self.fields])


ROW_ID = Field(2147483540, "_row_id", pa.int64(), required=False)
LAST_UPDATED = Field(2147483539, "_last_updated_sequence_number", pa.int64(), required=False)
LINEAGE = (ROW_ID, LAST_UPDATED)
"""Columns of row lineage (version 3): a file has them, or they follow from its entry."""


def read_schema(declared: Any, where: str) -> Schema:
    """A schema out of the JSON of metadata."""
    try:
        if declared.get("type", "struct") != "struct":
            raise InputError(f"{where}: a schema is no struct")
        number = declared.get("schema-id", 0)
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(f"{where}: a schema has the id {number!r}")
        fields = _fields(declared["fields"], f"{where}, schema {number}")
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: a schema is not readable ({error!r})") from error
    seen: set[int] = set()
    for field in schema_fields(fields):
        if field.id in seen and field.id != BY_NAME:
            raise InputError(f"{where}, schema {number}: the field id {field.id} is there twice")
        seen.add(field.id)
    if len(seen) > _MOST_FIELDS:
        raise InputError(f"{where}, schema {number}: it has more than {_MOST_FIELDS} fields")
    return Schema(number, fields)


def schema_fields(fields: Sequence[Field]) -> Iterator[Field]:
    """Fields and all within them."""
    for field in fields:
        yield field
        yield from schema_fields(field.children)


def field_path(fields: Sequence[Field], id_: int) -> list[Field] | None:
    """The fields that lead to the one of an id through structs alone, itself last; None if none."""
    for field in fields:
        if field.id == id_:
            return [field]
        if pa.types.is_struct(field.type):
            below = field_path(field.children, id_)
            if below is not None:
                return [field, *below]
    return None


def keys_alone(columns: Mapping[str, Sequence[Field]]) -> dict[str, Sequence[Field]]:
    """Keys as delete files must have them, without what lies beside them in structs.

    A delete file has its keys and need have no more, whatever rows must have.
    """
    ids = {one.id for path in columns.values() for one in path}
    roots = {name: _only(path[0], ids) for name, path in columns.items()}
    return {name: field_path([root], columns[name][-1].id) or () for name, root in roots.items()}


def _only(own: Field, ids: Collection[int]) -> Field:
    inner = tuple(_only(one, ids) for one in own.children if one.id in ids)
    kind = pa.struct([one.arrow for one in inner]) if inner else own.type
    return replace(own, required=True, default=None, type=kind, children=inner)


def _fields(declared: Any, where: str) -> list[Field]:
    fields = [_field(own, where) for own in declared]
    for name, count in Counter(field.name for field in fields).items():
        if count > 1:
            raise InputError(f"{where}: two fields have the name {name!r}")
    return fields


def _field(declared: Any, where: str) -> Field:
    name, id_ = declared["name"], declared["id"]
    if not isinstance(name, str) or isinstance(id_, bool) or not isinstance(id_, int):
        raise InputError(f"{where}: a field has the name {name!r} and the id {id_!r}")
    made = _of_type(name, id_, declared["type"], f"{where}, field {name!r}")
    return replace(
        made, required=declared["required"] is True, default=declared.get("initial-default")
    )


def _of_type(name: str, id_: Any, declared: Any, where: str) -> Field:
    """A field of a type, neither required nor with a default."""
    if isinstance(id_, bool) or not isinstance(id_, int) or not 0 <= id_ <= _LAST_ID:
        raise InputError(f"{where}: it has the id {id_!r}, which no field can have")
    if declared == "variant":
        parts = tuple(Field(BY_NAME, own.name, own.type, required=False) for own in VARIANT)
        return Field(id_, name, VARIANT, required=False, children=parts)
    if isinstance(declared, str) and _GEO.fullmatch(declared):
        return Field(id_, name, pa.binary(), required=False, stated=declared)
    if isinstance(declared, str):
        return Field(id_, name, _flat(declared, where), required=False)
    kind = declared["type"]
    if kind == "struct":
        inner = _fields(declared["fields"], where)
        struct = pa.struct([own.arrow for own in inner])
        return Field(id_, name, struct, required=False, children=tuple(inner))
    if kind == "list":
        item = _of_type("element", declared["element-id"], declared["element"], where)
        item = replace(item, required=declared.get("element-required") is True)
        return Field(id_, name, pa.list_(item.type), required=False, children=(item,))
    if kind == "map":
        key = _of_type("key", declared["key-id"], declared["key"], where)
        value = _of_type("value", declared["value-id"], declared["value"], where)
        key = replace(key, required=True)
        value = replace(value, required=declared.get("value-required") is True)
        map_ = pa.map_(key.type, value.type)
        return Field(id_, name, map_, required=False, children=(key, value))
    raise RefusedError(f"{where}: the type {kind!r} is not supported")


def _flat(text: str, where: str) -> pa.DataType:
    if text in _FLAT:
        return _FLAT[text]
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        if not 1 <= precision <= _MOST_DIGITS or scale > precision:
            raise InputError(f"{where}: {text!r} is no decimal of Iceberg's")
        return pa.decimal128(precision, scale)
    if (match := _FIXED.fullmatch(text)) and int(match[1]):
        return pa.binary(int(match[1]))
    raise RefusedError(f"{where}: the type {text!r} is not supported")


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_BELOW_MICROS = re.compile(r"\.\d{6}(\d{1,3})")
_T = TypeVar("_T")
_WHOLE_BYTES = {4: "<i", 8: "<q"}
_MILLISECONDS = {"us": 1_000, "ns": 1_000_000}  # in units
_FIRST_INT64, _LAST_INT64 = -(2**63), 2**63 - 1
_DELTAS_MARK = "\ufffd"
#: Since 1970, to 1973: since then all zones of the world are whole minutes from UTC.
_MINUTES_SINCE = 3 * 365 * 24 * 60 + 24 * 60
_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000  # what lies between is no character
_INT32_DIGITS, _INT64_DIGITS = 9, 18
_MILLIS_OF_YEARS = range(-62_135_596_800_000, 253_402_300_800_000)  # of 1 to 9999


def bound_value(data: bytes, kind: pa.DataType) -> pa.Scalar | None:
    """A lower or upper bound (the specification's "Binary single-value serialization").

    Bounds of a column that was widened since have the narrow form. None where it is none that could
    be relied on: numbers with a floating point among them, whose bounds say nothing of what is not
    a number.
    """
    tests = pa.types
    if tests.is_integer(kind) or tests.is_date32(kind) or tests.is_timestamp(kind):
        layout = _WHOLE_BYTES.get(len(data))
        if layout is None:
            return None
        [number] = struct.unpack(layout, data)
        if len(data) == 4 and tests.is_timestamp(kind):
            return None  # of a date that became a timestamp
        storage = pa.int32() if kind.bit_width == 32 else pa.int64()
        try:
            return pa.scalar(number, storage).cast(kind)
        except pa.ArrowException:
            return None
    if tests.is_decimal(kind) and 0 < len(data) <= 16:
        number = decimal_of(int.from_bytes(data, "big", signed=True), kind.scale)
        try:
            return pa.scalar(number, kind)
        except pa.ArrowException:
            return None
    if tests.is_string(kind):
        try:
            return pa.scalar(data.decode(), kind)
        except UnicodeDecodeError:
            return None
    return pa.scalar(data, kind) if kind == pa.binary() else None


def bounds_of(
    lower: bytes | None, upper: bytes | None, kind: pa.DataType
) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    """A lower and an upper bound; None of both where they contradict each other.

    Of a text Apache Beam, up to 2026, writes the lower one with the zeros that are behind it in its
    memory, so that it lies above the least value.
    """
    if lower is not None and is_text_or_bytes(kind):
        lower = lower.rstrip(b"\0")
    least, most = (None if end is None else bound_value(end, kind) for end in (lower, upper))
    if least is not None and most is not None and not in_order(least, most):
        return None, None
    return (
        None if least is None else _before_cut(least),
        None if most is None else _beyond_cut(most),
    )


def bounds_in_file(
    lower: bytes | None, upper: bytes | None, kind: pa.DataType
) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    """The bounds of a column of a file, by its manifest; None of both where they may be others'.

    Of times that Parquet has in milliseconds Iceberg's library takes the milliseconds for
    microseconds where it imports a file (`add_files`, `migrate`), and up to 1.11 it gave columns of
    nanoseconds of ORC microseconds. What may be such ones, which is from 1968 to 1978, says
    nothing. Nor do decimals of more than 18 digits, of which DuckDB up to the summer of 2026 mixes
    up those of several row groups, nor such as may be Parquet's bytes, which stand the other way
    round: StarRocks took these over. A greatest decimal below zero says nothing, either: pyiceberg
    up to 0.6.1 left the byte out that tells the sign, and iceberg-go up to 0.4 added one wrongly.
    """
    if pa.types.is_decimal(kind) and (
        kind.precision > _INT64_DIGITS or _may_be_reversed((lower, upper), kind.precision)
    ):
        return None, None
    if pa.types.is_timestamp(kind):
        known = (bound_value(end, kind) for end in (lower, upper) if end is not None)
        each = _MILLISECONDS[kind.unit] // 1000
        if all(end is None or end.value // each in _MILLIS_OF_YEARS for end in known):
            return None, None
    least, most = bounds_of(lower, upper, kind)
    if pa.types.is_decimal(kind) and most is not None and most.as_py() < 0:
        return least, None
    return least, most


def _may_be_reversed(ends: Iterable[bytes | None], digits: int) -> bool:
    """Whether all of some bounds that are known may be whole numbers as Parquet has decimals."""
    size = 4 if digits <= _INT32_DIGITS else 8
    return all(
        len(end) == size and abs(int.from_bytes(end, "little", signed=True)) < 10**digits
        for end in ends
        if end is not None
    )


def _before_cut(least: pa.Scalar) -> pa.Scalar:
    """A lower bound; of instants long ago the first one that may be told so, see `_beyond_cut`."""
    off = _off_by_zone(least)
    return _moved(least, -off) if off else least


def _beyond_cut(most: pa.Scalar) -> pa.Scalar | None:
    """An upper bound as far out as Delta may have cut it, if it is Delta's; None if unknown."""
    # UniForm and XTable take over the maxima of a Delta table. Those of times are cut to whole
    # milliseconds, and of instants before 1973 Spark told the zone without its seconds. Texts
    # before version 3.3 were cut with U+FFFD behind what is kept, where UTF-8 has characters behind
    # that; of one that the cut had halved a question mark was left.
    if pa.types.is_string(most.type):
        text = most.as_py()
        if not text.endswith(_DELTAS_MARK):
            return most
        after = text_after(text.removesuffix(_DELTAS_MARK).removesuffix("?"))
        return pa.scalar(after, most.type) if after else None
    if not pa.types.is_timestamp(most.type):
        return most
    whole, off = _MILLISECONDS[most.type.unit], _off_by_zone(most)
    if most.value % whole == 0:
        off += whole - 1
    return _moved(most, off) if off else most


def _off_by_zone(instant: pa.Scalar) -> int:
    """How far a bound may be off as its zone, which had seconds once, was told in minutes."""
    if not pa.types.is_timestamp(instant.type) or not instant.type.tz:
        return 0
    minute = 60_000 * _MILLISECONDS[instant.type.unit]
    return minute if instant.value < _MINUTES_SINCE * minute else 0


def _moved(time: pa.Scalar, by: int) -> pa.Scalar:
    number = min(max(time.value + by, _FIRST_INT64), _LAST_INT64)
    return pa.scalar(number, pa.int64()).cast(time.type)


def text_after(begin: str) -> str:
    """The first text behind all that begin with one; empty where none is."""
    kept = begin.rstrip(chr(sys.maxunicode))
    if not kept:
        return ""
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(_AFTER_SURROGATES if following == _SURROGATE else following)


def in_order(lower: pa.Scalar, upper: pa.Scalar) -> bool:
    """Whether one bound is not above another of its type."""
    return bool(pc.less_equal(lower, upper).as_py())


def default_value(value: Any, kind: pa.DataType, where: str) -> pa.Scalar:
    """A default out of a schema (the specification's "JSON single-value serialization")."""
    if pa.types.is_nested(kind):
        raise RefusedError(f"{where}: defaults of nested types are not supported")
    try:
        return _default(value, kind)
    except (ValueError, TypeError, InvalidOperation, OverflowError, pa.ArrowException) as error:
        raise InputError(f"{where}: the default {value!r} is no {kind}") from error


def _default(value: Any, kind: pa.DataType) -> pa.Scalar:
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if isinstance(value, str) or isinstance(value, bool) != pa.types.is_boolean(kind):
            raise TypeError
        return pa.scalar(value, kind)
    if not isinstance(value, str):
        raise TypeError
    return _of_text(value, kind)


def _of_text(text: str, kind: pa.DataType) -> pa.Scalar:
    """A value whose JSON is a text."""
    tests = pa.types
    if tests.is_decimal(kind):
        return pc.cast(pa.scalar(Decimal(text)), kind)
    if tests.is_date32(kind):
        return pa.scalar(dt.date.fromisoformat(text), kind)
    if tests.is_time64(kind):
        return pa.scalar(dt.time.fromisoformat(text), kind)
    if tests.is_timestamp(kind):
        return _moment(text, kind)
    if tests.is_string(kind):
        return pa.scalar(text, kind)
    if kind == pa.uuid():
        return pa.scalar(uuid.UUID(text).bytes, kind)
    return pa.scalar(bytes.fromhex(text), kind)


def _moment(text: str, kind: pa.DataType) -> pa.Scalar:
    """A time; of its digits below the second Python passes over those behind the sixth."""
    moment = dt.datetime.fromisoformat(text)
    if (moment.tzinfo is None) != (kind.tz is None):
        raise ValueError
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    number = (moment - _EPOCH) // _MICROSECOND
    if kind.unit == "ns":
        more = _BELOW_MICROS.search(text)
        number = number * 1000 + (int(more[1].ljust(3, "0")) if more else 0)
    return pa.scalar(number, pa.int64()).cast(kind)


def partition_value(value: Any, kind: pa.DataType | None, where: str) -> Any:
    """A value of a partition as Python has the type of its transform's result.

    Writers spell one value in several ways: a day as Avro's `date` or as a plain number, a time
    with and without its zone, a UUID as a text or as bytes. Files of one partition are known by
    equal values, so each has one form here, from the moment that a manifest is read. `kind` is of
    the transform's result, if that is known. Whole numbers come back where Python has no such day
    or moment, and for nanoseconds.
    """
    if value is None:
        return None
    try:
        if kind is None and isinstance(value, _FLAT_VALUES):
            return value
        return _ONE_FORM[kind and kind.id](value, kind)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: the partition value {value!r} is no {kind}") from error


def _whole(value: Any, _: pa.DataType) -> int:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return (value - _EPOCH.date()).days
    return operator.index(value)


def _date(value: Any, _: pa.DataType) -> Any:
    if isinstance(value, dt.datetime):
        raise TypeError
    if isinstance(value, dt.date):
        return value
    try:
        return _EPOCH.date() + dt.timedelta(days=operator.index(value))
    except OverflowError:
        return value


def _time(value: Any, _: pa.DataType) -> dt.time:
    if isinstance(value, dt.time):
        return value
    moment = _EPOCH + dt.timedelta(microseconds=operator.index(value))
    if moment.date() != _EPOCH.date():
        raise ValueError
    return moment.time()


def _timestamp(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, dt.datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
    elif kind.unit == "ns":
        return operator.index(value)
    else:
        try:
            moment = _EPOCH + dt.timedelta(microseconds=operator.index(value))
        except OverflowError:
            return value
    if kind.unit == "ns":
        return (moment - _EPOCH) // _MICROSECOND * 1000
    return moment if kind.tz else moment.replace(tzinfo=None)


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    if isinstance(value, bytes):
        return decimal_of(int.from_bytes(value, "big", signed=True), kind.scale)
    if isinstance(value, Decimal):
        return value
    raise TypeError


def _text(value: Any, _: pa.DataType) -> str:
    return value.decode() if isinstance(value, bytes) else _of(str, value)


def _bytes(value: Any, kind: pa.DataType) -> bytes:
    if isinstance(value, uuid.UUID):
        return value.bytes
    if kind == pa.uuid():
        return uuid.UUID(value).bytes if isinstance(value, str) else uuid.UUID(bytes=value).bytes
    return _of(bytes, value)


def _float(value: Any, _: pa.DataType) -> float:
    return float(_of((int, float), value))


def _of(kind: type[_T] | tuple[type[_T], ...], value: Any) -> _T:
    if not isinstance(value, kind):
        raise TypeError
    return value


_ONE_FORM: Mapping[int | None, Callable[[Any, Any], Any]] = {
    pa.int32().id: _whole,
    pa.int64().id: _whole,
    pa.date32().id: _date,
    pa.time64("us").id: _time,
    pa.timestamp("us").id: _timestamp,
    pa.decimal128(1, 0).id: _decimal,
    pa.string().id: _text,
    pa.binary().id: _bytes,
    pa.binary(1).id: _bytes,
    pa.float32().id: _float,
    pa.float64().id: _float,
    pa.bool_().id: lambda value, _: _of(bool, value),
    pa.uuid().id: _bytes,
}
_FLAT_VALUES = (bool, int, float, str, bytes, Decimal, dt.date, dt.time, uuid.UUID)


def constant(value: Any, kind: pa.DataType, where: str) -> pa.Scalar:
    """A value of an identity partition field as a column shows it, which may have a wider type."""
    try:
        if isinstance(value, int) and pa.types.is_temporal(kind):
            storage = pa.int32() if kind.bit_width == 32 else pa.int64()
            return pa.scalar(value, storage).cast(kind)
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: the partition value {value!r} is no {kind}") from error
