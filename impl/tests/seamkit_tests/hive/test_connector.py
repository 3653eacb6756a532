"""Files of Hive tables through the connector seam, as StarRocks' BE asks for them."""

from pathlib import Path

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seamkit.connector.hive_file import HiveFileScanner
from seamkit.offheap.connector.factory import connector_scanner
from seamkit.offheap.connector.scanner import stream
from seamkit.tables.hive.table import HiveTable
from seamkit_tests.samples.hive_tables import unpack_hive

SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


def _parameters(file: Path, **more: str) -> dict[str, str]:
    return {
        "data_file_path": str(file),
        "block_offset": "0",
        "block_length": str(file.stat().st_size),
        "hive_column_names": "i,s,t,m",
        "hive_column_types": "int#struct<a:int,b:string>#timestamp#map<string,int>",
        "serde": SERDE,
        "input_format": "org.apache.hadoop.mapred.TextInputFormat",
        "SerDe.field.delim": ",",
        "SerDe.colelction.delim": ";",
        "SerDe.mapkey.delim": ":",
        **more,
    }


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A file of three rows."""
    file = tmp_path / "rows.txt"
    file.write_text("1,7;x,2020-01-01 00:00:00.5,k:1\n2,,,\nx,8;y,1969-12-31 23:59:59,a:1;b:2\n")
    return file


KINDS = {
    "i": pa.int32(),
    "t": pa.timestamp("us"),
    "s": pa.struct([("b", pa.string())]),
    "gone": pa.string(),
}


def _read(parameters: dict[str, str], fetch_size: int = 2) -> list[dict[str, object]]:
    scanner = connector_scanner("hive", fetch_size, parameters)
    schema = pa.schema([(name, KINDS[name]) for name in parameters["required_fields"].split(",")])
    return [row for batch in stream(scanner, schema) for row in batch.to_pylist()]


def test_columns_and_parts_of_columns_come_as_they_are_asked_for(rows: Path) -> None:
    """Projection, parts of structs and maps, and a column that the table lacks."""
    asked = {"required_fields": "s,gone,i", "nested_fields": "s.b"}
    assert _read(_parameters(rows, **asked)) == [
        {"s": {"b": "x"}, "gone": None, "i": 1},
        {"s": {"b": None}, "gone": None, "i": 2},
        {"s": {"b": "y"}, "gone": None, "i": None},
    ]


def test_a_file_is_what_its_input_format_hands_out(rows: Path, tmp_path: Path) -> None:
    """The serde of text is that of sequence files, too, and of files that only name others."""
    asked = {"required_fields": "i", "hive_column_names": "i", "hive_column_types": "int"}
    sequence = unpack_hive("sequence-none", tmp_path)
    [file] = [one for one in sequence.rglob("*") if one.is_file() and one.name[0] not in "._"]
    told = {
        "SerDe.field.delim": "\1",
        "input_format": "org.apache.hadoop.mapred.SequenceFileInputFormat",
    }
    whole = HiveTable(str(sequence)).to_arrow().select(["i"])
    assert _read({**_parameters(file, **asked), **told}) == whole.to_pylist()
    named = {"input_format": "org.apache.hadoop.hive.ql.io.SymlinkTextInputFormat"}
    with pytest.raises(RefusedError, match=r"read through org\.apache\..*Symlink"):
        _read(_parameters(rows, **asked, **named))


def test_a_predicate_leaves_rows_out(rows: Path) -> None:
    """Rows for which the condition is not true, null among them, are left out."""
    asked = {"required_fields": "i", "predicate": "s.a = 8"}
    assert _read(_parameters(rows, **asked)) == [{"i": None}]


def test_a_timestamp_is_what_the_clock_on_the_wall_shows(rows: Path) -> None:
    """Hive's timestamps have no zone, so the engine's does not move them."""
    asked = {"required_fields": "t", "time_zone": "Asia/Shanghai"}
    found = [str(row["t"]) for row in _read(_parameters(rows, **asked))]
    assert found == ["2020-01-01 00:00:00.500000", "None", "1969-12-31 23:59:59"]


def test_what_makes_no_sense_is_refused(rows: Path) -> None:
    """A part of a file, an unknown serde, lists of different lengths, an unknown parameter."""
    for more, error in (
        ({"block_offset": "5"}, RefusedError),
        ({"serde": "com.example.Serde"}, RefusedError),
        ({"hive_column_names": "i"}, UsageError),
        ({"hive_column_types": "int#what#int#int"}, UsageError),
        ({"unknown": "1"}, UsageError),
    ):
        with pytest.raises(error):
            HiveFileScanner.from_parameters(4, _parameters(rows, **more))
