"""Scanners by name: what engines state, files, slices, and the life of their tables."""

import itertools
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.columns.decode import slots
from seamkit.offheap.columns.types import UNKNOWN, ColumnType, Kind, parse
from seamkit.offheap.connector.factory import connector_scanner, register, scanner_class
from seamkit.offheap.connector.foreign_values import PandasValue
from seamkit.offheap.connector.generator import GeneratorScanner
from seamkit.offheap.connector.parameters import (
    join_names,
    join_types,
    split_columns,
    time_zone,
    wall_micros,
)
from seamkit.offheap.connector.rows import RowScanner
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests import GOLDEN
from seamkit_tests.hudi.test_taken_up_files import taken_up_table
from seamkit_tests.samples.column_values import column_values
from seamkit_tests.samples.failing import bears_failures
from seamkit_tests.samples.golden_tables import unpack_table


def _chunks(scanner: ConnectorScanner) -> list[list[list[Any]]]:
    """The values of every chunk, by column, read back through the chain."""
    found: list[list[list[Any]]] = []
    with scanner:
        scanner.open()
        while True:
            rows, parts = slots(scanner.get_next_off_heap_chunk().address, scanner.types)
            if rows == 0:
                return found
            found.append(
                [
                    column_values(rows, column, [p for p in parts if p.column == index])
                    for index, column in enumerate(scanner.types)
                ]
            )
            for index in range(len(scanner.types)):
                scanner.release_column(index)
            scanner.release_table()


def _columns(scanner: ConnectorScanner) -> list[list[Any]]:
    """The values by column, whatever the chunks."""
    chunks = _chunks(scanner)
    return [list(itertools.chain(*pieces)) for pieces in zip(*chunks, strict=True)]


@pytest.fixture
def parquet(tmp_path: Path) -> str:
    """A file of 10 rows in row groups of 4, with a column that no off-heap type holds."""
    ids = list(range(10))
    table = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "Name": pa.array([None if i % 3 == 0 else f"é{i}" for i in ids]),
            "s": pa.array(
                [{"a": i, "l": [{"x": i, "y": str(i)}]} if i % 4 else None for i in ids],
                pa.struct(
                    [
                        ("a", pa.int32()),
                        ("l", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
                    ]
                ),
            ),
            "t": pa.array(ids, pa.timestamp("s", "UTC")),
            "odd": pa.array(ids, pa.uint64()),
        }
    )
    path = tmp_path / "file.parquet"
    pq.write_table(table, path, row_group_size=4)
    return str(path)


@pytest.mark.parametrize("append", ["rows", "columns"])
@pytest.mark.parametrize("fetch_size", [0, 1, 3, 4096])
def test_a_parquet_file_is_its_rows(parquet: str, append: str, fetch_size: int) -> None:
    """Columns come as asked for, missing ones NULL, names by case, clocks read, any chunks."""
    parameters = {
        "data_file_path": parquet,
        "required_fields": "t,Name,name,s",
        "nested_fields": "s.l.$0.y,s.zz",
        "time_zone": "Asia/Shanghai",
        "append": append,
    }
    scanner = connector_scanner("parquet", fetch_size, parameters)
    chunks = _chunks(scanner)
    assert all(len(chunk[0]) <= max(fetch_size, 1) for chunk in chunks)
    moments, names, gone, parts = (list(itertools.chain(*p)) for p in zip(*chunks, strict=True))
    start = datetime(1970, 1, 1, 8)
    assert moments == [start + timedelta(seconds=i) for i in range(10)]
    assert names == [None if i % 3 == 0 else f"é{i}" for i in range(10)]
    assert gone == [None] * 10
    assert parts == [{"l": [{"y": str(i)}], "zz": None} if i % 4 else None for i in range(10)]


def test_a_predicate_is_handed_through(parquet: str) -> None:
    """Rows for which it is not true are left out; empty batches on the way are no end."""
    parameters = {
        "data_file_path": parquet,
        "required_fields": "s",
        "nested_fields": "s.a",
        "predicate": "id > 6 AND Name IS NOT NULL",
    }
    scanner = connector_scanner("parquet", 2, parameters)
    assert scanner.predicate == parameters["predicate"]
    assert _columns(scanner) == [[{"a": 7}, None]]
    assert scanner.counters.raw_rows == 10


