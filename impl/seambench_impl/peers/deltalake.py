"""delta-rs (PyPI `deltalake`), as its users call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from seambench.contracts.peers.catalogue import numbers
from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import WriterStep
from seambench_impl.peers.peer_scan import (
    Opened,
    SnapshotReader,
    by_queries,
    import_peer,
    opened,
)
from seambench_impl.peers.peer_writer import PeerWriter, in_sql, literal


class DeltaRsReader(SnapshotReader):
    """delta-rs (PyPI `deltalake`): `QueryBuilder` over `DeltaTable`, which applies vectors."""

    name = "deltalake"
    package = "deltalake"

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        options = dict(request.storage_options) or None
        table = module.DeltaTable(request.table, version=snapshot, storage_options=options)
        if numbers(self.version) < (1, 0):
            return self._before_queries(table)
        builder = module.QueryBuilder().register("rows", table)
        return by_queries(lambda text: pa.table(builder.execute(text).read_all()), "rows")

    @staticmethod
    def _before_queries(table: Any) -> Opened:
        """Before 1.0 its queries were experimental: a table was read as a dataset of pyarrow."""
        dataset = table.to_pyarrow_dataset()
        return opened(dataset.schema, lambda names: dataset.to_table(columns=names))


class OverDeltaRs(PeerWriter):
    """A writer whose commits are delta-rs's."""

    format = "delta"

    def take_up(self, step: WriterStep) -> None:
        """Hold the table's state for the next step."""
        delta_rs = import_peer("deltalake", self.name, self.extra)
        self.taken_up = delta_rs.DeltaTable(str(step.table))

    def target(self, step: WriterStep) -> Any:
        """The table by the state that was taken up for this step, or its address."""
        return self.state(lambda: str(step.table))


class DeltaRsWriter(OverDeltaRs):
    """delta-rs (PyPI `deltalake`): tables written by its own engine."""

    name = package = "deltalake"
    more = ("keys", "partitions")

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        return {
            "create": self._create,
            "open": self.take_up,
            "append": lambda step: self._write(step, "append"),
            "overwrite": lambda step: self._write(step, "overwrite"),
            "delete": lambda step: self._open(step).delete(in_sql(step.where)),
            "update": lambda step: self._open(step).update(
                updates={f'"{name}"': literal(value) for name, value in step.assign.items()},
                predicate=in_sql(step.where),
            ),
            "upsert": self._upsert,
            "add-column": lambda step: self._open(step).alter.add_columns(_delta_field(step)),
            "compact": lambda step: self._open(step).optimize.compact(),
            "expire": lambda step: self._open(step).vacuum(
                retention_hours=0, enforce_retention_duration=False, dry_run=False
            ),
        }

    @staticmethod
    def _create(step: WriterStep) -> None:
        _deltalake().DeltaTable.create(
            str(step.table),
            schema=step.rows.schema,
            partition_by=list(step.partitions) or None,
            configuration=dict(step.properties) or None,
        )

    def _open(self, step: WriterStep) -> Any:
        """The table by the state that was taken up for this step, or by the newest."""
        target = self.target(step)
        return _deltalake().DeltaTable(target) if isinstance(target, str) else target

    def _write(self, step: WriterStep, mode: str) -> None:
        _deltalake().write_deltalake(self._open(step), step.rows, mode=mode)

    def _upsert(self, step: WriterStep) -> None:
        same = " AND ".join(f't."{key}" = s."{key}"' for key in step.keys)
        merging = self._open(step).merge(step.rows, same, source_alias="s", target_alias="t")
        merging.when_matched_update_all().when_not_matched_insert_all().execute()


def _deltalake() -> Any:
    return import_peer("deltalake", "deltalake", "peers")


def _delta_field(step: WriterStep) -> Any:
    field = pa.schema([pa.field(step.column, step.type)])
    return _deltalake().Schema.from_arrow(field).fields
