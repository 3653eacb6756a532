"""Iceberg tables that iceberg-go writes, confirmed by Spark and Polars; it needs a Go toolchain."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import polars as pl

from seambench_suites.writers.by_pyiceberg import TITLE as PYICEBERG
from seambench_suites.writers.by_pyiceberg import by_itself, by_polars
from seambench_suites.writers.iceberg_programs import Making, Program, built, by_spark
from seambench_suites.writers.keeping import Row, Second, carry_out
from seambench_suites.writers.sample import TYPES, keep_types, sample

SPARK: Mapping[str, Second] = {"Spark 3.5.9 with Iceberg 1.10.0": by_spark}
POLARS: Mapping[str, Second] = {**SPARK, f"Polars {pl.__version__}": by_polars}
ALL: Mapping[str, Second] = {**POLARS, PYICEBERG: by_itself}


@cache
def program() -> Program:
    """The program, built."""
    path = built("iceberg_go", ["go", "build", "-o", "writer", "."], "writer")
    return Program("iceberg-go", "iceberg-go 0.7.0", path, "seambench_suites.writers.by_iceberg_go")


def begin(made: Making, **properties: str) -> Making:
    """Create the table; statements about how it is written go into its properties."""
    properties["format-version"] = str(made.version)
    made.do("create the table", create={"schema": made.schema, "properties": properties})
    return made


def equal(column: str, value: Any) -> dict[str, Any]:
    """The condition that a column has a value, in Iceberg's JSON."""
    return {"type": "eq", "term": column, "value": value}


def types() -> None:
    """Every flat type, and nesting."""
    # pyiceberg 0.12.0 reads a null list of structs as an empty one.
    note = "flat and nested types, nulls and edges"
    made = begin(Making(program(), "types", note, TYPES, POLARS))
    keep_types(made, made.append, sample())


def rewritten() -> None:
    """Rows deleted and overwritten by copying files."""
    columns = {"k": "bigint", "v": "string", "n": "decimal(9,2)"}
    note = "rows deleted and overwritten by copying files"
    made = begin(Making(program(), "rewritten", note, columns, ALL))
    rows: list[Row] = [{"k": k, "v": f"v{k}", "n": Decimal(f"{k}.50")} for k in range(6)]
    step = made.append(rows, "append k = 0 to 5")
    made.ask("first", rows, step=step)
    step = made.do("delete k = 2", delete=equal("k", 2))
    rows = [row for row in rows if row["k"] != 2]
    made.ask("deleted", rows, step=step)
    new: list[Row] = [{"k": 5, "v": None, "n": Decimal("-1.00")}, {"k": 9, "v": "", "n": None}]
    where = {"type": "gt", "term": "k", "value": 3}
    made.do("overwrite where k > 3", overwrite={"where": where, "rows": made.rows(new)})
    made.ask("newest", [row for row in rows if row["k"] <= 3] + new)
    made.keep()


def positions() -> None:
    """Rows deleted by position delete files."""
    _merged_on_read("positions", "rows deleted by position delete files", 2)


def vectors() -> None:
    """Rows deleted by deletion vectors."""
    _merged_on_read("vectors", "rows deleted by deletion vectors, one over another", 3)


def _merged_on_read(name: str, note: str, version: int) -> None:
    columns = {"k": "bigint", "p": "string", "v": "double"}
    made = Making(program(), name, note, columns, SPARK, version=version)
    begin(made, **{"write.delete.mode": "merge-on-read"})
    made.do("partition by p", spec=[{"add": "p", "transform": "identity"}])
    rows: list[Row] = [
        {"k": k, "p": "ab"[k % 2] if k else None, "v": k / 4 if k % 3 else None} for k in range(9)
    ]
    made.append(rows, "append k = 0 to 8")
    step = made.do("delete k = 3", delete=equal("k", 3))
    rows = [row for row in rows if row["k"] != 3]
    made.ask("deleted", rows, step=step)
    where = {"type": "in", "term": "k", "values": [1, 4, 8]}
    made.do("delete k = 1, 4, 8", delete=where)
    rows = [row for row in rows if row["k"] not in (1, 4, 8)]
    new: list[Row] = [{"k": 4, "p": "a", "v": 0.125}]
    made.append(new, "append k = 4")
    made.ask("newest", rows + new)
    made.keep()