def test_files_that_are_none_are_refused(tmp_path: Path, parquet: str) -> None:
    """A missing, a broken and an unreadable file are refused by name, and so is a column."""
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no more")
    for path in (str(tmp_path / "none.parquet"), str(broken)):
        with pytest.raises(InputError, match=path):
            connector_scanner("parquet", 1, {"data_file_path": path})
    with pytest.raises(RefusedError, match="uint64"):
        connector_scanner("parquet", 1, {"data_file_path": parquet})
    cut = tmp_path / "cut.parquet"
    content = bytearray(Path(parquet).read_bytes())
    content[4:40] = b"\xff" * 36
    cut.write_bytes(content)
    with pytest.raises(InputError, match=r"cut\.parquet"):
        _columns(
            connector_scanner("parquet", 9, {"data_file_path": str(cut), "required_fields": "id"})
        )


@pytest.fixture
def hudi(tmp_path: Path) -> Callable[[str], str]:
    """Unpacks a golden table, and tells its folder."""

    def unpack(name: str) -> str:
        return str(unpack_table(name, tmp_path))

    return unpack


def _slice_parameters(folder: str) -> dict[str, str]:
    table = HudiTable(folder)
    (slice_,) = table.slices()
    assert slice_.base is not None
    return {
        "base_path": folder,
        "hive_column_names": "k,v,ts",
        "hive_column_types": "string#string#bigint",
        "required_fields": "k,v",
        "data_file_path": table.full(slice_.base.path),
        "data_file_length": str(slice_.base.size_bytes),
        "delta_file_paths": ",".join(table.full(log.path) for log in slice_.logs),
        "instant_time": "",
        "serde": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "input_format": "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat",
        "time_zone": "UTC",
    }


@pytest.mark.parametrize(
    ("changes", "kind", "reason"),
    [
        ({"delta_file_paths": ""}, UsageError, "no slice of the table"),
        ({"data_file_length": "-1"}, UsageError, "no slice of the table"),
        ({"data_file_path": "", "delta_file_paths": ""}, UsageError, "a slice has a data_fil"),
        ({"hive_column_types": "string#string#int"}, None, ""),
        ({"hive_column_types": "string#int#bigint"}, RefusedError, "column 'v' is string in the"),
        ({"hive_column_types": "string#string"}, UsageError, "3 names have 2 types"),
        ({"hive_column_names": "k,v,k"}, UsageError, "comes twice"),
        ({"base_path": ""}, UsageError, "the parameter 'base_path' is missing"),
        ({"data_file_length": "long"}, UsageError, "'data_file_length' is a whole number"),
        ({"basepath": "x"}, UsageError, "unknown parameter 'basepath'"),
        ({"time_zone": "CST"}, UsageError, "there is no time zone 'CST'"),
        ({"required_fields": "k,,v"}, UsageError, "a name is empty"),
        ({"nested_fields": "k.x"}, UsageError, "a value of type string has no parts"),
    ],
    ids=str,
)  # fmt: skip
def test_slices_that_are_none_are_refused(
    hudi: Callable[[str], str], changes: dict[str, str], kind: type[Exception] | None, reason: str
) -> None:
    """Parameters that do not fit the table or each other are refused; unused columns are not."""
    parameters = _slice_parameters(hudi("mor-v6-commit")) | changes
    if kind is None:
        connector_scanner("hudi", 2, parameters)
    else:
        with pytest.raises(kind, match=reason):
            connector_scanner("hudi", 2, parameters)


def test_a_slice_of_logs_alone(hudi: Callable[[str], str]) -> None:
    """Length -1 says that there is no base file, whatever the path beside it."""
    folder = hudi("mor-v6-log-only")
    table = HudiTable(folder)
    slice_ = next(s for s in table.slices() if s.base is None)
    logs = [table.full(log.path) for log in slice_.logs]
    names = [field.name for field in table.schema if not field.name.startswith("_hoodie")]
    scan = table.scan(names)
    parameters = {
        "base_path": folder,
        "hive_column_names": ",".join(names),
        "hive_column_types": join_types([_type(field.type) for field in scan.schema]),
        "data_file_path": logs[0],
        "data_file_length": "-1",
        "delta_file_paths": ",".join(logs),
    }
    assert len(_columns(connector_scanner("hudi", 4, parameters))[0]) > 0


