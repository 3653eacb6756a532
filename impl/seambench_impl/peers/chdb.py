"""ClickHouse in this process (PyPI `chdb`): tables on local disk by its functions and engines."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.scan import ScanRequest
from seambench.contracts.table_writer import WriterStep
from seambench_impl.peers.peer_scan import Opened, SnapshotReader, import_peer
from seambench_impl.peers.peer_writer import PeerWriter, WriterElsewhere, literal, quoted_name


class ChdbDeltaReader(SnapshotReader):
    """`SELECT ... FROM deltaLakeLocal(path)`."""

    name = "chdb-delta"
    package = "chdb"
    extra = None
    #: The table function, and what a query says of a snapshot where it can.
    function = "deltaLakeLocal"
    snapshot_setting = ""

    def _table(self, module: Any, request: ScanRequest, snapshot: int | None) -> Opened:
        path = request.table.replace("\\", "\\\\").replace("'", "\\'")
        source = f"{self.function}('{path}')"
        settings = "" if snapshot is None else self.snapshot_setting.format(snapshot)

        def query(columns: str, rest: str = "") -> pa.Table:
            # Names and path are quoted.
            text = f"SELECT {columns} FROM {source}{rest}{settings}"  # noqa: S608
            # It reads files below the working folder alone, and has no setting for another.
            with contextlib.chdir(Path(request.table).parent):
                answer = module.query(text, "ArrowStream").bytes()
            return pa.ipc.open_stream(answer).read_all()

        def read(names: list[str]) -> pa.Table:
            return query(", ".join("`" + name.replace("`", "\\`") + "`" for name in names))

        return query("*", " LIMIT 0").schema, read


class ChdbIcebergReader(ChdbDeltaReader):
    """`SELECT ... FROM icebergLocal(path)`."""

    name = "chdb-iceberg"
    function = "icebergLocal"
    snapshot_setting = " SETTINGS iceberg_snapshot_id = {}"


class ChdbDeltaSteps(PeerWriter):
    """ClickHouse as a writer, where it is installed: `INSERT` into a table of its engine."""

    name = "chdb-delta"
    package = "chdb"
    extra = None
    format = "delta"

    def __init__(self) -> None:
        super().__init__()
        self._session: Any = None

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        return {
            "create": self._create,
            "open": lambda step: self._attach(step, ""),
            "append": self._append,
        }

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        # It reads and writes below the working folder alone.
        with contextlib.chdir(step.table.parent):
            super().step(step)

    def run(self, text: str) -> None:
        """Run a statement; the table is `t`."""
        if self._session is None:
            self._session = import_peer("chdb", self.name, None).session.Session()
            self._session.query(
                "SET allow_delta_lake_writes = 1, allow_delta_lake_create_table = 1, "
                "input_format_null_as_default = 0"
            )
        self._session.query(text)

    def _create(self, step: WriterStep) -> None:
        if step.properties:
            raise RefusedError(f"{self.name} is not told {min(step.properties)}")
        columns = (f"{_quoted(one.name)} {_type(one.type)}" for one in step.rows.schema)
        step.table.mkdir(parents=True)
        self._attach(step, f" ({', '.join(columns)})")

    def _attach(self, step: WriterStep, columns: str) -> None:
        self.run("DROP TABLE IF EXISTS t")
        place = literal(f"{step.table.absolute()}/")
        self.run(f"CREATE TABLE t{columns} ENGINE = DeltaLakeLocal({place})")

    def _append(self, step: WriterStep) -> None:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            file = Path(folder) / "rows.arrow"
            with pa.ipc.new_file(file, step.rows.schema) as writer:
                writer.write_table(step.rows)
            columns = ", ".join(map(_quoted, step.rows.schema.names))
            place = literal(str(file))
            self.run(f"INSERT INTO t ({columns}) SELECT {columns} FROM file({place}, 'Arrow')")  # noqa: S608


class ChdbDeltaWriter(WriterElsewhere):
    """ClickHouse's writer of Delta tables, in an environment of its own: it is large."""

    name = "chdb-delta"
    format = "delta"
    runs = "seambench_impl.peers.chdb:ChdbDeltaSteps"
    does = ("create", "open", "append")
    more = ()


def _quoted(name: str) -> str:
    return quoted_name(name, "`")


_TYPES: Mapping[pa.DataType, str] = {
    pa.bool_(): "Bool",
    pa.int32(): "Int32",
    pa.int64(): "Int64",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.string(): "String",
    pa.date32(): "Date32",
    pa.timestamp("us"): "DateTime64(6)",
    pa.timestamp("us", "UTC"): "DateTime64(6, 'UTC')",
}


def _type(kind: pa.DataType) -> str:
    """ClickHouse's type, of nullable values; lists, maps and structs cannot be null there."""
    plain = _plain_type(kind)
    return plain if pa.types.is_nested(kind) else f"Nullable({plain})"


def _plain_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"Array({_type(kind.value_type)})"
    if pa.types.is_map(kind):
        return f"Map({_plain_type(kind.key_type)}, {_type(kind.item_type)})"
    if pa.types.is_struct(kind):
        return f"Tuple({', '.join(f'{_quoted(one.name)} {_type(one.type)}' for one in kind)})"
    if pa.types.is_decimal(kind):
        return f"Decimal({kind.precision}, {kind.scale})"
    if kind not in _TYPES:
        raise RefusedError(f"ClickHouse has no type of its own for {kind}")
    return _TYPES[kind]
