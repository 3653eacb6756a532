"""DataFusion (PyPI `datafusion`) over Delta tables, as the documents of deltalake join them."""

from __future__ import annotations

from typing import Any

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, by_queries, import_peer


class DataFusionReader(SnapshotReader):
    """A `DeltaTable` of deltalake, registered as a table of DataFusion's."""

    name = "datafusion-delta"
    package = "datafusion"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        deltalake = import_peer("deltalake", self.name, self.extra)
        table = deltalake.DeltaTable(request.table, version=snapshot)
        context = module.SessionContext()
        context.register_table("rows", table)
        return by_queries(lambda text: context.sql(text).to_arrow_table(), "rows")
