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
from seambench_impl.peers.peer_scan import HudiReader, Opened, SnapshotReader, import_peer, opened
from seambench_impl.peers.peer_writer import PeerWriter, WriterElsewhere
from seambench_impl.peers.pyiceberg import PyicebergWriter, static_table


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


class DaftDeltaSteps(PeerWriter):
    """daft as a writer, where it is installed: `DataFrame.write_deltalake`."""

    name = "daft-delta"
    package = "daft"
    extra = None
    format = "delta"
    more = ("partitions",)

    def __init__(self) -> None:
        super().__init__()
        self._taken_up: Any = None

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does; data files are daft's, commits delta-rs's."""
        return {
            "create": self._create,
            "open": self._take_up,
            "append": lambda step: self._write(step, "append"),
            "overwrite": lambda step: self._write(step, "overwrite"),
        }

    def _create(self, step: WriterStep) -> None:
        self._write(
            step,
            "error",
            partition_cols=list(step.partitions) or None,
            configuration=dict(step.properties) or None,
        )

    def _take_up(self, step: WriterStep) -> None:
        self._taken_up = import_peer("deltalake", self.name, None).DeltaTable(str(step.table))

    def _write(self, step: WriterStep, mode: str, **options: Any) -> None:
        taken_up, self._taken_up = self._taken_up, None
        frame = import_peer("daft", self.name, None).from_arrow(step.rows)
        frame.write_deltalake(taken_up or str(step.table), mode=mode, **options)


class DaftIcebergSteps(PeerWriter):
    """daft as a writer over a table that pyiceberg made: `DataFrame.write_iceberg`."""

    name = "daft-iceberg"
    package = "daft"
    extra = None
    format = "iceberg"
    more = ("partitions",)

    def __init__(self) -> None:
        self._below = PyicebergWriter()
        super().__init__()

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does; data files are daft's, manifests pyiceberg's."""
        return {
            "create": self._below.create,
            "open": self._below.take_up,
            "append": self._write,
            "overwrite": self._write,
        }

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        super().step(step)
        self._below.publish(step.table)

    def _write(self, step: WriterStep) -> None:
        frame = import_peer("daft", self.name, None).from_arrow(step.rows)
        frame.write_iceberg(self._below.table, mode=step.do)


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
