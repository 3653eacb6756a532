"""The Avro decoder against fastavro, the specification's examples, and damage."""

import datetime as dt
import decimal
import io
import json
import re
import struct
import uuid
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError
from seamkit.avro import decoder as avro_decoder
from seamkit.avro.decoder import AvroDecoder
from seamkit.avro.schema import arrow_schema
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.files.promotion import LOSSLESS
from seamkit.tables.hudi.config.value_types import HUDI_TYPES
from seamkit_tests.samples.avro_schemas import array, logical, map_of, optional
from seamkit_tests.samples.avro_schemas import record as named
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.samples.hudi_log_bytes import avro_content

UTC = dt.UTC
WIDE = decimal.Context(prec=60)
EPOCH_LIKE = (dt.datetime(1677, 1, 1), dt.datetime(2262, 1, 1))


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    """A record schema, as JSON."""
    listed = [{"name": name, "type": kind} for name, kind in fields]
    return {"type": "record", "name": "row", "namespace": "test", "fields": listed}


def raw_block(*datums: bytes) -> bytes:
    """The same of datums that are spelled out."""
    framed = [struct.pack(">i", len(datum)) + datum for datum in datums]
    return struct.pack(">ii", 3, len(datums)) + b"".join(framed)


def decode(writer: Any, schema: pa.Schema, *blocks: bytes, **options: Any) -> pa.RecordBatch:
    """Decode blocks into one batch, which must satisfy all of Arrow's rules."""
    decoder = AvroDecoder(json.dumps(writer), schema, rules=HUDI_TYPES, **options)
    for block in blocks:
        decoder.decode(block)
    batch = decoder.finish()
    batch.validate(full=True)
    assert batch.schema.equals(schema)
    return batch


def _decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda n: decimal.Decimal(n).scaleb(-scale, WIDE))


def _times(unit: int) -> st.SearchStrategy[dt.time]:
    return st.times().map(lambda t: t.replace(microsecond=t.microsecond // unit * unit))


def _datetimes(unit: int, zone: dt.tzinfo | None) -> st.SearchStrategy[dt.datetime]:
    return st.datetimes(*EPOCH_LIKE).map(
        lambda t: t.replace(microsecond=t.microsecond // unit * unit, tzinfo=zone)
    )


def _decimal_type(precision: int, scale: int, size: int) -> dict[str, Any]:
    """A decimal in so many bytes."""
    fixed = {"name": f"d{size}", "size": size}
    return logical("fixed", "decimal", **fixed, precision=precision, scale=scale)


MILLIS, MICROS = logical("long", "timestamp-millis"), logical("long", "timestamp-micros")
SYMBOLS = ["A", "BB", "CCC"]
# Avro type, values as fastavro takes them and Arrow gives them back.
FLAT: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "boolean": ("boolean", st.booleans()),
    "int": ("int", st.integers(-(2**31), 2**31 - 1)),
    "long": ("long", st.integers(-(2**63), 2**63 - 1)),
    "float": ("float", st.floats(width=32, allow_nan=False)),
    "double": ("double", st.floats(allow_nan=False)),
    "string": ("string", st.text(max_size=200)),
    "bytes": ("bytes", st.binary(max_size=100)),
    "fixed": ({"type": "fixed", "name": "f5", "size": 5}, st.binary(min_size=5, max_size=5)),
    "enum": ({"type": "enum", "name": "e3", "symbols": SYMBOLS}, st.sampled_from(SYMBOLS)),
    "decimal-bytes": (logical("bytes", "decimal", precision=38, scale=10), _decimals(38, 10)),
    "decimal-fixed": (_decimal_type(15, 2, size=7), _decimals(15, 2)),
    "decimal-wide": (_decimal_type(38, 0, size=16), _decimals(38, 0)),
    "date": (logical("int", "date"), st.dates()),
    "time-millis": (logical("int", "time-millis"), _times(1000)),
    "time-micros": (logical("long", "time-micros"), _times(1)),
    "timestamp-millis": (MILLIS, _datetimes(1000, UTC)),
    "timestamp-micros": (MICROS, _datetimes(1, UTC)),
    "local-millis": (logical("long", "local-timestamp-millis"), _datetimes(1000, None)),
    "local-micros": (logical("long", "local-timestamp-micros"), _datetimes(1, None)),
}


_LEAF: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"f": st.none() | st.booleans(), "s": st.text(max_size=20)}
)
_LEAVES = array(named("leaf", f=["boolean", "null"], s="string"))
_LISTS = st.none() | st.lists(_LEAF, max_size=3)
NESTED: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "array": (
        array(optional("long")),
        st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=5),
    ),
    "map": (
        map_of(optional("string")),
        st.dictionaries(st.text(max_size=5), st.none() | st.text(max_size=80), max_size=4),
    ),
    "deep": (
        named("deep", m=optional(map_of(optional(_LEAVES))), l=array(optional("leaf"))),
        st.fixed_dictionaries(
            {
                "m": st.none() | st.dictionaries(st.text(max_size=3), _LISTS, max_size=3),
                "l": st.lists(st.none() | _LEAF, max_size=4),
            }
        ),
    ),
}