@pytest.mark.parametrize("name", ["partitions-encoded/v6", "partitions-encoded/v9", ""])
def test_partition_columns_of_a_slice_come_from_its_path(
    hudi: Callable[[str], str], tmp_path: Path, name: str
) -> None:
    """They come as in a scan, also where no file has the column, in each slice of a table."""
    folder = hudi(name) if name else str(taken_up_table(tmp_path / "t"))
    table = HudiTable(folder)
    names = [field.name for field in table.schema if not field.name.startswith("_hoodie")]
    scan = table.scan(names, path="merge")
    found: list[tuple[Any, ...]] = []
    for slice_ in table.slices():
        parameters = {
            "base_path": folder,
            "hive_column_names": ",".join(names),
            "hive_column_types": join_types([_type(field.type) for field in scan.schema]),
            "data_file_path": table.full(slice_.base.path) if slice_.base else "",
            "data_file_length": str(slice_.base.size_bytes if slice_.base else -1),
            "delta_file_paths": join_names([table.full(log.path) for log in slice_.logs]),
        }
        found += zip(*_columns(connector_scanner("hudi", 1, parameters)), strict=True)
    expected = [tuple(row.values()) for row in scan.to_table().to_pylist()]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    if not name:
        assert sorted(found) == [("a", 2, "x"), ("c", 1, "y"), ("d", 2, "x")]


NESTED = json.loads((GOLDEN / "hudi-nested.json").read_text())
_AT = datetime(2020, 1, 2, 3, 4, 5, 678901)
#: What Spark shows of the tables, by column; a table with Parquet blocks has no NULL in an array.
_SHOWN = {
    "id": [1, 2, 3, 4],
    "s": [
        {"m": Decimal("1.25"), "gone": None, "at": _AT, "raw": b"\0\xff"},
        {"m": Decimal("-1.25"), "gone": None, "at": _AT, "raw": b""},
        dict.fromkeys(("m", "gone", "at", "raw")),
        dict.fromkeys(("m", "gone", "at", "raw")),
    ],
    "l": [[[1, None], None, None], [[2**62]], [], [None]],
    "p": [[("a", _AT), ("b", None)], [("z", None)], [], [("", None)]],
    "ld": [[Decimal("1.500"), None], [Decimal("-0.001")], [], [None]],
    "lt": [[_AT, None], [_AT], [], [None]],
}
_SHOWN_PARQUET = _SHOWN | {
    "l": [[[1, 5], None], [[2**62]], [], []],
    "ld": [[Decimal("1.500")], [Decimal("-0.001")], [], []],
    "lt": [[_AT], [_AT], [], []],
}


def _nested_slice(folder: Path, blocks: str, **changes: str) -> ConnectorScanner:
    with zipfile.ZipFile(GOLDEN / f"hudi-nested-{blocks}.zip") as packed:
        packed.extractall(folder)
    parameters = {
        "hive_column_names": NESTED["names"],
        "hive_column_types": NESTED["types"],
        "required_fields": ",".join(_SHOWN),
        "nested_fields": "s.m,s.gone,s.at,s.raw,l.$0.y",
    }
    return connector_scanner("hudi", 2, _slice_parameters(str(folder)) | parameters | changes)


@pytest.mark.parametrize(("blocks", "shown"), [("avro", _SHOWN), ("parquet", _SHOWN_PARQUET)])
def test_nested_columns_of_a_hudi_slice(tmp_path: Path, blocks: str, shown: Any) -> None:
    """Parts of nested columns come out of base file and logs as Spark shows them."""
    columns = dict(zip(shown, _columns(_nested_slice(tmp_path, blocks)), strict=True))
    columns["l"] = [[e and e["y"] for e in row] if row else row for row in columns["l"]]
    columns["p"] = [[(key, v and v["at"]) for key, v in row] for row in columns["p"]]
    assert columns.keys() == shown.keys()
    order = sorted(range(4), key=columns["id"].__getitem__)
    assert {name: [column[i] for i in order] for name, column in columns.items()} == shown


