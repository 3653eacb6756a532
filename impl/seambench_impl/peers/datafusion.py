"""DataFusion (PyPI `datafusion`) over Delta tables, as the documents of deltalake join them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, import_peer, plain_table, quoted


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

        def read(names: list[str]) -> pa.Table:
            listed = quoted(names)
            text = f"SELECT {listed} FROM rows"  # noqa: S608 - names are quoted
            return plain_table(context.sql(text).to_arrow_table())

        return plain_table(context.sql("SELECT * FROM rows LIMIT 0").to_arrow_table()).schema, read
