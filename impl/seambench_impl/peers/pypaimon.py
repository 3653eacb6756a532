"""pypaimon (PyPI `pypaimon`): Paimon's own implementation in Python, over a catalog of files."""

from __future__ import annotations

import tempfile
import weakref
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, opened


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