def test_nested_types_must_be_those_of_the_table(tmp_path: Path) -> None:
    """A field of another type deep inside is as wrong as a column's."""
    types = NESTED["types"].replace("y:array<bigint>", "y:array<int>")
    with pytest.raises(RefusedError, match="column 'l' is array<struct<x:string,y:array<bigint>>>"):
        _nested_slice(tmp_path, "avro", hive_column_types=types)


def _type(data_type: Any) -> ColumnType:
    return parse({"string": "string", "int64": "bigint", "int32": "int"}[str(data_type)])


def test_generated_rows_by_parameters() -> None:
    """The generator takes types, a number of rows and a seed; the same seed, the same rows."""
    parameters = {
        "column_names": "a,m",
        "column_types": "int#map<string,array<decimal(9,2)>>",
        "required_fields": "m,a",
        "rows": "7",
        "seed": "5",
        "null_percent": "50",
    }
    first = _columns(connector_scanner("generator", 3, parameters))
    assert first == _columns(connector_scanner("generator", 3, parameters | {"append": "columns"}))
    assert first != _columns(connector_scanner("generator", 3, parameters | {"seed": "6"}))
    assert [len(column) for column in first] == [7, 7]
    assert (
        connector_scanner("generator", 3, parameters | {"predicate": "a > 1"}).predicate == "a > 1"
    )
    for wrong in ({"append": "window"}, {"rows": "-1"}, {"null_percent": "101"}, {"rows": "x"}):
        with pytest.raises(UsageError):
            connector_scanner("generator", 3, parameters | wrong)


@pytest.mark.parametrize(
    ("column", "items"),
    [
        (ColumnType(Kind.DECIMAL32, 9, 2), [Decimal("-1.25"), None, Decimal("9999999.99")]),
        (ColumnType(Kind.DECIMALV2, 27, 9), [Decimal("1.5E+10"), None, Decimal("-0.000000001")]),
        (ColumnType(Kind.BYTE), [None, None]),
    ],
    ids=str,
)
def test_kinds_that_no_type_string_names(column: ColumnType, items: list[Any]) -> None:
    """A program may ask for them; they are appended as the others are."""
    assert _columns(RowScanner(["c"], [column], [(item,) for item in items])) == [items]


def test_scanners_have_names() -> None:
    """An engine asks by name; the rows of a Python program are not made from texts."""
    assert scanner_class() is scanner_class("rows") is RowScanner
    assert scanner_class("generator") is GeneratorScanner
    with pytest.raises(UsageError, match="'rows' is not made from parameters"):
        connector_scanner("rows", 1, {})
    with pytest.raises(UsageError, match="no connector scanner 'nope'; known: default"):
        connector_scanner("nope", 1, {})
    register("broken", "seamkit.offheap.connector.value:PlainValue")
    with pytest.raises(UsageError, match="is no ConnectorScanner"):
        scanner_class("broken")


def test_lists_read_back_or_are_refused() -> None:
    """Names and types survive their lists; what would not is refused in both directions."""
    columns = {"a": parse("int"), "b c": parse("struct<x:int,y:string>")}
    names, types = join_names(list(columns)), join_types(list(columns.values()))
    assert split_columns(names, types, "columns") == columns
    assert split_columns("", "", "columns") == {}
    for name in ("a,b", "a#b", ""):
        with pytest.raises(UsageError, match="cannot be listed"):
            join_names([name])
    with pytest.raises(UsageError, match="it holds a #"):
        join_types([ColumnType.struct({"a#b": parse("int")})])