# A type that can be passed over only: it has a union of several types.
SKIPPED: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "record": (
        named("inner", a=array("float"), b=["null", "double", "string"]),
        st.fixed_dictionaries(
            {"a": st.lists(st.just(0.5), max_size=3), "b": st.none() | st.text(max_size=3)}
        ),
    )
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, Any], list[list[dict[str, Any]]], list[str]]:
    """A writer's schema, the rows of some blocks, and the names of the columns wanted."""
    kinds = draw(st.lists(st.sampled_from([*FLAT, *NESTED, *SKIPPED]), max_size=8, unique=True))
    fields, values, readable = [], {}, []
    for kind in kinds:
        avro, strategy = (FLAT | NESTED | SKIPPED)[kind]
        layout = draw(st.sampled_from(["plain", "null first", "null last"]))
        if layout != "plain":
            strategy = st.none() | strategy
            avro = ["null", avro] if layout == "null first" else [avro, "null"]
        fields.append((kind.replace("-", "_"), avro))
        values[fields[-1][0]] = strategy
        if kind not in SKIPPED:
            readable.append(fields[-1][0])
    rows = st.lists(st.fixed_dictionaries(values), max_size=12)
    blocks = draw(st.lists(rows, min_size=1, max_size=3))
    wanted = draw(st.permutations(readable))
    return record(*fields), blocks, wanted[: draw(st.integers(0, len(readable)))]


@given(tables())
@settings(deadline=None, max_examples=80)
def test_values_come_back(
    table: tuple[dict[str, Any], list[list[dict[str, Any]]], list[str]],
) -> None:
    """Whatever fastavro writes is decoded to equal values, in the columns and order asked for."""
    writer, blocks, wanted = table
    listed = [f for f in writer["fields"] if f["name"] in wanted]
    fields = {f.name: f for f in arrow_schema({**writer, "fields": listed})}
    schema = pa.schema([fields[name] for name in wanted])
    batch = decode(writer, schema, *(avro_content(writer, rows) for rows in blocks))
    expected = [{name: row[name] for name in wanted} for rows in blocks for row in rows]
    assert batch.num_rows == len(expected)
    as_arrow = pa.array(expected, pa.struct(schema))
    assert batch.to_struct_array().to_pylist() == as_arrow.to_pylist()


