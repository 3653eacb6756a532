"""Iceberg tables that pyiceberg writes, confirmed by Polars' own reader.

pyiceberg's catalogue names metadata files as catalogues do, and then only it knows the newest. The
archive names each `vN.metadata.json`, as tables without a catalogue are kept; no byte is changed.
"""

from __future__ import annotations

import datetime as dt
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyiceberg
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo, GreaterThan
from pyiceberg.table import StaticTable, Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TruncateTransform,
)
from pyiceberg.types import DoubleType, LongType, StringType

from seambench.formats.arrow_rows import arrow_rows
from seambench_suites.writers.iceberg_programs import number_metadata
from seambench_suites.writers.keeping import Recipe, Row, carry_out
from seambench_suites.writers.sample import (
    EDGES,
    EDGES_NOTE,
    FLAT,
    HOLES,
    NESTED,
    TYPES,
    WALL,
    keep_types,
    rows_of_edges,
    rows_with_holes,
    sample,
)

TITLE = f"pyiceberg {pyiceberg.__version__}"


def by_polars(path: Path, snapshot: str) -> pa.Table:
    """What Polars' own reader reads of a snapshot."""
    newest = max(path.glob("metadata/v*.metadata.json"), key=_number)
    lazy = pl.scan_iceberg(str(newest), snapshot_id=int(snapshot), reader_override="native")
    return lazy.collect().to_arrow()


def by_polars_in_bytes(path: Path, snapshot: str) -> pa.Table:
    """The same of a table with UUIDs, which are bytes to Polars: `u`, and in the lists `lu`."""
    found = by_polars(path, snapshot)
    for name, stored, kind in (
        ("u", pa.binary(16), pa.uuid()),
        ("lu", pa.list_(pa.binary(16)), pa.list_(pa.uuid())),
    ):
        at = found.schema.get_field_index(name)
        found = found.set_column(at, name, found.column(at).cast(stored).cast(kind))
    return found


def by_itself(path: Path, snapshot: str) -> pa.Table:
    """What pyiceberg reads of a snapshot."""
    newest = max(path.glob("metadata/v*.metadata.json"), key=_number)
    found = StaticTable.from_metadata(str(newest)).scan(snapshot_id=int(snapshot)).to_arrow()
    assert isinstance(found, pa.Table)
    return found


def _number(file: Path) -> int:
    return int(file.name.removeprefix("v").partition(".")[0])


class Making(Recipe):
    """A table that pyiceberg writes."""

    def __init__(
        self,
        name: str,
        note: str,
        columns: Mapping[str, str],
        *,
        version: str = "2",
        first: Mapping[str, str] | None = None,
        **declared: Any,
    ) -> None:
        declared = {"features": [f"iceberg.v{version}"]} | declared
        second = {f"Polars {pl.__version__}": by_polars, TITLE: by_itself}
        super().__init__("iceberg", "pyiceberg", TITLE, name, note, columns, second, declared)
        work = Path(tempfile.mkdtemp(prefix="pyiceberg-"))
        self.catalogue = SqlCatalog("c", uri=f"sqlite:///{work}/c.db", warehouse=str(work))
        self.catalogue.create_namespace("n")
        self.table: Table = self.catalogue.create_table(
            "n.t",
            schema=arrow_rows([], first or columns, WALL).schema,
            location=str(self.path),
            properties={"format-version": version},
        )
        self.step("create the table")

    def done(self, said: str) -> int:
        """Note a commit; the number of the step."""
        current = self.table.current_snapshot()
        return self.step(said, current.snapshot_id if current else "")

    def append(
        self, rows: Sequence[Row], said: str, columns: Mapping[str, str] | None = None
    ) -> int:
        """Append rows."""
        self.table.append(arrow_rows(rows, columns or self.columns, WALL))
        return self.done(said)

    def keep(self) -> None:
        """Name the metadata files by number, and keep all."""
        number_metadata(self.path / "metadata")
        super().keep()


