"""Paimon tables that pypaimon writes, confirmed by its own reader.

pypaimon asks for another pyarrow than the rest: the recipe runs in an environment of its own, with
`harness`, `impl` and `suites` on its path. Paimon's Java core confirms the cases afterwards, as the
implementation `paimon-java`; that it did is added to the origin by hand.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from seambench.formats.arrow_rows import arrow_rows
from seambench_suites.writers.keeping import Recipe, Row, carry_out
from seambench_suites.writers.sample import (
    EDGES,
    EDGES_NOTE,
    FLAT,
    NESTED,
    keep_types,
    rows_of_edges,
    sample,
)

TITLE = f"pypaimon {version('pypaimon')}"


def by_itself(path: Path, snapshot: str) -> pa.Table:
    """What pypaimon reads of a snapshot."""
    catalogue = CatalogFactory.create({"warehouse": str(path.parent.parent)})
    name = f"{path.parent.name.removesuffix('.db')}.{path.name}"
    table = catalogue.get_table(name).copy({"scan.snapshot-id": snapshot})
    builder = table.new_read_builder()
    return builder.new_read().to_arrow(builder.new_scan().plan().splits())


class Making(Recipe):
    """A table that pypaimon writes."""

    def __init__(
        self,
        name: str,
        note: str,
        columns: Mapping[str, str],
        first: Mapping[str, str],
        partition: Sequence[str] = (),
        keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        **declared: Any,
    ) -> None:
        if partition:
            declared["partition"] = list(partition)
        super().__init__("paimon", "pypaimon", TITLE, name, note, columns, {}, declared)
        self.warehouse = Path(tempfile.gettempdir()) / "golden-pypaimon"
        shutil.rmtree(self.warehouse, ignore_errors=True)
        self.catalogue = CatalogFactory.create({"warehouse": str(self.warehouse)})
        self.catalogue.create_database("d", True)
        schema = Schema.from_pyarrow_schema(
            arrow_rows([], first).schema,
            partition_keys=list(partition),
            primary_keys=list(keys),
            options=dict(options or {}),
        )
        self.catalogue.create_table("d.t", schema, False)
        self.step("create the table")

    @property
    def place(self) -> Path:
        """Where the table lies."""
        return self.warehouse / "d.db" / "t"

    def write(
        self, rows: Sequence[Row], columns: Mapping[str, str], said: str, overwrite: Any = None
    ) -> int:
        """Write rows; the number of the step."""
        builder = self.catalogue.get_table("d.t").new_batch_write_builder()
        if overwrite is not None:
            builder = builder.overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(arrow_rows(rows, columns))
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()
        snapshots = (self.place / "snapshot").glob("snapshot-*")
        return self.step(said, max(int(one.name.partition("-")[2]) for one in snapshots))

    def keep(self) -> None:
        """Confirm where the table lies, and keep it."""
        self.second = {TITLE: lambda _, snapshot: by_itself(self.place, snapshot)}
        shutil.copytree(self.place, self.path)
        super().keep()


def types() -> None:
    """Flat and nested types in an append-only table."""
    columns = {"k": "int", **FLAT, **NESTED}
    made = Making("types", "flat and nested types, nulls and edges", columns, columns)
    rows = [{"k": n} | row for n, row in enumerate(sample({**FLAT, **NESTED}))]
    keep_types(made, lambda some, said: made.write(some, columns, said), rows)


def edges() -> None:
    """Values that change where they pass through another type."""
    made = Making("edges", EDGES_NOTE, EDGES, EDGES)
    made.write(rows_of_edges(), EDGES, "append six rows")
    made.ask("newest", rows_of_edges())
    made.keep()


def keyed() -> None:
    """Rows upserted by key, in partitions."""
    columns = {"p": "string", "k": "bigint", "v": "string", "n": "decimal(9,2)"}
    made = Making(
        "keyed",
        "rows upserted by key in partitions",
        columns,
        columns,
        ["p"],
        ["p", "k"],
        {"bucket": "2"},
        features=["merge.deduplicate"],
    )
    rows: list[Row] = [{"p": "ab"[k % 2], "k": k, "v": f"v{k}", "n": None} for k in range(8)]
    step = made.write(rows, columns, "write k = 0 to 7")
    made.ask("first", rows, step=step)
    new: list[Row] = [
        {"p": "a", "k": 2, "v": None, "n": None},
        {"p": "b", "k": 3, "v": "new", "n": None},
        {"p": "c d=%", "k": 9, "v": "", "n": None},
    ]
    made.write(new, columns, "upsert k = 2, 3, 9")
    merged = {(row["p"], row["k"]): row for row in rows + new}
    made.ask("newest", list(merged.values()))
    made.keep()


def retracted() -> None:
    """Rows that a field makes deletes: manifests state none of them."""
    columns = {"k": "bigint", "v": "string", "rk": "string"}
    options = {"bucket": "1", "rowkind.field": "rk"}
    made = Making(
        "retracted",
        "deletes by a field that tells kinds of rows, which manifests do not count",
        columns,
        columns,
        keys=["k"],
        options=options,
        features=["merge.deduplicate"],
    )
    rows: list[Row] = [{"k": k, "v": f"v{k}", "rk": "+I"} for k in range(4)]
    step = made.write(rows, columns, "insert k = 0 to 3")
    made.ask("first", rows, step=step)
    gone: list[Row] = [{"k": 1, "v": "v1", "rk": "-D"}, {"k": 2, "v": "v2", "rk": "-U"}]
    step = made.write(gone, columns, "take k = 1, 2 back")
    made.ask("gone", [rows[0], rows[3]], step=step)
    again: list[Row] = [{"k": 2, "v": "new", "rk": "+U"}, {"k": 9, "v": "no", "rk": "-D"}]
    made.write(again, columns, "update k = 2, delete k = 9, which never was")
    made.ask("newest", [rows[0], again[0], rows[3]])
    made.keep()


def evolved() -> None:
    """Columns added, renamed, dropped; a partition overwritten."""
    first = {"k": "int", "v": "string", "p": "int"}
    columns = {"k": "int", "w": "string", "p": "int", "late": "double"}
    made = Making(
        "evolved",
        "columns renamed and added, a partition overwritten",
        columns,
        first,
        ["p"],
        features=["paimon.evolution"],
    )
    made.write([{"k": 1, "v": "a", "p": 1}, {"k": 2, "v": None, "p": 2}], first, "append")
    changes = [
        SchemaChange.rename_column("v", "w"),
        SchemaChange.add_column("late", AtomicType("DOUBLE")),
    ]
    made.catalogue.alter_table("d.t", changes, False)
    made.step("rename v to w, add late", 1)
    made.write([{"k": 3, "w": "c", "p": 3, "late": 0.5}], columns, "append with late")
    over: list[Row] = [{"k": 4, "w": "o", "p": 1, "late": None}]
    made.write(over, columns, "overwrite p = 1", {"p": 1})
    kept: list[Row] = [
        {"k": 2, "w": None, "p": 2, "late": None},
        {"k": 3, "w": "c", "p": 3, "late": 0.5},
    ]
    made.ask("newest", [*kept, *over])
    made.keep()


if __name__ == "__main__":
    carry_out(types, edges, keyed, retracted, evolved)
