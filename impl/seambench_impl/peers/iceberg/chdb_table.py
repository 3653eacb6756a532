"""ClickHouse in this process (PyPI `chdb`): its table function for Iceberg tables on local disk."""

from __future__ import annotations

from seambench_impl.peers.engines import chdb_delta
from seambench_impl.peers.snapshot_reader import XFAILS


class ChdbReader(chdb_delta.ChdbReader):
    """`SELECT ... FROM icebergLocal(path)`."""

    name = "chdb-iceberg"
    xfails = XFAILS / "chdb-iceberg.toml"
    function = "icebergLocal"
    snapshot_setting = " SETTINGS iceberg_snapshot_id = {}"