def types() -> None:
    """Every flat type, and nesting."""
    made = Making("types", "flat and nested types, nulls and edges", TYPES)
    rows = sample()
    rows[2]["ls"] = []  # so pyiceberg 0.12.0 writes a null list of structs
    keep_types(made, made.append, rows)


def edges() -> None:
    """Values that change where they pass through another type."""
    made = Making("edges", EDGES_NOTE, EDGES)
    made.append(rows_of_edges(), "append six rows")
    made.ask("newest", rows_of_edges())
    made.keep()


def holes() -> None:
    """Nulls in arrays, maps and structs, at every depth; times of the day."""
    columns = {"k": "int", "t": "time", "lt": "array<time>"}
    note = "nulls in arrays, maps and structs, at every depth; times of the day"
    made = Making("holes", note, {**columns, **{f"{n}_": kind for n, kind in HOLES.items()}})
    day = [dt.time(0), dt.time(23, 59, 59, 999999), dt.time(12, 34, 56), None]
    rows: list[Row] = [
        {"k": k, "t": day[k], "lt": [day[k], None]}
        | {f"{name}_": value for name, value in row.items()}
        for k, row in enumerate(rows_with_holes())
    ]
    # So pyiceberg 0.12.0 writes null lists and maps of structs.
    rows[3] |= {"lt": None, "ls_": [], "ms_": {}}
    step = made.append(rows[:1], "append a row")
    made.append(rows[1:], "append three rows")
    made.ask("newest", rows)
    made.ask("first", rows[:1], step=step)
    made.keep()


def uuids() -> None:
    """UUIDs, by themselves and in lists."""
    made = Making("uuids", "UUIDs, also in lists", {"k": "int", "u": "uuid", "lu": "array<uuid>"})
    made.second = {f"Polars {pl.__version__}": by_polars_in_bytes, TITLE: by_itself}
    ids = [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.UUID(bytes=bytes(range(16))), None]
    rows: list[Row] = [{"k": k, "u": own, "lu": [None, own]} for k, own in enumerate(ids)]
    rows.append({"k": 4, "u": None, "lu": None})
    step = made.append(rows[:2], "append two rows")
    made.append(rows[2:], "append three rows")
    made.ask("newest", rows)
    made.ask("first", rows[:2], step=step)
    made.keep()


def changed() -> None:
    """Rows appended, deleted by condition, overwritten, upserted."""
    columns = {"k": "bigint", "v": "string", "n": "decimal(9,2)"}
    made = Making("changed", "rows deleted, overwritten and upserted by copying files", columns)
    rows: list[Row] = [{"k": k, "v": f"v{k}", "n": Decimal(f"{k}.50")} for k in range(6)]
    step = made.append(rows, "append k = 0 to 5")
    made.ask("first", rows, step=step)
    made.append([{"k": 6, "v": None, "n": None}], "append k = 6")
    rows.append({"k": 6, "v": None, "n": None})
    made.table.delete("k = 2 or v is null")
    step = made.done("delete k = 2 and rows without v")
    rows = [row for row in rows if row["k"] not in (2, 6)]
    made.ask("deleted", rows, step=step)
    new: list[Row] = [{"k": 5, "v": "over", "n": Decimal("-1.00")}]
    made.table.overwrite(arrow_rows(new, columns), overwrite_filter=GreaterThan("k", 3))
    step = made.done("overwrite where k > 3")
    rows = [row for row in rows if row["k"] <= 3] + new
    made.ask("overwritten", rows, step=step)
    source: list[Row] = [
        {"k": 1, "v": "up", "n": None},
        {"k": 7, "v": "", "n": Decimal("0.00")},
    ]
    made.table.upsert(arrow_rows(source, columns), join_cols=["k"])
    made.done("upsert k = 1, k = 7")
    made.ask("newest", [row for row in rows if row["k"] != 1] + source)
    made.keep()