DECIMAL_52 = logical("bytes", "decimal", precision=5, scale=2)
D = decimal.Decimal
LAST_1969 = dt.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)
PROMOTIONS: list[tuple[Any, Any, pa.DataType, Any]] = [
    ("int", -5, pa.int64(), -5),
    ("int", 2**31 - 1, pa.float64(), 2147483647.0),
    ("int", 16777217, pa.float32(), 16777216.0),
    ("long", 2**53 + 1, pa.float64(), 9007199254740992.0),
    ("long", 3, pa.float32(), 3.0),
    ("float", 0.3, pa.float64(), 0.3),
    ("float", -1e30, pa.float64(), -1e30),
    ("float", float("inf"), pa.float64(), float("inf")),
    ("string", "é", pa.binary(), b"\xc3\xa9"),
    ("bytes", b"ok", pa.string(), "ok"),
    (DECIMAL_52, D("1.25"), pa.decimal128(7, 4), D("1.2500")),
    (DECIMAL_52, D("-999.99"), pa.decimal128(38, 35), D("-999.99") + D("0E-35")),
    (MILLIS, LAST_1969, pa.timestamp("us", "UTC"), LAST_1969),
    (MICROS, dt.datetime(1970, 1, 1, 0, 0, 1, 600_000, UTC), pa.timestamp("ms", "UTC"),
     dt.datetime(1970, 1, 1, 0, 26, 40, 0, UTC)),
    (logical("int", "time-millis"), dt.time(1, 2, 3, 4000), pa.time64("us"),
     dt.time(1, 2, 3, 4000)),
    ({"type": "fixed", "name": "f2", "size": 2}, b"\x00\xff", pa.binary(), b"\x00\xff"),
    ("int", -5, pa.string(), "-5"),
    ("long", 2**63 - 1, pa.string(), "9223372036854775807"),
    ("float", 0.3, pa.string(), "0.3"),
    ("float", 16777216.0, pa.string(), "1.6777216E7"),
    ("double", 1e-5, pa.string(), "1.0E-5"),
    ("double", 123456.0, pa.string(), "123456.0"),
    ("double", -0.0, pa.string(), "-0.0"),
    ("double", float("-inf"), pa.string(), "-Infinity"),
    (array(["null", "float"]), [0.3, None], pa.list_(pa.float64()), [0.3, None]),
    (
        array(record(("gone", "int"), ("a", "int"))),
        [{"gone": 1, "a": 2}],
        pa.list_(pa.struct([("new", pa.list_(pa.int8())), ("a", pa.int64())])),
        [{"new": None, "a": 2}],
    ),
    (
        map_of(["null", record(("a", "double"))]),
        {"x": {"a": 1.5}, "y": None},
        pa.map_(pa.string(), pa.struct([("a", pa.string()), ("b", pa.date32())])),
        [("x", {"a": "1.5", "b": None}), ("y", None)],
    ),
    (["null", record(("a", "int"))], {"a": 1}, pa.struct([("b", pa.int64())]), {"b": None}),
    (["null", record(("a", "int"))], None, pa.struct([("b", pa.int64())]), None),
    ("null", None, pa.list_(pa.int64()), None),
    ("null", None, pa.string(), None),
    ("null", None, pa.decimal128(4, 1), None),
]  # fmt: skip


@pytest.mark.parametrize(("avro", "value", "target", "expected"), PROMOTIONS)
def test_promotions(avro: Any, value: Any, target: pa.DataType, expected: Any) -> None:
    """Avro's promotions hold at any depth; decimals may gain digits and times finer units.

    Numbers become texts as Java writes them, and a struct's missing fields are null.
    """
    writer = {**record(("x", avro)), "name": "outer"}
    batch = decode(writer, pa.schema([("x", target)]), avro_content(writer, [{"x": value}]))
    assert batch.column("x").to_pylist() == [expected]


REFUSED: list[tuple[Any, pa.DataType]] = [
    ("long", pa.int32()),
    ("double", pa.float32()),
    ("string", pa.int64()),
    ("int", pa.date32()),
    ("long", pa.timestamp("us", "UTC")),
    (logical("int", "date"), pa.int32()),
    (MICROS, pa.timestamp("s", "UTC")),
    (logical("long", "local-timestamp-micros"), pa.timestamp("us", "UTC")),
    (MICROS, pa.time64("us")),
    (DECIMAL_52, pa.decimal128(5, 1)),
    (DECIMAL_52, pa.binary()),
    ("bytes", pa.decimal128(5, 2)),
    (["null", "int", "string"], pa.string()),
    (array("string"), pa.list_(pa.int32())),
    (array("null"), pa.list_(pa.int32())),
    (map_of("int"), pa.list_(pa.int32())),
    (map_of("int"), pa.map_(pa.int32(), pa.int32())),
    (record(("y", "long")), pa.struct([("y", pa.int32())])),
    (record(("y", "long")), pa.int64()),
    ("boolean", pa.string()),
]