def upserted() -> None:
    """Equality deletes, of a partition and of several columns, beside new rows."""
    columns = {"k": "bigint", "p": "string", "v": "string"}
    note = "rows replaced by equality deletes in partitions"
    made = begin(Making(program(), "upserted", note, columns, SPARK))
    made.do("partition by p", spec=[{"add": "p", "transform": "identity"}])
    rows: list[Row] = [{"k": k, "p": "ab"[k % 2], "v": f"v{k}"} for k in range(6)]
    made.append(rows, "append k = 0 to 5")
    keys = {"k": "bigint", "p": "string"}
    gone: list[Row] = [{"k": 1, "p": "b"}, {"k": 2, "p": "b"}, {"k": 4, "p": "a"}]
    new: list[Row] = [{"k": 1, "p": "b", "v": "new"}, {"k": 6, "p": "a", "v": None}]
    step = made.do(
        "delete (1, b), (2, b), (4, a) by k and p, insert (1, b), (6, a)",
        delta={"keys": made.rows(gone, keys), "ids": [1, 2], "rows": made.rows(new)},
    )
    rows = [row for row in rows if (row["k"], row["p"]) not in ((1, "b"), (4, "a"))] + new
    made.ask("upserted", rows, step=step)
    more: list[Row] = [{"v": None, "p": "a"}, {"v": "v0", "p": "a"}, {"v": "v3", "p": "a"}]
    made.do(
        "delete v = null, v0 and v3 in partition a by v",
        delta={"keys": made.rows(more, {"v": "string", "p": "string"}), "ids": [3]},
    )
    made.ask("newest", [r for r in rows if r["p"] != "a" or r["v"] not in (None, "v0", "v3")])
    made.keep()


def evolved() -> None:
    """Columns added, renamed, dropped, widened, within a struct, too."""
    first = {"k": "int", "s": "struct<a:int,b:string>", "gone": "string", "old": "float"}
    columns = {"k": "bigint", "s": "struct<a:bigint,c:string>", "new": "double", "late": "string"}
    note = "columns renamed, widened, dropped and added"
    made = begin(Making(program(), "evolved", note, columns, ALL, first=first))
    rows: list[Row] = [
        {"k": 1, "s": {"a": 1, "b": "x"}, "gone": "g", "old": 0.5},
        {"k": 2, "s": None, "gone": None, "old": None},
    ]
    made.append(rows, "append with k, s.a: int, gone, old: float", first)
    changes: list[dict[str, Any]] = [
        {"path": ["k"], "widen": _field("long")},
        {"path": ["s", "a"], "widen": _field("long")},
        {"path": ["old"], "widen": _field("double")},
        {"path": ["gone"], "drop": True},
        {"path": ["late"], "add": _field("string")},
    ]
    made.do("widen k, s.a, old to double, drop gone, add late", schema=changes)
    names = [{"path": ["s", "b"], "rename": "c"}, {"path": ["old"], "rename": "new"}]
    made.do("rename s.b to c, old to new", schema=names)
    now: list[Row] = [
        {"k": 1, "s": {"a": 1, "c": "x"}, "new": 0.5, "late": None},
        {"k": 2, "s": None, "new": None, "late": None},
    ]
    more: list[Row] = [{"k": 2**40, "s": {"a": 2**40, "c": None}, "new": 0.1, "late": "z"}]
    made.append(more, "append with the new schema")
    made.ask("newest", now + more)
    made.keep()


def _field(kind: str) -> dict[str, Any]:
    return {"id": 0, "name": "its", "type": kind, "required": False}


def partitioned() -> None:
    """Partitions by value, time, bucket and prefix, and another layout later."""
    columns = {"k": "bigint", "p": "string", "t": "timestamp", "v": "string"}
    note = "partitions by value, hour, bucket and prefix, laid out anew later"
    made = begin(Making(program(), "partitioned", note, columns, ALL))
    made.do(
        "partition by p, hour of t, bucket of k",
        spec=[
            {"add": "p", "transform": "identity"},
            {"add": "t", "transform": "hour"},
            {"add": "k", "transform": "bucket[2]"},
        ],
    )
    signs = "b c/d=%20+&?#:é"
    before = dt.datetime(1969, 12, 31, 23, 30, tzinfo=dt.UTC)
    rows: list[Row] = [
        {"k": 1, "p": "a", "t": dt.datetime(2024, 2, 29, 23, 59, tzinfo=dt.UTC), "v": "xyz"},
        {"k": 2, "p": signs, "t": before, "v": ""},
        {"k": 3, "p": None, "t": None, "v": None},
    ]
    step = made.append(rows, "append three rows")
    made.ask("first", rows, step=step)
    made.do(
        "lay out by hour, bucket, prefix of v",
        spec=[{"remove": "p"}, {"add": "v", "transform": "truncate[2]"}],
    )
    new: list[Row] = [
        {"k": 4, "p": "a", "t": dt.datetime(2024, 3, 1, tzinfo=dt.UTC), "v": "xyq"},
        {"k": 5, "p": "b", "t": None, "v": "漢字かな"},
    ]
    made.append(new, "append two rows")
    made.do("delete where p = 'a'", delete=equal("p", "a"))
    made.ask("newest", [row for row in rows + new if row["p"] != "a"])
    made.keep()


if __name__ == "__main__":
    carry_out(types, rewritten, positions, vectors, upserted, evolved, partitioned)
