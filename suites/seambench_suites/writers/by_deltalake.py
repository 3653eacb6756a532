"""Delta tables that deltalake (delta-rs) writes, confirmed by Polars' reader."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa

from seambench.formats.arrow_rows import arrow_rows
from seambench_suites.writers.keeping import Recipe, Row, carry_out
from seambench_suites.writers.sample import (
    EDGES,
    EDGES_NOTE,
    HOLES,
    TYPES,
    WALL,
    keep_types,
    rows_of_edges,
    rows_with_holes,
    sample,
)

TITLE = f"deltalake {deltalake.__version__}"


def by_polars(path: Path, version: str) -> pa.Table:
    """What Polars reads of a version: its own Parquet reader over deltalake's log."""
    return pl.scan_delta(str(path), version=int(version)).collect().to_arrow()


def table(name: str, note: str, columns: Mapping[str, str], **declared: Any) -> Recipe:
    """A recipe of this writer."""
    second = {f"Polars {pl.__version__}": by_polars}
    return Recipe("delta", "deltalake", TITLE, name, note, columns, second, declared)


def append(at: Recipe, rows: Sequence[Row], said: str, **options: Any) -> int:
    """Write rows, and note it; the number of the step."""
    columns = {name: kind for name, kind in at.columns.items() if any(name in row for row in rows)}
    options = {"mode": "append"} | options
    deltalake.write_deltalake(str(at.path), arrow_rows(rows, columns, WALL), **options)
    return commit(at, said)


def commit(at: Recipe, said: str) -> int:
    """Note a commit; the number of the step."""
    return at.step(said, deltalake.DeltaTable(str(at.path)).version())


def types() -> None:
    """Every flat type, and nesting, in one table."""
    at = table("types", "flat and nested types, nulls and edges", TYPES)
    keep_types(at, partial(append, at), sample())


def edges() -> None:
    """Values that change where they pass through another type."""
    # Its bounds of decimals beyond 64 bits are wrong.
    columns = {name: kind for name, kind in EDGES.items() if name != "n"}
    at = table("edges", EDGES_NOTE, columns)
    append(at, rows_of_edges(), "append six rows")
    at.ask("newest", rows_of_edges())
    at.keep()


def holes() -> None:
    """Nulls in arrays, maps and structs, at every depth."""
    at = table("holes", "nulls in arrays, maps and structs, at every depth", {"k": "int", **HOLES})
    rows = [{"k": k} | row for k, row in enumerate(rows_with_holes())]
    append(at, rows[:1], "append a row")
    append(at, rows[1:], "append three rows")
    at.ask("newest", rows)
    at.ask("first", rows[:1], step=1)
    at.keep()


def partitioned() -> None:
    """Partitions of texts, numbers and dates: null, empty, with signs that addresses escape."""
    columns = {"k": "int", "p": "string", "n": "bigint", "d": "date", "v": "string"}
    note = "partitions by text, number and date, null and with signs that are escaped"
    at = table("partitioned", note, columns, partition=["p", "n", "d"])
    day = dt.date(2024, 2, 29)
    rows: list[Row] = [
        {"k": 1, "p": "a", "n": 1, "d": day, "v": "x"},
        {"k": 2, "p": "b c/d=%20+&?#:é", "n": -1, "d": dt.date(1969, 12, 31), "v": None},
        {"k": 3, "p": None, "n": None, "d": None, "v": "z"},
        {"k": 4, "p": "a", "n": 1, "d": day, "v": "y"},
    ]
    by = ["p", "n", "d"]
    append(at, rows[:3], "append three rows by p, n, d", partition_by=by)
    append(at, rows[3:], "append a row to a partition")
    before = at_rows = list(rows)
    step = commit_delete(at, "p = 'a' AND k = 1", "delete k = 1 of a partition")
    at_rows = [row for row in before if row["k"] != 1]
    at.ask("deleted", at_rows, step=step)
    deltalake.DeltaTable(str(at.path)).delete("p IS NULL")
    commit(at, "delete a partition")
    at_rows = [row for row in at_rows if row["p"] is not None]
    new = {"k": 5, "p": "a", "n": 1, "d": day, "v": "new"}
    append(at, [new], "overwrite where p = 'a'", mode="overwrite", predicate="p = 'a'")
    at.ask("before", before, step=2)
    at.ask("newest", [*[row for row in at_rows if row["p"] != "a"], new])
    at.keep()


