"""daft over Delta, Iceberg and Hudi; the metadata of the first two deltalake and pyiceberg read.

It names a bound on pyarrow that this project does not meet, so no extra brings it: it works where
it is installed without its dependencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import WriterStep
from seambench_impl.peers.deltalake import OverDeltaRs
from seambench_impl.peers.peer_scan import HudiReader, Opened, SnapshotReader, import_peer, opened
from seambench_impl.peers.peer_writer import PeerWriter, WriterElsewhere
from seambench_impl.peers.pyiceberg import OverPyiceberg, static_table


def _of_frame(frame: Any) -> Opened:
    return opened(frame.limit(0).to_arrow().schema, lambda names: frame.select(*names).to_arrow())


class DaftDeltaReader(SnapshotReader):
    """daft: `read_deltalake`, whose log is read by deltalake."""

    name = "daft-delta"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        return _of_frame(module.read_deltalake(request.table, version=snapshot))


class DaftIcebergReader(SnapshotReader):
    """daft: `read_iceberg`, which reads files by itself."""

    name = "daft-iceberg"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        return _of_frame(module.read_iceberg(static_table(self, request), snapshot_id=snapshot))


class DaftHudiReader(HudiReader):
    """daft as its users call it: `daft.read_hudi(path)`, then Arrow."""

    name = "daft-hudi"
    package = "daft"
    extra = None

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        del snapshot
        frame = module.read_hudi(request.table)
        whole: pa.Schema = frame.schema().to_pyarrow_schema()

        def read(names: list[str]) -> pa.Table:
            table = frame.select(*names).to_arrow()
            return table.cast(pa.schema([whole.field(name) for name in names]))

        return whole, read


def _frame(step: WriterStep, writer: PeerWriter) -> Any:
    return import_peer("daft", writer.name, writer.extra).from_arrow(step.rows)


class DaftDeltaSteps(OverDeltaRs):
    """daft as a writer, where it is installed: `DataFrame.write_deltalake`."""

    name = "daft-delta"
    package = "daft"
    extra = None
    more = ("partitions",)

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        return {
            "create": lambda step: self._write(
                step,
                "error",
                partition_cols=list(step.partitions) or None,
                configuration=dict(step.properties) or None,
            ),
            "open": self.take_up,
            "append": lambda step: self._write(step, "append"),
            "overwrite": lambda step: self._write(step, "overwrite"),
        }

    def _write(self, step: WriterStep, mode: str, **options: Any) -> None:
        _frame(step, self).write_deltalake(self.target(step), mode=mode, **options)


class DaftIcebergSteps(OverPyiceberg):
    """daft as a writer, where it is installed: `DataFrame.write_iceberg`."""

    name = "daft-iceberg"
    package = "daft"
    extra = None

    def write(self, step: WriterStep, table: Any) -> None:
        """See `OverPyiceberg`."""
        _frame(step, self).write_iceberg(table, mode=step.do)


class DaftDeltaWriter(WriterElsewhere):
    """daft's writer of Delta tables; daft names a bound on pyarrow that ours does not meet."""

    name = "daft-delta"
    format = "delta"
    runs = "seambench_impl.peers.daft:DaftDeltaSteps"
    does = ("create", "open", "append", "overwrite")
    more = ("partitions",)


class DaftIcebergWriter(WriterElsewhere):
    """daft's writer of Iceberg tables."""

    name = "daft-iceberg"
    format = "iceberg"
    runs = "seambench_impl.peers.daft:DaftIcebergSteps"
    does = ("create", "open", "append", "overwrite")
    more = ("partitions",)