def evolved() -> None:
    """Columns added, renamed, moved, dropped, widened, within a struct, too."""
    first = {"k": "int", "s": "struct<a:int,b:string>", "gone": "string", "old": "float"}
    columns = {"k": "bigint", "s": "struct<a:bigint,c:string>", "new": "double", "late": "string"}
    made = Making(
        "evolved", "columns renamed, widened, moved, dropped and added", columns, first=first
    )
    rows: list[Row] = [
        {"k": 1, "s": {"a": 1, "b": "x"}, "gone": "g", "old": 0.5},
        {"k": 2, "s": None, "gone": None, "old": None},
    ]
    made.append(rows, "append with k, s.a: int, gone, old: float", first)
    with made.table.update_schema(allow_incompatible_changes=True) as update:
        update.update_column("k", LongType())
        update.update_column(("s", "a"), LongType())
        update.rename_column("s.b", "c")
        update.rename_column("old", "new")
        update.delete_column("gone")
    with made.table.update_schema() as update:
        update.update_column("new", DoubleType())
        update.add_column("late", StringType())
    made.done("widen k, s.a, rename s.b to c, old to new: double, drop gone, add late")
    now: list[Row] = [
        {"k": 1, "s": {"a": 1, "c": "x"}, "new": 0.5, "late": None},
        {"k": 2, "s": None, "new": None, "late": None},
    ]
    more: list[Row] = [{"k": 2**40, "s": {"a": 2**40, "c": None}, "new": 0.1, "late": "z"}]
    made.append(more, "append with the new schema")
    made.ask("newest", now + more)
    made.keep()


def partitioned() -> None:
    """Partitions by identity, day, bucket and prefix, and another layout later."""
    columns = {"k": "bigint", "p": "string", "t": "timestamp", "v": "string"}
    note = "partitions by value, day, bucket and prefix, laid out anew later"
    made = Making("partitioned", note, columns)
    with made.table.update_spec() as update:
        update.add_field("p", IdentityTransform())
        update.add_field("t", DayTransform())
        update.add_field("k", BucketTransform(2))
    rows: list[Row] = [
        {"k": 1, "p": "a", "t": dt.datetime(2024, 2, 29, 23, 59, tzinfo=dt.UTC), "v": "xyz"},
        {
            "k": 2,
            "p": "b c/d=%20+&?#:é",
            "t": dt.datetime(1969, 12, 31, 23, tzinfo=dt.UTC),
            "v": "",
        },
        {"k": 3, "p": None, "t": None, "v": None},
    ]
    step = made.append(rows, "append by p, day of t, bucket of k")
    made.ask("first", rows, step=step)
    with made.table.update_spec() as update:
        update.remove_field("p")
        update.add_field("v", TruncateTransform(2))
    new: list[Row] = [
        {"k": 4, "p": "a", "t": dt.datetime(2024, 3, 1, tzinfo=dt.UTC), "v": "xyq"},
        {"k": 5, "p": "b", "t": None, "v": "漢字かな"},
    ]
    made.append(new, "lay out by day, bucket, prefix of v; append")
    made.table.delete(EqualTo("p", "a"))
    made.done("delete where p = 'a'")
    made.ask("newest", [row for row in rows + new if row["p"] != "a"])
    made.ask("laid-out-anew", rows + new, step=3)
    made.keep()


def truncated() -> None:
    """Ints near the least one, truncated in 32 bits, that become longs."""
    columns = {"k": "bigint", "i": "int"}
    note = "partitions by truncated ints near -2^31, widened later"
    made = Making("truncated", note, columns, first={"k": "int", "i": "int"})
    with made.table.update_spec() as update:
        update.add_field("k", TruncateTransform(10))
    least = -(2**31)
    rows: list[Row] = [{"k": k, "i": i} for i, k in enumerate((least, least + 1, -5, 2**31 - 1))]
    made.append(rows, "append ints by truncate[10]", {"k": "int", "i": "int"})
    with made.table.update_schema() as update:
        update.update_column("k", LongType())
    made.done("widen k")
    rows += [{"k": least, "i": 4}, {"k": 2**40, "i": 5}]
    made.append(rows[4:], "append longs")
    made.ask("newest", rows)
    made.ask("least", [rows[0], rows[4]], where=f"k = {least}")
    made.ask("below", [rows[0], rows[1], rows[4]], where="k < -10")
    made.keep()