def signs() -> None:
    """Partitions of floats and doubles that equal each other and are not the same."""
    columns = {"k": "int", "f": "float", "d": "double"}
    note = "partitions of zeros with both signs, NaN and infinities"
    at = table("signs", note, columns, partition=["f", "d"])
    by = ["f", "d"]
    pairs = [(0.0, -0.0), (-0.0, 0.0), (0.0, 0.0), (math.nan, -math.inf), (math.inf, math.nan)]
    rows: list[Row] = [{"k": k, "f": f, "d": d} for k, (f, d) in enumerate(pairs)]
    append(at, rows[:2], "append two rows by f, d", partition_by=by)
    append(at, rows[2:], "append three rows", partition_by=by)
    at.ask("newest", rows)
    at.ask("zeros", rows[:3], where="f = 0")
    at.keep()


def digits() -> None:
    """Partitions of decimals that have as many digits as there are."""
    columns = {"k": "int", "p": "decimal(38,38)", "w": "decimal(38,0)"}
    at = table("digits", "partitions of decimals of 38 digits", columns, partition=["p", "w"])
    by = ["p", "w"]
    full = {"p": Decimal(f"0.0{'123456789' * 4}7"), "w": Decimal(f"{'123456789' * 4}01")}
    rows: list[Row] = [{"k": 1} | full, {"k": 2, "p": None, "w": None}]
    append(at, rows, "append two rows by p, w", partition_by=by)
    at.ask("newest", rows)
    at.keep()


def commit_delete(at: Recipe, where: str, said: str) -> int:
    """Delete rows by a condition."""
    deltalake.DeltaTable(str(at.path)).delete(where)
    return commit(at, said)


def merged() -> None:
    """Rows merged, updated and deleted, and the table restored."""
    columns = {"k": "bigint", "v": "string", "n": "decimal(9,2)", "t": "timestamp"}
    at = table("merged", "rows merged, updated, deleted and restored", columns)
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    rows: list[Row] = [
        {"k": k, "v": f"v{k}", "n": Decimal(k).scaleb(-2).quantize(Decimal("0.01")), "t": moment}
        for k in range(1, 9)
    ]
    append(at, rows, "append k = 1 to 8")
    source: list[Row] = [
        {"k": 2, "v": "merged", "n": Decimal("2.50"), "t": None},
        {"k": 3, "v": "gone", "n": None, "t": None},
        {"k": 9, "v": "inserted", "n": Decimal("-9.99"), "t": moment},
    ]
    handle = deltalake.DeltaTable(str(at.path))
    merging = handle.merge(arrow_rows(source, columns), "t.k = s.k", "s", "t")
    merging.when_matched_delete(
        "s.v = 'gone'"
    ).when_matched_update_all().when_not_matched_insert_all().when_not_matched_by_source_update(
        {"v": "'unmet'"}, "t.k > 6"
    ).execute()
    step = commit(at, "merge: update k = 2, delete k = 3, insert k = 9, update unmet k > 6")
    by_key = {row["k"]: dict(row) for row in rows}
    by_key[2], by_key[9] = source[0], source[2]
    del by_key[3]
    for k in (7, 8):
        by_key[k]["v"] = "unmet"
    at.ask("merged", list(by_key.values()), step=step)
    deltalake.DeltaTable(str(at.path)).update({"n": "n + 1"}, predicate="k < 3")
    step = commit(at, "update n = n + 1 where k < 3")
    updated = {k: dict(row) for k, row in by_key.items()}
    for k in (1, 2):
        updated[k]["n"] += 1
    at.ask("updated", list(updated.values()), step=step)
    step = commit_delete(at, "v = 'unmet' OR t IS NULL", "delete the unmet and those without t")
    left = [row for row in updated.values() if row["v"] != "unmet" and row["t"] is not None]
    at.ask("deleted", left, step=step)
    deltalake.DeltaTable(str(at.path)).restore(2 - 1)
    commit(at, "restore what the merge left")
    at.ask("newest", list(by_key.values()))
    at.keep()