@pytest.mark.parametrize(
    ("zone", "moment", "wall"),
    [
        ("UTC", datetime(2024, 7, 1, 12, tzinfo=UTC), datetime(2024, 7, 1, 12)),
        ("Europe/Paris", datetime(2024, 7, 1, 12, tzinfo=UTC), datetime(2024, 7, 1, 14)),
        ("Europe/Paris", datetime(2024, 3, 31, 0, 59, tzinfo=UTC), datetime(2024, 3, 31, 1, 59)),
        ("Europe/Paris", datetime(2024, 3, 31, 1, tzinfo=UTC), datetime(2024, 3, 31, 3)),
        ("Europe/Paris", datetime(2024, 10, 27, 0, 30, tzinfo=UTC), datetime(2024, 10, 27, 2, 30)),
        ("Europe/Paris", datetime(2024, 10, 27, 1, 30, tzinfo=UTC), datetime(2024, 10, 27, 2, 30)),
        ("America/New_York", datetime(1969, 12, 31, 12, tzinfo=UTC), datetime(1969, 12, 31, 7)),
        ("+08:00", datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 8)),
        ("-05:30", datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 18, 30)),
        ("Asia/Shanghai", datetime(2024, 1, 1), datetime(2024, 1, 1)),
    ],
)  # fmt: skip
def test_what_clocks_show(zone: str, moment: datetime, wall: datetime) -> None:
    """A moment is what the zone's clocks show then, summer time included; readings stay."""
    expected = (wall - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert wall_micros(moment, time_zone(zone)) == expected


@pytest.mark.parametrize(
    "name", ["", "CST", "Nowhere/Else", "../etc/passwd", "/etc/localtime", "+25:00", "Europe", "8"]
)
def test_zones_that_are_none_are_refused(name: str) -> None:
    """A name that is no zone is an error, never the machine's own zone."""
    with pytest.raises(UsageError, match="there is no time zone"):
        time_zone(name)


@pytest.mark.parametrize(
    ("text", "items", "expected"),
    [
        ("bigint", [np.int64(5), 7.0, float("nan"), pd.NA, None], [5, 7, None, None, None]),
        ("boolean", [np.bool_(True), pd.NA], [True, None]),
        ("double", [np.float32(1.5), np.nan], [1.5, None]),
        ("string", ["x", pd.NA, np.str_("y")], ["x", None, "y"]),
        ("date", [pd.Timestamp("2024-02-29"), date(2024, 3, 1), pd.NaT],
         [date(2024, 2, 29), date(2024, 3, 1), None]),
        ("timestamp", [pd.Timestamp("2024-01-01 00:00:00.123456789"), pd.NaT],
         [datetime(2024, 1, 1, 0, 0, 0, 123456), None]),
        ("timestamp", [np.datetime64("2024-01-01", "D"), pd.Timestamp("2024-01-01", tz="+08:00")],
         [datetime(2024, 1, 1), datetime(2023, 12, 31, 16)]),
        ("array<int>", [np.array([1, 2]), [np.int32(3), pd.NA], None], [[1, 2], [3, None], None]),
        ("decimal(9,2)", [Decimal("1.5"), pd.NA], [Decimal("1.50"), None]),
    ],
    ids=str,
)  # fmt: skip
def test_pandas_objects(text: str, items: list[Any], expected: list[Any]) -> None:
    """What pandas takes for missing is NULL; numpy's and pandas' objects are what they mean."""

    class Scanner(RowScanner):
        values = PandasValue

    assert _columns(Scanner(["c"], [text], [(item,) for item in items])) == [expected]


@pytest.mark.parametrize(
    ("text", "item"),
    [("bigint", 7.5), ("date", pd.Timestamp("2024-01-01 12:00")), ("decimal(9,2)", np.float64(1))],
    ids=str,
)
def test_pandas_objects_that_would_lose_something(text: str, item: Any) -> None:
    """A fraction or a time of day is not dropped."""

    class Scanner(RowScanner):
        values = PandasValue

    with pytest.raises(InputError, match="row 0, column 'c'"):
        _columns(Scanner(["c"], [text], [(item,)]))


_NESTED = ["int", "string", "array<struct<a:string,b:int>>", "map<string,array<bigint>>"]
_ROWS = [(i, str(i) * 9, [{"a": "x" * i, "b": i}, None], {"k": [i, None]}) for i in range(9)]


def _scanner(allocator: TrackedAllocator) -> RowScanner:
    return RowScanner(list("abcd"), _NESTED, _ROWS, 2, allocator=allocator)


def test_releasing_is_repeatable() -> None:
    """Columns, tables and scanners may be given back any number of times, in any order."""
    scanner = _scanner(TrackedAllocator())
    scanner.release_table()
    scanner.release_column(0)
    scanner.open()
    scanner.get_next_off_heap_chunk()
    for index in (2, 0, 2):
        scanner.release_column(index)
    scanner.release_table()
    scanner.release_table()
    scanner.release_column(1)
    scanner.close()
    scanner.close()
    assert scanner.allocator.counters().live_blocks == 0


@pytest.mark.parametrize("step", ["chunk", "column", "table"])
def test_an_error_at_any_step_releases(step: str) -> None:
    """Whatever an engine was about to do when it failed, leaving the scanner gives all back."""
    scanner = _scanner(TrackedAllocator())
    with suppress(KeyError), scanner:
        scanner.open()
        scanner.get_next_off_heap_chunk()
        if step != "chunk":
            scanner.release_column(1)
        if step == "table":
            scanner.release_table()
        raise KeyError(step)
    assert scanner.allocator.counters().live_blocks == 0


def test_every_allocation_may_fail() -> None:
    """Of nested rows, and of whole columns with parts chosen: an error, and all comes back."""
    names = dict(zip("abcd", map(parse, _NESTED), strict=True))

    def generated(allocator: TrackedAllocator) -> GeneratorScanner:
        options: dict[str, Any] = {"nested": ["c.$0.b", "d.$1"], "append": "columns"}
        return GeneratorScanner(names, 9, 4, **options, allocator=allocator)

    assert bears_failures(lambda allocator: len(_chunks(_scanner(allocator)))) == 5
    assert bears_failures(lambda allocator: len(_chunks(generated(allocator)))) == 3


class _Empties(ConnectorScanner):
    """A source that hands out empty batches on its way, as Arrow streams may."""

    def __init__(self) -> None:
        super().__init__(["c"], [parse("int")], 4)
        sizes = iter([0, 2, 0, 0, 1, 0])
        self._batches: Iterator[pa.RecordBatch] = (
            pa.record_batch({"c": pa.array(range(n), pa.int32())}) for n in sizes
        )

    def open(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""

    def get_next(self) -> int:
        """The next batch that is not empty."""
        return next((n for n in map(self.append_batch, self._batches) if n), 0)


def test_empty_batches_are_read_over() -> None:
    """Zero rows mean the end, so a batch without rows must not become a chunk."""
    assert _columns(_Empties()) == [[0, 1, 0]]


class _Miscounts(_Empties):
    """A scanner that tells something else than it appended."""

    def __init__(self, told: Any) -> None:
        super().__init__()
        self._told = told

    def get_next(self) -> Any:
        """Append one row."""
        self.appenders[0].put(7)
        return self._told


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (None, "get_next tells how many rows it appended, not None"),
        (0, "column 0 has 1 rows, the table states 0"),
        (2, "column 0 has 1 rows, the table states 2"),
        (-1, "-1 rows"),
    ],
)
def test_scanners_that_miscount_are_told(told: Any, reason: str) -> None:
    """What a scanner says is what an engine reads: too few rows would be lost, 0 end the stream."""
    scanner = _Miscounts(told)
    with pytest.raises(UsageError, match=reason):
        scanner.get_next_off_heap_chunk()
    assert scanner.table is None


def test_calls_out_of_turn(parquet: str) -> None:
    """A file that is not open has no end to tell; rows are appended to a chunk."""
    scanner = connector_scanner("parquet", 9, {"data_file_path": parquet, "required_fields": "id"})
    with pytest.raises(UsageError, match="not open"):
        scanner.get_next_off_heap_chunk()
    scanner.open()
    with pytest.raises(UsageError, match="while a chunk is made"):
        scanner.append_batch(pa.record_batch({"id": [1]}))
    scanner.close()
    with pytest.raises(UsageError, match="not open"):
        scanner.get_next_off_heap_chunk()


def test_a_missing_column_has_no_appender() -> None:
    """Items are for the columns that the source has."""
    scanner = RowScanner(["a"], ["int"], [(1,)], required=["gone", "a"])
    with scanner:
        scanner.get_next_off_heap_chunk()
        assert len(scanner.appenders) == 1
        assert scanner.types[0] is UNKNOWN