@pytest.mark.parametrize(("avro", "target"), REFUSED)
def test_what_cannot_be_read_is_refused_by_name(avro: Any, target: pa.DataType) -> None:
    """A field whose type does not fit its column is refused, with the field's name."""
    if isinstance(avro, dict) and avro["type"] == "record":
        avro = {**avro, "name": "other"}
    with pytest.raises(RefusedError, match="field 'x"):
        AvroDecoder(json.dumps(record(("x", avro))), pa.schema([("x", target)]))


@pytest.mark.parametrize(
    ("avro", "target", "datum"),
    [
        (DECIMAL_52, pa.decimal128(6, 4), b"\x06\x01\x86\x9f"),
        (MILLIS, pa.timestamp("us", "UTC"), b"\xfe" + b"\xff" * 8 + b"\x01"),
    ],
)
def test_values_that_do_not_fit_are_refused(avro: Any, target: pa.DataType, datum: bytes) -> None:
    """A value that loses digits or passes 64 bits on its way into the column is an error."""
    decoder = AvroDecoder(json.dumps(record(("x", avro))), pa.schema([("x", target)]))
    with pytest.raises(InputError, match="field 'x' of record 0"):
        decoder.decode(raw_block(datum))


def test_names_are_resolved_also_within_themselves() -> None:
    """A type may be used again by name, with its namespace, and may hold itself where skipped."""
    node = named("node", next=["null", "node"], id="test.hash")
    two_bytes = {"type": "fixed", "name": "hash", "size": 2}
    writer = record(("h", two_bytes), ("list", node), ("x", "int"))
    row = {"h": b"ab", "list": {"next": {"next": None, "id": b"cd"}, "id": b"ef"}, "x": 5}
    schema = pa.schema([("x", pa.int32()), ("h", pa.binary(2))])
    assert decode(writer, schema, avro_content(writer, [row])).to_pylist() == [{"x": 5, "h": b"ab"}]


def test_columns_that_the_writer_lacks() -> None:
    """A missing column holds its default, or null."""
    writer = record(("x", "int"))
    schema = pa.schema(
        [("gone", pa.decimal128(5, 2)), ("x", pa.int32()), ("n", pa.int64()), ("s", pa.string())]
    )
    block = avro_content(writer, [{"x": 1}, {"x": 2}])
    batch = decode(writer, schema, block, defaults={"n": 7, "s": "d", "x": 9})
    assert batch.to_pylist() == [{"gone": None, "x": x, "n": 7, "s": "d"} for x in (1, 2)]


def test_columns_that_allow_no_nulls() -> None:
    """A null, or a missing field, is an error where the column allows none."""
    schema = pa.schema([pa.field("x", pa.int32(), nullable=False)])
    writer = record(("x", ["null", "int"]))
    decoder = AvroDecoder(json.dumps(writer), schema)
    assert decoder.decode(avro_content(writer, [{"x": 1}])) == 1
    with pytest.raises(InputError, match="field 'x' of record 1: a null"):
        decoder.decode(avro_content(writer, [{"x": 1}, {"x": None}]))
    with pytest.raises(InputError, match="field 'x' is not in the writer's schema"):
        AvroDecoder(json.dumps(record(("y", "int"))), schema)


@pytest.mark.parametrize(
    ("texts", "row"),
    [
        ([b"a", b"\xc3\x28"], 1),
        ([b"a", b"\xc3", b"\xa9"], 1),  # together they are a character
        ([b"\xe2\x82", b"", b"\xac"], 0),
        ([b"\xc3\xa9", b"a\xc3"], 1),
        ([b"a", b"\xc3\xa9", b"", b"\xe2\x82\xac"], None),
    ],
)
def test_text_must_be_utf8(texts: list[bytes], row: int | None) -> None:
    """A string column holds UTF-8 only, each of its texts by itself."""
    decoder = AvroDecoder(json.dumps(record(("x", "string"))), pa.schema([("x", pa.string())]))
    decoder.decode(raw_block(*(bytes([2 * len(text)]) + text for text in texts)))
    if row is None:
        expected = [text.decode() for text in texts]
        assert decoder.finish().column("x").to_pylist() == expected
        return
    with pytest.raises(InputError, match=f"row {row} is not UTF-8"):
        decoder.finish()


