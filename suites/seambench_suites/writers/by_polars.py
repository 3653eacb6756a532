"""Delta tables that Polars writes, confirmed by deltalake's own reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import deltalake
import polars as pl
import pyarrow as pa

from seambench.formats.arrow_rows import arrow_rows
from seambench_suites.writers.keeping import Recipe, Row, carry_out
from seambench_suites.writers.sample import FLAT, NESTED, sample

TITLE = f"Polars {pl.__version__} over deltalake {deltalake.__version__}"
#: What Polars has: no maps, and moments that lose no digit.
COLUMNS = {**FLAT, **{name: kind for name, kind in NESTED.items() if not kind.startswith("map")}}


def by_deltalake(path: Path, version: str) -> pa.Table:
    """What deltalake reads of a version."""
    found = deltalake.DeltaTable(str(path), version=int(version)).to_pyarrow_table()
    assert isinstance(found, pa.Table)
    return found


def table(name: str, note: str, columns: Mapping[str, str], **declared: Any) -> Recipe:
    """A recipe of this writer."""
    second = {f"deltalake {deltalake.__version__}": by_deltalake}
    return Recipe("delta", "polars", TITLE, name, note, columns, second, declared)


def frame(rows: Sequence[Row], columns: Mapping[str, str]) -> pl.DataFrame:
    """Rows as a frame."""
    made = pl.from_arrow(arrow_rows(rows, columns))
    assert isinstance(made, pl.DataFrame)
    return made


def commit(at: Recipe, said: str) -> int:
    """Note a commit; the number of the step."""
    return at.step(said, deltalake.DeltaTable(str(at.path)).version())


def types() -> None:
    """Every type that Polars has, nested ones too."""
    at = table("types", "flat and nested types, nulls and edges", COLUMNS)
    rows = sample(COLUMNS)
    frame(rows[:2], COLUMNS).write_delta(str(at.path))
    commit(at, "write_delta of two rows")
    frame(rows[2:], COLUMNS).write_delta(str(at.path), mode="append")
    commit(at, "append a row of nulls")
    at.ask("newest", rows)
    at.ask("first", rows[:2], step=1)
    at.keep()


def partitioned() -> None:
    """A partitioned table, appended to and overwritten in part."""
    columns = {"k": "bigint", "p": "string", "n": "int", "v": "string"}
    note = "partitions by text and number, null and with signs that are escaped"
    at = table("partitioned", note, columns, partition=["p", "n"])
    rows: list[Row] = [
        {"k": 1, "p": "a", "n": 1, "v": "x"},
        {"k": 2, "p": "b c/d=%20+&?#:é", "n": -1, "v": None},
        {"k": 3, "p": None, "n": None, "v": "z"},
    ]
    options: dict[str, Any] = {"delta_write_options": {"partition_by": ["p", "n"]}}
    frame(rows, columns).write_delta(str(at.path), **options)
    commit(at, "write_delta of three rows by p, n")
    at.ask("first", rows, step=1)
    new: list[Row] = [{"k": 4, "p": "a", "n": 1, "v": ""}]
    frame(new, columns).lazy().sink_delta(str(at.path), mode="append", **options)
    commit(at, "sink_delta of a lazy frame")
    at.ask("newest", [*rows, *new])
    at.keep()


def merged() -> None:
    """Rows merged by key, and the schema then replaced."""
    columns = {"k": "bigint", "v": "float", "late": "array<string>"}
    at = table("merged", "rows merged by key, and the schema widened by a column", columns)
    was = {"k": "bigint", "v": "float"}
    rows: list[Row] = [{"k": k, "v": k / 4} for k in range(6)]
    frame(rows, was).write_delta(str(at.path))
    commit(at, "write_delta of k = 0 to 5")
    source: list[Row] = [{"k": 1, "v": -1.0}, {"k": 9, "v": None}]
    merging = frame(source, was).write_delta(
        str(at.path),
        mode="merge",
        delta_merge_options={"predicate": "s.k = t.k", "source_alias": "s", "target_alias": "t"},
    )
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    step = commit(at, "merge: update k = 1, insert k = 9")
    now = [row for row in rows if row["k"] != 1] + source
    at.ask("merged", now, step=step, columns=was)
    new: list[Row] = [{"k": 10, "v": 0.5, "late": ["a", ""]}]
    frame(new, columns).write_delta(
        str(at.path), mode="append", delta_write_options={"schema_mode": "merge"}
    )
    commit(at, "append with a new column")
    at.ask("newest", now + new)
    at.keep()


if __name__ == "__main__":
    carry_out(types, partitioned, merged)
