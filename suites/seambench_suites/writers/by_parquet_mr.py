"""Hive tables of Parquet files that parquet-mr writes, by several of its versions; it needs Maven.

A program is built out of the folder beside this module. It writes groups of values in Parquet's
physical types, so one logical type comes in each form that it may have.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.arrow_rows import arrow_rows
from seambench_suites.writers.by_parquet import (
    COLUMNS,
    DUCKDB,
    MOMENTS,
    Table,
    by_duckdb,
    sample_rows,
)
from seambench_suites.writers.iceberg_programs import built
from seambench_suites.writers.keeping import Row, Second, carry_out
from seambench_suites.writers.physical import EPOCH, Physical
from seambench_suites.writers.sample import HOLES, rows_with_holes

_NEWEST = "1.16.0"


@cache
def _program(version: str) -> list[str]:
    """What starts the program with a version of parquet-mr; it is compiled against the newest."""
    copy = ["mvn", "-q", "dependency:copy-dependencies", f"-Dparquet.version={version}"]
    built("parquet_mr", [*copy, f"-DoutputDirectory=jars-{version}"], "")
    folder = built("parquet_mr", ["mvn", "-q", "compile"], "")
    return ["java", "-cp", f"{folder}/target/classes:{folder}/jars-{version}/*", "ParquetMr"]


def by_pyarrow(columns: Mapping[str, str]) -> dict[str, Second]:
    """What Arrow's reader makes of all files, each in the table's types."""
    schema = arrow_rows([], columns).schema

    def read(path: Path, _: str) -> pa.Table:
        files = [
            pq.read_table(file, coerce_int96_timestamp_unit="us") for file in path.glob("*.parquet")
        ]
        return pa.concat_tables(file.select(schema.names).cast(schema) for file in files)

    return {f"pyarrow {pa.__version__}": read}


def by_duckdb_named(columns: Mapping[str, str]) -> dict[str, Second]:
    """What DuckDB's reader makes of all files, fields of structs in the table's order."""
    schema = arrow_rows([], columns, MOMENTS).schema

    def read(path: Path, step: str) -> pa.Table:
        with duckdb.connect() as connection:
            connection.register("found", by_duckdb(path, step).select(schema.names))
            connection.register("empty", schema.empty_table())
            connection.execute("CREATE TABLE given AS FROM empty")
            connection.execute("INSERT INTO given BY NAME FROM found")
            return connection.table("given").to_arrow_table()

    return dict.fromkeys(DUCKDB, read)


class Making(Table):
    """A Hive table whose files parquet-mr writes."""

    def __init__(
        self,
        name: str,
        note: str,
        columns: Mapping[str, str],
        version: str,
        second: Mapping[str, Second] = DUCKDB,
        **declared: Any,
    ) -> None:
        title = f"parquet-mr {version}"
        super().__init__(
            "parquet-mr", title, name, note, columns, second,
            "seambench_suites.writers.by_parquet_mr", **declared,
        )  # fmt: skip
        self._version = version

    def write(
        self,
        rows: Sequence[Row],
        said: str,
        *calls: Sequence[Any],
        physical: Physical | None = None,
        columns: Mapping[str, str] | None = None,
        properties: Sequence[Sequence[Any]] = (),
    ) -> None:
        """Write a file of rows of one partition in a step.

        `calls` are of the writer's builder: names and arguments, `properties` those of the builder
        that it hides. Columns are those that the file has, where they are others.
        """
        form = physical or Physical()
        partition = self.declared.get("partition", [])
        own = {one: kind for one, kind in (columns or self.columns).items() if one not in partition}
        rows = [form.kept(row) for row in rows]
        folders = [f"{one}={quote(str(rows[0][one]), safe='')}" for one in partition]
        number = len(self.steps) + 1
        request = {
            "path": str(self.path.joinpath(*folders) / f"{number}.parquet"),
            "schema": f"message m {{ {' '.join(form.field(*one) for one in own.items())} }}",
            "rows": [{n: form.value(row.get(n), k) for n, k in own.items()} for row in rows],
            "calls": calls,
            "properties": properties,
        }
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(request, file)
            file.flush()
            subprocess.run([*_program(self._version), file.name], check=True)
        self.done(rows, said)


#: Row groups and pages of few rows, as each version spells it.
_SMALL = [["withRowGroupRowCountLimit", 2], ["withPageRowCountLimit", 1]]
_SMALL_BEFORE = [
    ["withRowGroupSize", 1],
    ["withMinRowCountForPageSizeCheck", 1],
    ["withMaxRowCountForPageSizeCheck", 2],
    ["withPageRowCountLimit", 1],
]
_SECOND = ["withWriterVersion", "PARQUET_2_0"]
_NO_DICTIONARY = ["withDictionaryEncoding", False]


def _codec(name: str) -> list[Any]:
    return ["withCompressionCodec", name]


def _thrice(first: int) -> list[Row]:
    """Rows that come thrice each, as dictionaries are written for alone, then texts that do not."""
    rows = [row for row in sample_rows(first) for _ in range(3)][:12]
    rows += [rows[0] | {"s": f"a longer text, the {n}th of its kind"} for n in range(5)]
    return [row | {"k": first + n // 2} for n, row in enumerate(rows)]


def encodings() -> None:
    """Every encoding and codec, in row groups and pages of few rows."""
    note = "encodings, codecs, versions of pages, Bloom filters, row groups and pages of few rows"
    made = Making("encodings", note, COLUMNS, _NEWEST, by_pyarrow(COLUMNS))
    small = [["withRowGroupRowCountLimit", 7], ["withPageRowCountLimit", 3]]
    made.write(_thrice(0), "dictionaries, pages of version 1, snappy", *small, _codec("SNAPPY"))
    made.write(
        sample_rows(10),
        "plain, Bloom filters, checksums, gzip",
        *_SMALL,
        _NO_DICTIONARY,
        ["withBloomFilterEnabled", True],
        ["withMaxBloomFilterBytes", 32],
        ["withPageWriteChecksumEnabled", True],
        _codec("GZIP"),
        physical=Physical("MILLIS", "int", "three", "map"),
    )
    made.write(
        sample_rows(20),
        "pages of version 2 with delta encodings, zstd",
        *_SMALL,
        _SECOND,
        _NO_DICTIONARY,
        _codec("ZSTD"),
        physical=Physical("NANOS", "int"),
    )
    made.write(
        _thrice(30),
        "pages of version 2 with dictionaries, some of which fall back, LZ4_RAW",
        _SECOND,
        ["withDictionaryPageSize", 64],
        ["withPageRowCountLimit", 3],
        _codec("LZ4_RAW"),
        physical=Physical(decimals="binary"),
    )
    made.write(
        sample_rows(40),
        "streams of bytes split, texts by lengths, no statistics",
        *_SMALL,
        _SECOND,
        ["withByteStreamSplitEncoding", True],
        _NO_DICTIONARY,
        ["withStatisticsEnabled", False],
        properties=[["withValuesWriterFactory", "Lengths"]],
    )
    made.write(
        sample_rows(50),
        "whole numbers and fixed bytes split, too",
        _NO_DICTIONARY,
        properties=[["withExtendedByteStreamSplitEncoding", True]],
        physical=Physical(decimals="int"),
    )
    made.write(
        sample_rows(60),
        "INT96, lists in Hive's words, no compression",
        physical=Physical("INT96", "fixed", "hive", "map"),
    )
    made.write(
        sample_rows(70),
        "lists of two levels",
        *_SMALL,
        physical=Physical("MILLIS", "binary", "two"),
    )
    made.keep()


def holes() -> None:
    """Nulls at every depth, in both versions of pages."""
    note = "nulls at every depth of lists, maps and structs, in pages of few values"
    made = Making("holes", note, {"k": "bigint", **HOLES}, "1.13.1")
    ways: Sequence[tuple[str, list[list[Any]], Physical]] = (
        ("pages of version 1", [], Physical()),
        ("pages of version 2, Hive's words", [_SECOND, _NO_DICTIONARY], Physical(lists="hive")),
        ("streams of bytes split", [["withByteStreamSplitEncoding", True]], Physical(maps="map")),
    )
    for at, (said, calls, physical) in enumerate(ways):
        rows = [{"k": 10 * at + n} | row for n, row in enumerate(rows_with_holes())]
        made.write(rows, said, *_SMALL_BEFORE, *calls, _codec("GZIP"), physical=physical)
    made.keep()


def evolved() -> None:
    """Partitions, and columns that older files have otherwise or not at all."""
    note = "partitions whose older files have narrower types, fewer fields and another order"
    columns = {
        "k": "bigint",
        "d": "double",
        "s": "string",
        "n": "decimal(18,2)",
        "st": "struct<a:bigint,b:string,c:date>",
        "ls": "array<struct<a:bigint,b:string>>",
        "added": "timestamp",
        "p": "string",
    }
    before = {
        "gone": "string",
        "ls": "array<struct<b:string>>",
        "s": "string",
        "st": "struct<c:date,a:int>",
        "d": "float",
        "k": "int",
        "n": "decimal(9,2)",
        "p": "string",
    }
    made = Making("evolved", note, columns, "1.13.1", by_duckdb_named(columns), partition=["p"])
    day = dt.date(2024, 2, 29)
    now = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    for at, place in enumerate(("x", "a b/c")):
        rows: list[Row] = [
            {"k": at, "d": 1.5, "s": "old", "n": Decimal("-1.25"), "st": {"a": 1, "c": day}},
            {"k": 10 + at, "ls": [{"b": "q"}, {"b": None}], "d": -0.0},
        ]
        rows = [row | {"p": place} for row in rows]
        made.write(rows, "older columns", *_SMALL_BEFORE, columns=before)
    rows = [
        {"k": 2**40, "d": 1e300, "s": "new", "n": Decimal("1234567890.12"), "added": now},
        {"k": 21, "st": {"a": 2**40, "b": "b"}, "ls": [{"a": 1, "b": "r"}], "added": None},
    ]
    made.write([row | {"p": "x"} for row in rows], "newer columns", _SECOND)
    made.keep()


def before() -> None:
    """Statistics of a version that compared bytes with signs: of texts, and of whole decimals."""
    note = "bounds of texts and decimals by signed bytes, which rule nothing out"
    columns = {"k": "bigint", "s": "string", "n": "decimal(38,10)", "ts": "timestamp"}
    made = Making("before", note, columns, "1.9.0")
    texts = ["é", "z", "a", "漢", "", None]
    numbers = (1, 128, 200, -1, -129, 255)  # of which the last byte is what differs
    rows: list[Row] = [
        {
            "k": n,
            "s": texts[n],
            "n": Decimal(number).scaleb(-10),
            "ts": EPOCH + dt.timedelta(days=n - 3),
        }
        for n, number in enumerate(numbers)
    ]
    for half in (rows[:3], rows[3:]):
        made.write(half, "three rows", physical=Physical("INT96"))
    asks = {
        "s = 'é'": [0],
        "s > 'y'": [0, 1, 3],
        "s < 'b'": [2, 4],
        "n = 0.0000000200": [2],
        "n > 0.0000000100": [1, 2, 5],
        "n < 0.0000000002": [0, 3, 4],
        "ts >= TIMESTAMP '1970-01-01 00:00:00'": [3, 4, 5],
    }
    for n, (where, keys) in enumerate(asks.items()):
        made.ask(f"where-{n}", [rows[k] for k in keys], where=where)
    made.keep()


def keys() -> None:
    """Maps whose keys may be null by their schema, and are not, as Flink and Presto had them."""
    note = "maps whose keys are optional, which Parquet does not allow and engines read"
    columns = {
        "k": "bigint",
        "m": "map<string,bigint>",
        "s": "map<string,struct<a:bigint,l:array<string>>>",
        "l": "array<map<string,date>>",
        "st": "struct<m:map<string,decimal(9,2)>>",
    }
    made = Making("keys", note, columns, "1.13.1")
    rows: list[Row] = [
        {
            "k": 0,
            "m": {"x": 1, "y": None, "": -3},
            "s": {"é": {"a": 1, "l": ["p", None]}, "z": None},
            "l": [{"d": dt.date(2024, 2, 29)}, {}, None],
            "st": {"m": {"n": Decimal("-1.25")}},
        },
        {"k": 1},
        {"k": 2, "m": {}, "s": {}, "l": [], "st": {}},
    ]
    for at, (said, calls, maps) in enumerate(
        [("pages of version 1", [], "key_value"), ("of version 2, other names", [_SECOND], "map")]
    ):
        own = [row | {"k": 10 * at + row["k"]} for row in rows]
        form = Physical(maps=maps, keys="optional")
        made.write(own, said, *_SMALL_BEFORE, *calls, _codec("ZSTD"), physical=form)
    made.keep()


if __name__ == "__main__":
    carry_out(encodings, holes, evolved, before, keys)
