"""The type languages of pages and rows, and what they mean in Arrow."""

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import (
    MAX_DEPTH,
    CalendarIntervalType,
    Language,
    MonthsType,
    ZonedMillisType,
    arrow_type,
    parse_presto,
    parse_spark,
    parse_type,
    schema_of,
)


@pytest.mark.parametrize(
    ("language", "text", "spelled"),
    [
        ("presto", "BIGINT", "bigint"),
        ("presto", " int ", "integer"),
        ("presto", "varchar( 10 )", "varchar(10)"),
        ("presto", "decimal(10)", "decimal(10,0)"),
        ("presto", "decimal", "decimal(38,0)"),
        ("presto", "timestamp  with time zone", "timestamp with time zone"),
        ("presto", "row(a integer, B varchar(5))", "row(a integer,B varchar(5))"),
        ("presto", "row(integer,date date)", "row(integer,date date)"),
        ("presto", "row(interval day to second)", "row(interval day to second)"),
        ("presto", 'row("a ""b, (" row(x unknown))', 'row("a ""b, (" row(x unknown))'),
        ("presto", "map(varchar,array(row(k integer)))", "map(varchar,array(row(k integer)))"),
        ("presto", "tdigest(double)", "tdigest(double)"),
        ("spark", "INTEGER", "int"),
        ("spark", "decimal", "decimal(10,0)"),
        ("spark", "numeric(3)", "decimal(3,0)"),
        ("spark", "interval hour to second", "interval day to second"),
        ("spark", "struct<a: int, `b:,>`:array<string>>", "struct<a:int,`b:,>`:array<string>>"),
        ("spark", "map<int,map<string,bigint>>", "map<int,map<string,bigint>>"),
    ],
)
def test_types_are_spelled_as_the_engine_does(language: Language, text: str, spelled: str) -> None:
    """Words in any case and with blanks are read; the type is spelled as the engine spells it."""
    read = parse_type(text, language)
    assert read.text == spelled
    assert parse_type(read.text, language) == read


@pytest.mark.parametrize(
    ("language", "text", "error", "says"),
    [
        ("presto", "", UsageError, "missing"),
        ("presto", "row(a integer", UsageError, "row takes its parts in"),
        ("presto", "array<integer>", UsageError, "array takes its parts in"),
        ("presto", "array", UsageError, "brackets"),
        ("presto", "map(integer)", UsageError, "2 parts, not 1"),
        ("presto", "decimal(39,0)", UsageError, "39 digits"),
        ("presto", "decimal(5,6)", UsageError, "5 digits"),
        ("presto", "decimal(x)", UsageError, "precision,scale"),
        ("presto", "varchar(x)", UsageError, "varchar does not take"),
        ("presto", "bigint(3)", UsageError, "bigint does not take"),
        ("presto", 'row("a integer)', UsageError, "quote"),
        ("presto", "array(integer))(integer)", UsageError, "closes"),
        ("presto", "string", RefusedError, "'string'"),
        ("presto", "geometry", RefusedError, "'geometry'"),
        ("spark", "struct<a int>", UsageError, "name:type"),
        ("spark", "varbinary", RefusedError, "'varbinary'"),
        ("spark", "array<" * MAX_DEPTH + "int" + ">" * MAX_DEPTH, RefusedError, "nested"),
    ],
)
def test_what_is_no_type_is_refused(
    language: Language, text: str, error: type[SeambenchError], says: str
) -> None:
    """A text that breaks the grammar, or names what is not known, is refused by name."""
    with pytest.raises(error, match=says):
        parse_type(text, language)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("char(8)", pa.string()),
        ("time", pa.time32("ms")),
        ("timestamp", pa.timestamp("ms")),
        ("timestamp microseconds", pa.timestamp("us")),
        ("time with time zone", ZonedMillisType()),
        ("interval year to month", MonthsType()),
        ("json", pa.json_(pa.string())),
        ("uuid", pa.uuid()),
        ("unknown", pa.null()),
        ("decimal(19,3)", pa.decimal128(19, 3)),
        (
            "map(bigint,row(a array(real)))",
            pa.map_(pa.int64(), pa.struct([("a", pa.list_(pa.float32()))])),
        ),
    ],
)
def test_arrow_types_of_presto(text: str, type_: pa.DataType) -> None:
    """Presto's types are Arrow's, or extension types where Arrow has none."""
    assert arrow_type(parse_presto(text)) == type_


def test_arrow_types_of_spark() -> None:
    """Spark's timestamps are microseconds with or without a zone, its interval an extension."""
    read = arrow_type(parse_spark("struct<a:timestamp,b:timestamp_ntz,c:interval,d:void>"))
    assert read == pa.struct(
        [
            ("a", pa.timestamp("us", "UTC")),
            ("b", pa.timestamp("us")),
            ("c", CalendarIntervalType()),
            ("d", pa.null()),
        ]
    )


@pytest.mark.parametrize(
    ("choice", "unit"), [("millis", "ms"), ("micros", "us"), ("lossless", "ns")]
)
def test_timestamps_follow_the_option(choice: str, unit: str) -> None:
    """What a Velox page holds for a timestamp is an option of the request, at every level."""
    fields = [SerdeField("t", "array(timestamp)")]
    schema = schema_of(SerdeRequest("presto", fields, {"timestamps": choice}))
    assert schema.field("t").type == pa.list_(pa.timestamp(unit))


def test_errors_name_the_column() -> None:
    """Whoever gave twenty types learns which one is wrong."""
    request = SerdeRequest("unsaferow", [SerdeField("a", "int"), SerdeField("b", "varbinary")])
    with pytest.raises(RefusedError, match="column 'b'"):
        schema_of(request)


def test_extension_types_survive_ipc() -> None:
    """Extension types come back from an Arrow stream as themselves."""
    array = pa.ExtensionArray.from_storage(MonthsType(), pa.array([1, None], pa.int32()))
    batch = pa.record_batch([array], ["m"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        assert reader.schema.field("m").type == MonthsType()