def decimals() -> None:
    """Decimals of 38 digits in ranges of files, and as partitions."""
    columns = {"k": "int", "p": "decimal(38,3)", "n": "decimal(38,10)"}
    made = Making("decimals", "decimals of 38 digits in ranges, and as partitions", columns)
    with made.table.update_spec() as update:
        update.add_identity("p")
    whole = "12345678901234567890123456789012345"
    rows: list[Row] = [
        {"k": k, "p": p and Decimal(p), "n": n and Decimal(n)}
        for k, (p, n) in enumerate(
            [
                (f"{whole}.671", "1234567890123456789012345678.9012345649"),
                (f"{whole}.674", "-1234567890123456789012345678.9012345651"),
                (f"-{whole}.676", "9999999999999999999999999999.9999999999"),
                ("9" * 35 + ".999", "-9999999999999999999999999999.9999999999"),
                ("0.001", None),
                (None, "1.0000000001"),
            ]
        )
    ]
    made.append(rows[:2], "append two rows")
    made.append(rows[2:], "append four rows")
    made.ask("newest", rows)
    made.ask("partition", rows[:1], where=f"p = {whole}.671")
    made.ask("range", rows[:1], where="n = 1234567890123456789012345678.9012345649")
    made.keep()


def replaced() -> None:
    """Partitions replaced by those that came, and a branch."""
    columns = {"k": "int", "p": "string"}
    made = Making("replaced", "partitions replaced by those that were written", columns)
    with made.table.update_spec() as update:
        update.add_identity("p")
    rows: list[Row] = [{"k": 1, "p": "a"}, {"k": 2, "p": "b"}, {"k": 3, "p": None}]
    made.append(rows, "append a, b and null")
    new: list[Row] = [{"k": 4, "p": "a"}, {"k": 5, "p": None}]
    made.table.dynamic_partition_overwrite(arrow_rows(new, columns))
    made.done("overwrite the partitions a and null")
    made.ask("newest", [rows[1], *new])
    made.ask("first", rows, step=2)
    made.keep()


def sunk() -> None:
    """Rows that Polars sinks into a table of this catalogue, by partitions and over others."""
    kept = {name: kind for name, kind in NESTED.items() if name in ("li", "st", "ll", "sl")}
    columns = {"p": "string", **FLAT, **kept}
    made = Making("sunk", "files that Polars writes, committed by pyiceberg", columns)
    with made.table.update_spec() as update:
        update.add_identity("p")
    pairs = zip(("a", "b", None), sample({**FLAT, **kept}), strict=True)
    rows: list[Row] = [{"p": p} | row for p, row in pairs]
    _sink(made, rows, mode="append")
    step = made.done("sink_iceberg of three rows, by p")
    made.ask("first", rows, step=step)
    new = [rows[0] | {"i": 7}]
    _sink(made, new, mode="overwrite", overwrite_filter=EqualTo("p", "a"))
    made.done("sink_iceberg over p = 'a'")
    made.ask("newest", rows[1:] + new)
    made.keep()


def _sink(made: Making, rows: Sequence[Row], **how: Any) -> None:
    frame = pl.from_arrow(arrow_rows(rows, made.columns))
    assert isinstance(frame, pl.DataFrame)
    frame.lazy().sink_iceberg(made.table, **how)
    made.table.refresh()


if __name__ == "__main__":
    carry_out(
        *(types, edges, holes, uuids, changed, evolved, partitioned, truncated),
        *(decimals, replaced, sunk),
    )