@pytest.mark.parametrize("version", [0, 4, -1])
def test_unknown_content_versions_are_refused(version: int) -> None:
    """Content versions 1 to 3 share a layout; any other is refused by number."""
    writer = record(("x", "int"))
    decoder = AvroDecoder(json.dumps(writer), pa.schema([("x", pa.int32())]))
    for known in (1, 2, 3):
        decoder.decode(avro_content(writer, [{"x": known}], known))
    with pytest.raises(RefusedError, match=f"version {version}"):
        decoder.decode(avro_content(writer, [{"x": 1}], version))
    with pytest.raises(InputError, match="block of 7 bytes"):
        decoder.decode(b"\0" * 7)


MAPPING: list[tuple[Any, pa.DataType]] = [
    ("string", pa.string()),
    (logical("string", "uuid"), pa.string()),
    ({"type": "string", "avro.java.string": "String"}, pa.string()),
    (MILLIS, pa.timestamp("ms", "UTC")),
    (logical("long", "local-timestamp-micros"), pa.timestamp("us")),
    (logical("int", "time-millis"), pa.time32("ms")),
    (logical("string", "date"), pa.string()),
    (logical("int", "who-knows"), pa.int32()),
    (DECIMAL_52, pa.decimal128(5, 2)),
    (logical("fixed", "decimal", name="d", size=3, precision=6), pa.decimal128(6, 0)),
    ({"type": "fixed", "name": "f", "size": 3}, pa.binary(3)),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
    (array(["null", "int"]), pa.list_(pa.field("element", pa.int32(), True))),
    (map_of("double"), pa.map_(pa.string(), pa.field("value", pa.float64(), False))),
    (named("r", a=["null", "long"]), pa.struct([pa.field("a", pa.int64(), True)])),
]


@pytest.mark.parametrize(("avro", "expected"), MAPPING)
@pytest.mark.parametrize("nullable", [True, False])
def test_arrow_types(avro: Any, expected: pa.DataType, nullable: bool) -> None:
    """Types map as Hudi and Spark write them; a field is nullable if its union has null.

    A logical type that is unknown, or does not fit its base, is ignored (Avro specification).
    """
    schema = arrow_schema(record(("x", ["null", avro] if nullable else avro)))
    assert schema.field("x").equals(pa.field("x", expected, nullable))


WIDER = logical("bytes", "decimal", precision=39)


@pytest.mark.parametrize(
    ("schema", "error", "words"),
    [
        ("{", InputError, "not JSON"),
        ('"int"', InputError, "is a record, not int"),
        ('{"type": "record", "name": "r"}', InputError, "without fields"),
        (record(("x", "nothing")), InputError, "field 'x' refers to the unknown type 'nothing'"),
        (record(("x", "int"), ("x", "int")), InputError, "field 'x' is defined twice"),
        (record(("x", ["int", "string"])), RefusedError, r"field 'x': a union of \[int, string\]"),
        (record(("x", ["null", "row"])), RefusedError, "field 'x': a type that holds itself"),
        (record(("x", WIDER)), RefusedError, r"field 'x': decimal\(39,0\)"),
        ("[" * 100_000, InputError, "not JSON"),
        ("[" * 101 + '"int"' + "]" * 101, InputError, "more than 100 types"),
        (record(("x", "float"), ("y", 5)), InputError, "field 'y' has no type"),
    ],
)
def test_bad_schemas(schema: Any, error: type[Exception], words: str) -> None:
    """A schema that is broken is an input error, one without an Arrow type is refused by name."""
    with pytest.raises(error, match=words):
        arrow_schema(schema)


_WORDS = st.sampled_from(
    ["null", "boolean", "int", "long", "float", "double", "bytes", "string", "row", "f", "x"]
)
_LOGICAL = st.sampled_from(
    ["decimal", "uuid", "date", "time-millis", "timestamp-micros", "local-timestamp-millis"]
)
_SIZES = st.integers(-1, 40) | st.sampled_from([2**31, "2", None])


