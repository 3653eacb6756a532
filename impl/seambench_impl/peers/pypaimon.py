"""pypaimon (PyPI `pypaimon`): Paimon's own implementation in Python, over a catalog of files."""

from __future__ import annotations

import importlib
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import WriterStep
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, opened
from seambench_impl.peers.peer_writer import PeerWriter, WriterElsewhere


class PyPaimonReader(SnapshotReader):
    """pypaimon as its users call it: catalog, table, read builder, plan, Arrow."""

    name = "pypaimon"
    package = "pypaimon"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        if snapshot is not None and "as-of" not in self.capabilities:
            raise RefusedError(f"{self.name} {self.version} takes no number of a snapshot")
        warehouse = tempfile.TemporaryDirectory(prefix="seambench-")
        table = _opened(module, Path(warehouse.name), request.table, snapshot)

        def read(names: list[str]) -> pa.Table:
            builder = table.new_read_builder().with_projection(names)
            splits = builder.new_scan().plan().splits()
            return builder.new_read().to_arrow(splits)

        weakref.finalize(read, warehouse.cleanup)
        return opened(table.new_read_builder().new_read().to_arrow([]).schema, read)


def _opened(module: Any, warehouse: Path, folder: str, snapshot: int | None) -> Any:
    """The table by a link to its folder in a warehouse, which must stay while it is read."""
    database = warehouse / "default.db"
    database.mkdir()
    (database / "table").symlink_to(Path(folder).absolute())
    table = module.CatalogFactory.create({"warehouse": str(warehouse)}).get_table("default.table")
    return table if snapshot is None else table.copy({"scan.snapshot-id": str(snapshot)})


class PyPaimonSteps(PeerWriter):
    """pypaimon as a writer, where it is installed."""

    name = package = "pypaimon"
    extra = None
    format = "paimon"
    more = ("keys", "partitions")

    def __init__(self) -> None:
        super().__init__()
        self._warehouse = tempfile.TemporaryDirectory(prefix="seambench-")

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does; rows of tables with keys are replaced by key."""
        return {
            "create": self._create,
            "open": self._take_up,
            "append": lambda step: self._write(step, None),
            "upsert": lambda step: self._write(step, None),
            "overwrite": lambda step: self._write(step, {}),
            "tag": lambda step: self._catalog().create_tag("default.table", step.name),
            **dict.fromkeys(("add-column", "drop-column", "rename-column"), self._evolve),
        }

    def _catalog(self) -> Any:
        factory = importlib.import_module("pypaimon").CatalogFactory
        return factory.create({"warehouse": self._warehouse.name})

    def _create(self, step: WriterStep) -> None:
        schemas = importlib.import_module("pypaimon")
        step.table.mkdir(parents=True)
        self._link(step)
        keys = list(dict.fromkeys((*step.partitions, *step.keys))) if step.keys else []
        options = ({"bucket": "2"} if step.keys else {}) | dict(step.properties)
        fields = [field.with_nullable(field.name not in keys) for field in step.rows.schema]
        schema = schemas.Schema.from_pyarrow_schema(
            pa.schema(fields),
            partition_keys=list(step.partitions),
            primary_keys=keys,
            options=options,
        )
        self._catalog().create_table("default.table", schema, False)

    def _link(self, step: WriterStep) -> None:
        """Let the catalog know the folder."""
        link = Path(self._warehouse.name) / "default.db" / "table"
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(step.table.absolute(), target_is_directory=True)

    def _take_up(self, step: WriterStep) -> None:
        self._link(step)
        self.taken_up = self._catalog().get_table("default.table")

    def _write(self, step: WriterStep, overwrite: Mapping[str, str] | None) -> None:
        # By itself an overwrite takes the rows of those partitions alone that new rows are in.
        table = self.state(lambda: self._catalog().get_table("default.table"))
        table = table.copy({"dynamic-partition-overwrite": "false"})
        builder = table.new_batch_write_builder()
        builder = builder if overwrite is None else builder.overwrite(overwrite)
        write, commit = builder.new_write(), builder.new_commit()
        try:
            write.write_arrow(step.rows)
            commit.commit(write.prepare_commit())
        finally:
            write.close()
            commit.close()

    def _evolve(self, step: WriterStep) -> None:
        changes = importlib.import_module("pypaimon.schema.schema_change").SchemaChange
        types = importlib.import_module("pypaimon.schema.data_types").PyarrowFieldParser
        match step.do:
            case "add-column":
                change = changes.add_column(
                    step.column, types.to_paimon_type(step.type, nullable=True)
                )
            case "drop-column":
                change = changes.drop_column(step.column)
            case _:
                change = changes.rename_column(step.column, step.to)
        self._catalog().alter_table("default.table", [change], False)


class PyPaimonWriter(WriterElsewhere):
    """pypaimon, whose pyarrow is another than ours."""

    name = "pypaimon"
    format = "paimon"
    runs = "seambench_impl.peers.pypaimon:PyPaimonSteps"
    does = (
        *("create", "open", "append", "upsert", "overwrite", "tag"),
        *("add-column", "drop-column", "rename-column"),
    )
