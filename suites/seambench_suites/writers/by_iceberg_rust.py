"""Iceberg tables that iceberg-rust writes, confirmed by Spark and others; it needs Rust's tools."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from seambench_suites.writers.by_iceberg_go import ALL, POLARS
from seambench_suites.writers.iceberg_programs import Making, Program, built
from seambench_suites.writers.keeping import Row, carry_out
from seambench_suites.writers.sample import TYPES, keep_types, sample

BUILD = ["cargo", "build", "--locked"]


@cache
def program() -> Program:
    """The program, built."""
    path = built("rust", BUILD, "target/debug/iceberg")
    module = "seambench_suites.writers.by_iceberg_rust"
    return Program("iceberg-rust", "iceberg-rust 0.10.1", path, module)


def begin(made: Making, fields: Sequence[Mapping[str, Any]] = ()) -> Making:
    """Create the table, partitioned by some fields."""
    create: dict[str, Any] = {"schema": made.schema, "version": made.version}
    if fields:
        create["spec"] = {"fields": list(fields)}
    made.do("create the table", create=create)
    return made


def types() -> None:
    """Every flat type, and nesting."""
    # pyiceberg 0.12.0 reads a null list of structs as an empty one.
    note = "flat and nested types, nulls and edges"
    made = begin(Making(program(), "types", note, TYPES, POLARS))
    keep_types(made, made.append, sample())


def partitioned() -> None:
    """Partitions by value, day, bucket and prefix."""
    columns = {"k": "bigint", "p": "string", "t": "timestamp", "v": "string"}
    note = "partitions by value, day, bucket and prefix"
    fields = [
        {"source-id": 2, "name": "p", "transform": "identity"},
        {"source-id": 3, "name": "t_day", "transform": "day"},
        {"source-id": 1, "name": "k_bucket", "transform": "bucket[2]"},
        {"source-id": 4, "name": "v_trunc", "transform": "truncate[2]"},
    ]
    made = begin(Making(program(), "partitioned", note, columns, ALL), fields)
    before = dt.datetime(1969, 12, 31, 23, tzinfo=dt.UTC)
    rows: list[Row] = [
        {"k": 1, "p": "a", "t": dt.datetime(2024, 2, 29, 23, 59, tzinfo=dt.UTC), "v": "xyz"},
        {"k": 2, "p": "b c/d=%20+&?#:é", "t": before, "v": "漢字かな"},
        {"k": 3, "p": None, "t": None, "v": None},
    ]
    step = made.append(rows, "append three rows")
    made.ask("first", rows, step=step)
    new: list[Row] = [{"k": 4, "p": "a", "t": before, "v": ""}]
    made.append(new, "append a row")
    made.ask("newest", rows + new)
    made.keep()


def evolved() -> None:
    """Columns added and dropped, within a struct, too; version 3, with ids of rows."""
    first = {"k": "int", "s": "struct<a:int,b:string>", "gone": "string"}
    columns = {"k": "int", "s": "struct<a:int,b:string,c:double>", "gone": "bigint"}
    note = "columns dropped and added anew under their names, in version 3"
    made = begin(Making(program(), "evolved", note, columns, POLARS, first=first, version=3))
    rows: list[Row] = [
        {"k": 1, "s": {"a": 1, "b": "x"}, "gone": "g"},
        {"k": 2, "s": None, "gone": None},
    ]
    made.append(rows, "append with k, s.a, s.b, gone: string", first)
    made.do("drop gone", schema=[{"drop": "gone"}])
    made.do(
        "add s.c, and another column named gone",
        schema=[
            {"add": {"parent": "s", "name": "c", "type": "double"}},
            {"add": {"name": "gone", "type": "long"}},
        ],
    )
    now: list[Row] = [
        {"k": 1, "s": {"a": 1, "b": "x", "c": None}, "gone": None},
        {"k": 2, "s": None, "gone": None},
    ]
    more: list[Row] = [{"k": 3, "s": {"a": None, "b": None, "c": 0.5}, "gone": 2**40}]
    made.append(more, "append with the new schema")
    made.ask("newest", now + more)
    made.keep()


if __name__ == "__main__":
    carry_out(types, partitioned, evolved)