def _types(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that are nearly right: words in their places, now and then a wrong one."""
    field = st.fixed_dictionaries({"name": st.sampled_from("abcd"), "type": children})
    return st.one_of(
        st.lists(children, max_size=3),
        st.fixed_dictionaries({"type": st.just("array"), "items": children}),
        st.fixed_dictionaries({"type": st.just("map"), "values": children}),
        st.fixed_dictionaries({"type": st.just("fixed"), "name": _WORDS, "size": _SIZES}),
        st.fixed_dictionaries(
            {"type": children, "logicalType": _LOGICAL, "precision": _SIZES, "scale": _SIZES}
        ),
        st.fixed_dictionaries(
            {"type": st.just("record"), "name": _WORDS, "fields": st.lists(field, max_size=4)}
        ),
        st.fixed_dictionaries(
            {"type": st.just("enum"), "name": _WORDS, "symbols": st.lists(_WORDS, max_size=3)}
        ),
    )


SCHEMAS = st.recursive(_WORDS | st.none() | st.integers(), _types, max_leaves=12)


@given(st.lists(SCHEMAS, max_size=4), st.binary(max_size=60))
@settings(deadline=None, max_examples=120)
def test_any_schema_and_any_bytes_are_read_or_refused(kinds: list[Any], datum: bytes) -> None:
    """Whatever stands where a schema should, it is compiled or refused; so are bytes under it."""
    writer = record(*((f"c{i}", kind) for i, kind in enumerate(kinds)))
    try:
        schema = arrow_schema(writer)
        decoder = AvroDecoder(json.dumps(writer), schema)
        decoder.decode(raw_block(datum))
    except (InputError, RefusedError):
        return
    batch = decoder.finish()
    assert batch.num_rows == 1
    assert batch.schema.equals(schema)


def test_memory_goes_back_and_has_a_limit() -> None:
    """Batches hold their allocator's memory until they are dropped; past its limit it refuses."""
    writer = record(("x", "string"))
    schema = pa.schema([("x", pa.string())])
    block = avro_content(writer, [{"x": str(uuid.UUID(int=i))} for i in range(1000)])
    with TrackedAllocator() as allocator:
        decoder = AvroDecoder(json.dumps(writer), schema, allocator)
        decoder.decode(block)
        batch = decoder.finish()
        del decoder
        assert allocator.counters().current_bytes >= 36_000
        assert batch.column(0)[999].as_py() == str(uuid.UUID(int=999))
        del batch
    limited = AvroDecoder(json.dumps(writer), schema, TrackedAllocator(limit_bytes=20_000))
    with pytest.raises(NativeMemoryError, match="memory limit of 20000 bytes"):
        limited.decode(block)


def test_records_without_lengths_are_decoded_alike() -> None:
    """So Avro's own files hold them; what is left over or missing is an error."""
    writer, schema = (
        record(("x", "long"), ("s", "string")),
        pa.schema([("x", pa.int64()), ("s", pa.string())]),
    )
    rows = [{"x": i - 5, "s": f"text {i}"} for i in range(300)]
    content = io.BytesIO()
    for row in rows:
        fastavro.schemaless_writer(content, fastavro.parse_schema(writer), row)
    decoder = AvroDecoder(json.dumps(writer), schema)
    decoder.decode_plain(content.getvalue(), len(rows))
    assert decoder.finish().to_pylist() == rows
    for count in (299, 301):
        with pytest.raises(InputError):
            AvroDecoder(json.dumps(writer), schema).decode_plain(content.getvalue(), count)
    with pytest.raises(InputError):
        AvroDecoder(json.dumps(writer), schema).decode_plain(content.getvalue()[:-3], 300)


def test_floats_widen_as_the_rules_say() -> None:
    """To the double that equals them by default; to that of their decimal text under Hudi's."""
    writer, schema = record(("x", "float")), pa.schema([("x", pa.float64())])
    datum = raw_block(struct.pack("<f", 0.3))
    exact = AvroDecoder(json.dumps(writer), schema)
    exact.decode(datum)
    assert exact.finish().to_pydict() == {"x": [0.30000001192092896]}
    assert decode(writer, schema, datum).to_pydict() == {"x": [0.3]}


def test_what_is_passed_over_is_judged_as_what_is_read() -> None:
    """Of every byte that became another: the same values of the last field, or the same error."""
    fixed = [{"type": "fixed", "name": f"fixed{i}", "size": 3} for i in range(3)]
    plain: list[list[Any]] = [["bytes"] * 3, ["long"] * 3, ["double"] * 3, fixed]
    kinds = [kind for one in plain for kind in (one[0], ["null", one[1]], [one[2], "null"])]
    writer = record(*((f"c{i}", kind) for i, kind in enumerate(kinds)), ("last", "long"))
    types = [kind for kind in (pa.binary(), pa.int64(), pa.float64(), pa.binary(3)) for _ in "abc"]
    last = pa.schema([("last", pa.int64())])
    whole = pa.schema([*((f"c{i}", kind) for i, kind in enumerate(types)), *last])
    rows = []
    for number, size in enumerate((0, 1, 9, 70, 200)):
        values = [b"x" * size, (1 << 15 * number) - 1, 1.5, b"abc"]
        row = {f"c{i}": values[i // 3] if i % 3 < number else None for i in range(len(kinds))}
        row |= {f"c{i}": values[i // 3] for i in range(0, len(kinds), 3)}
        rows.append({**row, "last": number})

    def outcome(schema: pa.Schema, block: bytes) -> Any:
        try:
            return decode(writer, schema, block).column("last").to_pylist()
        except InputError as error:
            return str(error)

    good = avro_content(writer, rows)
    assert outcome(last, good) == outcome(whole, good) == list(range(len(rows)))
    for at in range(8, len(good)):
        for byte in {0, 1, 0x7F, 0xFF} - {good[at]}:
            block = good[:at] + bytes([byte]) + good[at + 1 :]
            assert outcome(last, block) == outcome(whole, block), (at, byte)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_record_is_read_among_others_as_alone(data: st.DataObject) -> None:
    """What a record holds, or what is wrong with it, does not depend on those around it."""
    names = [name.replace("-", "_") for name in FLAT]
    kinds = [optional(avro) if i % 2 else avro for i, (avro, _) in enumerate(FLAT.values())]
    writer = record(*zip(names, kinds, strict=True))
    pairs = enumerate(zip(names, FLAT.values(), strict=True))
    row = st.fixed_dictionaries({n: st.none() | s if i % 2 else s for i, (n, (_, s)) in pairs})
    few = [
        avro_content(writer, [one])[12:] for one in data.draw(st.lists(row, min_size=3, max_size=3))
    ]
    datums = data.draw(st.lists(st.sampled_from(few), min_size=20, max_size=40))
    if data.draw(st.booleans()):
        number = data.draw(st.integers(0, len(datums) - 1))
        bad = bytearray(datums[number])
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
        datums[number] = bytes(bad)
    wanted = data.draw(st.lists(st.sampled_from(names), unique=True))
    schema = pa.schema([arrow_schema(writer).field(name) for name in wanted])

    def outcome(*some: bytes) -> list[Any] | str:
        decoder = AvroDecoder(json.dumps(writer), schema, jumps=jumps)
        try:
            decoder.decode(raw_block(*some))
            batch = decoder.finish()
        except InputError as error:
            return re.sub(r"\d+", "#", str(error))
        return [str(pa.array([value])) for value in batch.to_struct_array()]

    jumps = data.draw(st.booleans())
    alone = {datum: outcome(datum) for datum in datums}
    errors = [found for found in alone.values() if isinstance(found, str)]
    rows = [one for datum in datums for one in alone[datum]]
    assert outcome(*datums) == (errors[0] if errors else rows)


def test_a_plan_is_made_once_for_columns_of_a_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other types, other rules and another writer have plans of their own."""
    made = calls_of(monkeypatch, avro_decoder, "Plan")
    name, rows = "a_plan_of_its_own", [{"a_plan_of_its_own": 0.5}]
    writer, other = record((name, "float")), record(("before", "int"), (name, "float"))
    block = avro_content(writer, rows)
    plain, wide = (pa.schema([(name, kind)]) for kind in (pa.float32(), pa.float64()))
    for _ in range(3):
        assert decode(writer, plain, block).to_pylist() == rows
    assert len(made) == 1
    assert decode(writer, wide, block).to_pylist() == rows
    AvroDecoder(json.dumps(writer), wide, rules=LOSSLESS)
    both = avro_content(other, [{"before": 7, **rows[0]}])
    assert decode(other, plain, both).to_pylist() == rows
    never_null = pa.schema([pa.field(name, pa.float32(), nullable=False)])
    assert decode(writer, never_null, block).to_pylist() == rows
    assert len(made) == 5