def evolved() -> None:
    """Columns added by writing, the schema replaced, columns added by alter."""
    columns = {"k": "bigint", "w": "double", "new": "array<string>", "late": "date"}
    at = table("evolved", "columns added, a schema replaced, a column added without rows", columns)
    first: list[Row] = [{"k": 1, "v": 1}, {"k": 2, "v": None}]
    was = {"k": "bigint", "v": "int"}
    deltalake.write_deltalake(str(at.path), arrow_rows(first, was))
    step = commit(at, "append k, v: int")
    at.ask("first", first, step=step, columns=was)
    second: list[Row] = [{"k": 3, "v": 3, "new": ["a", "b"]}, {"k": 4, "v": 4, "new": None}]
    then = {**was, "new": "array<string>"}
    deltalake.write_deltalake(
        str(at.path), arrow_rows(second, then), mode="append", schema_mode="merge"
    )
    step = commit(at, "append with a new column")
    at.ask("added", [*first, *second], step=step, columns=then)
    third: list[Row] = [{"k": 5, "w": 5.5, "new": []}]
    wide = {"k": "bigint", "w": "double", "new": "array<string>"}
    whole: dict[str, Any] = {"mode": "overwrite", "schema_mode": "overwrite"}
    deltalake.write_deltalake(str(at.path), arrow_rows(third, wide), **whole)
    step = commit(at, "overwrite with w in place of v")
    at.ask("overwritten", third, step=step, columns=wide)
    handle = deltalake.DeltaTable(str(at.path))
    handle.alter.add_columns([deltalake.Field("late", deltalake.schema.PrimitiveType("date"))])
    commit(at, "add a column")
    append(at, [{"k": 6, "w": -0.0, "new": ["c"], "late": dt.date(2024, 1, 1)}], "append a row")
    at.ask("newest", [*third, {"k": 6, "w": -0.0, "new": ["c"], "late": dt.date(2024, 1, 1)}])
    at.keep()


def optimized() -> None:
    """Small files put together, ordered by Z, a checkpoint, the log before it cleaned away."""
    columns = {"k": "int", "x": "int", "y": "int", "p": "string"}
    note = "files compacted and Z-ordered, a checkpoint, older log files gone"
    at = table("optimized", note, columns, partition=["p"])
    rows: list[Row] = [
        {"k": k, "x": k * 7 % 10, "y": k * 3 % 10, "p": "ab"[k % 2]} for k in range(10)
    ]
    for k in range(0, 10, 2):
        append(at, rows[k : k + 2], f"append k = {k}, {k + 1}", partition_by=["p"])
    deltalake.DeltaTable(str(at.path)).optimize.compact()
    commit(at, "compact")
    append(at, [{"k": 10, "x": 1, "y": 2, "p": "a"}], "append k = 10")
    rows.append({"k": 10, "x": 1, "y": 2, "p": "a"})
    deltalake.DeltaTable(str(at.path)).create_checkpoint()
    handle = deltalake.DeltaTable(str(at.path))
    handle.optimize.z_order(["x", "y"])
    step = commit(at, "checkpoint, then order by Z of x, y")
    at.ask("ordered", rows, step=step)
    commit_delete(at, "x > 5", "delete x > 5")
    at.ask("newest", [row for row in rows if row["x"] <= 5])
    handle = deltalake.DeltaTable(str(at.path))
    for old in range(3):
        (at.path / "_delta_log" / f"{old:020}.json").unlink()
    at.keep()


if __name__ == "__main__":
    carry_out(types, edges, holes, partitioned, signs, digits, merged, evolved, optimized)
