"""pyiceberg, by which polars and daft read Iceberg's metadata, too.

A folder without a catalog is opened as pyiceberg's users open it, by `StaticTable.from_metadata`.
"""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import Test, WriterStep
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, import_peer, opened
from seambench_impl.peers.peer_writer import PeerWriter


def static_table(reader: SnapshotReader, request: ScanRequest) -> Any:
    """The table of a folder, by its version hint, or of a metadata file."""
    tables = import_peer("pyiceberg.table", reader.name, "iceberg")
    return tables.StaticTable.from_metadata(request.table, dict(request.storage_options))


class PyicebergReader(SnapshotReader):
    """pyiceberg: `table.scan(...).to_arrow()`."""

    name = "pyiceberg"
    package = "pyiceberg"
    extra = "peers"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del module  # imported before its parts
        table = static_table(self, request)

        def read(names: list[str]) -> pa.Table:
            return table.scan(snapshot_id=snapshot, selected_fields=tuple(names)).to_arrow()

        columns = table.scan(snapshot_id=snapshot).projection().as_arrow()
        return opened(columns, read)


class PyicebergWriter(PeerWriter):
    """pyiceberg over a catalog in SQLite.

    Its catalog, beside the table, names metadata files, and only it knows the newest. After each
    step that one is there by a number, too, and named in the version hint, as tables without a
    catalog have it.
    """

    name = package = "pyiceberg"
    format = "iceberg"
    more = ("keys", "partitions")

    def __init__(self) -> None:
        super().__init__()
        self.table: Any = None

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        steps: dict[str, Callable[[WriterStep], None]] = {
            "create": self.create,
            "open": self.take_up,
            "append": lambda step: self.table.append(step.rows, branch=step.name or "main"),
            "overwrite": lambda step: self.table.overwrite(step.rows),
            "delete": lambda step: self.table.delete(_expression(step.where)),
            "upsert": lambda step: self.table.upsert(step.rows, join_cols=list(step.keys)),
            "expire": lambda _: (
                self.table.maintenance.expire_snapshots()
                .older_than(dt.datetime.now(dt.UTC))
                .commit()
            ),
            "tag": lambda step: self._name("create_tag", step),
            "branch": lambda step: self._name("create_branch", step),
            "add-partition-field": lambda step: self._partition("add_identity", step),
            "drop-partition-field": lambda step: self._partition("remove_field", step),
            **dict.fromkeys(
                ("add-column", "drop-column", "rename-column", "widen-column"), self._evolve
            ),
        }
        return steps

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        super().step(step)
        self.publish(step.table)

    def _catalog(self, table: Path) -> Any:
        catalogs = import_peer("pyiceberg.catalog.sql", self.name, "iceberg")
        address = f"sqlite:///{table}-catalog.db"
        return catalogs.SqlCatalog("c", uri=address, warehouse=str(table.parent))

    def take_up(self, step: WriterStep) -> None:
        """Load the table by its catalog."""
        self.table = self._catalog(step.table).load_table("n.t")

    def create(self, step: WriterStep) -> None:
        """Make the table, in a catalog of its own."""
        catalog = self._catalog(step.table)
        catalog.create_namespace("n")
        self.table = catalog.create_table(
            "n.t", step.rows.schema, location=str(step.table), properties=dict(step.properties)
        )
        if step.partitions:
            with self.table.update_spec() as spec:
                for column in step.partitions:
                    spec.add_identity(column)

    def publish(self, table: Path) -> None:
        """Give the newest metadata file by the catalog the name that it has without one."""
        newest = Path(self.table.metadata_location.removeprefix("file://"))
        number = int(newest.name.partition("-")[0]) + 1
        shutil.copyfile(newest, newest.with_name(f"v{number}.metadata.json"))
        (table / "metadata" / "version-hint.text").write_text(str(number))

    def _name(self, how: str, step: WriterStep) -> None:
        newest = self.table.current_snapshot().snapshot_id
        getattr(self.table.manage_snapshots(), how)(newest, step.name).commit()

    def _partition(self, how: str, step: WriterStep) -> None:
        with self.table.update_spec() as spec:
            getattr(spec, how)(step.column)

    def _evolve(self, step: WriterStep) -> None:
        with self.table.update_schema() as schema:
            match step.do:
                case "add-column":
                    schema.union_by_name(pa.schema([pa.field(step.column, step.type)]))
                case "drop-column":
                    schema.delete_column(step.column)
                case "rename-column":
                    schema.rename_column(step.column, step.to)
                case _:
                    schema.update_column(step.column, field_type=_iceberg_type(step))


class OverPyiceberg(PeerWriter):
    """A writer of rows by another library, over a table that pyiceberg makes."""

    format = "iceberg"
    more = ("partitions",)

    def __init__(self) -> None:
        self._below = PyicebergWriter()
        super().__init__()

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        return {
            "create": self._below.create,
            "open": self._below.take_up,
            **dict.fromkeys(
                ("append", "overwrite"), lambda step: self.write(step, self._below.table)
            ),
        }

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        super().step(step)
        self._below.publish(step.table)

    def _write(self, step: WriterStep) -> None:
        self.write(step, self._below.table)

    def write(self, step: WriterStep, table: Any) -> None:
        """Append the rows of a step, or put them in place of all others."""
        raise NotImplementedError


def _expression(where: Sequence[Test]) -> Any:
    """Tests as a filter of Iceberg, where a null is another than any value: SQL leaves it out."""
    of = import_peer("pyiceberg.expressions", "pyiceberg", "iceberg")
    made = {
        "=": of.EqualTo,
        "<>": of.NotEqualTo,
        "<": of.LessThan,
        "<=": of.LessThanOrEqual,
        ">": of.GreaterThan,
        ">=": of.GreaterThanOrEqual,
        "in": of.In,
    }
    whole = of.AlwaysTrue()
    for column, how, value in where:
        whole = of.And(whole, of.IsNull(column) if how == "null" else made[how](column, value))
        if how == "<>":
            whole = of.And(whole, of.NotNull(column))
    return whole


def _iceberg_type(step: WriterStep) -> Any:
    converted = import_peer("pyiceberg.io.pyarrow", "pyiceberg", "iceberg")
    one = pa.schema([pa.field("x", step.type, metadata={"PARQUET:field_id": "1"})])
    return converted.pyarrow_to_schema(one).fields[0].field_type
