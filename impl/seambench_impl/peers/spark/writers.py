"""Spark with a table format's connector as a writer: its SQL, on tables in folders."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.formats import resolve_format
from seambench.contracts.table_writer import WriterStep
from seambench.contracts.tables import SparkBundle
from seambench.formats.iceberg.writer import table_name
from seambench.formats.paimon.writer import TABLE, catalog_of
from seambench_impl.peers.peer_writer import (
    CODEC,
    DICTIONARY,
    FileWriter,
    PeerWriter,
    in_sql,
    literal,
    quoted_name,
)
from seambench_impl.peers.spark.frames import session_of

_TICK = "`"
_FAR = dt.datetime(2999, 1, 1, tzinfo=dt.UTC)


class SparkWriter(PeerWriter):
    """What the connectors share. They differ in how a table is named, made and kept up."""

    package = "pyspark"
    extra = "spark"
    more = ("keys", "partitions")
    lacks: ClassVar[frozenset[str]] = frozenset()
    #: What is done to keep a table up, by step: statements with the table's name in braces.
    upkeep: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        # The connector's version is what matters: it is the last word of its package.
        self.version = self._bundle().packages[0].rpartition(":")[2]

    def _bundle(self) -> SparkBundle:
        return resolve_format(self.format).bundle(None)

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        every: dict[str, Callable[[WriterStep], None]] = {
            "create": self._create,
            "open": self._take_up,
            "append": lambda step: self._insert(step, "INTO"),
            "overwrite": lambda step: self._insert(step, "OVERWRITE"),
            "delete": lambda step: self._run(step, f"DELETE FROM {{}} WHERE {_where(step)}"),  # noqa: S608 - an adapter's own text
            "update": lambda step: self._run(
                step,
                f"UPDATE {{}} SET {_assigned(step)} WHERE {_where(step)}",  # noqa: S608
            ),
            "upsert": self._upsert,
            "add-column": lambda step: self._run(
                step, f"ALTER TABLE {{}} ADD COLUMNS ({_name(step.column)} {_ddl(step)})"
            ),
            "drop-column": lambda step: self._run(
                step, f"ALTER TABLE {{}} DROP COLUMN {_name(step.column)}"
            ),
            "rename-column": lambda step: self._run(
                step, f"ALTER TABLE {{}} RENAME COLUMN {_name(step.column)} TO {_name(step.to)}"
            ),
            "widen-column": lambda step: self._run(
                step, f"ALTER TABLE {{}} ALTER COLUMN {_name(step.column)} TYPE {_ddl(step)}"
            ),
        }
        for do, statement in self.upkeep.items():
            every[do] = lambda step, statement=statement: self._run(step, statement)  # type: ignore[misc]
        return {do: how for do, how in every.items() if do not in self.lacks}

    @contextlib.contextmanager
    def _named(self, session: Any, step: WriterStep) -> Iterator[str]:
        """The name of the step's table in SQL, for a while."""
        raise NotImplementedError

    def _properties(self, step: WriterStep) -> Mapping[str, str]:
        return step.properties

    def _run(self, step: WriterStep, statement: str) -> None:
        session, _ = session_of(self._bundle())
        with self._named(session, step) as name:
            session.sql(statement.replace("{}", name)).collect()

    def _create(self, step: WriterStep) -> None:
        columns = ", ".join(
            f"{_name(field.name)} {_simple(field.type)}" for field in step.rows.schema
        )
        listed = ", ".join(map(_name, step.partitions))
        partitions = f" PARTITIONED BY ({listed})" if listed else ""
        settings = ", ".join(
            f"{literal(name)} = {literal(value)}" for name, value in self._properties(step).items()
        )
        properties = f" TBLPROPERTIES ({settings})" if settings else ""
        self._run(
            step,
            f"CREATE TABLE {{}} ({columns}) USING {self.format}{self._place(step)}"
            f"{partitions}{properties}",
        )

    def _take_up(self, step: WriterStep) -> None:
        """Nothing is held: each statement reads the newest state."""

    def _place(self, step: WriterStep) -> str:
        """Where a new table lies, unless its name tells."""
        del step
        return ""

    def _insert(self, step: WriterStep, how: str) -> None:
        with self._view(step):
            names = ", ".join(map(_name, step.rows.schema.names))
            self._run(step, f"INSERT {how} {{}} ({names}) SELECT {names} FROM new_rows")  # noqa: S608

    def _upsert(self, step: WriterStep) -> None:
        same = " AND ".join(f"t.{_name(key)} = s.{_name(key)}" for key in step.keys)
        with self._view(step):
            self._run(
                step,
                f"MERGE INTO {{}} t USING new_rows s ON {same} "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            )

    @contextlib.contextmanager
    def _view(self, step: WriterStep) -> Iterator[None]:
        """The rows of a step as a view of Spark's."""
        session, _ = session_of(self._bundle())
        _frame(session, step.rows).createOrReplaceTempView("new_rows")
        try:
            yield
        finally:
            session.catalog.dropTempView("new_rows")


def _frame(session: Any, rows: pa.Table) -> Any:
    """Rows as a frame of Spark, in one task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    # Days before 1582 as they are, where Spark would else ask which calendar is meant.
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    listed, names = rows.to_pylist(maps_as_pydicts="strict"), rows.schema.names
    values = [tuple(row[name] for name in names) for row in listed]
    return session.createDataFrame(values, from_arrow_schema(rows.schema)).coalesce(1)


def _name(name: str) -> str:
    return quoted_name(name, _TICK)


def _where(step: WriterStep) -> str:
    return in_sql(step.where, _TICK)


def _assigned(step: WriterStep) -> str:
    return ", ".join(f"{_name(name)} = {literal(value)}" for name, value in step.assign.items())


def _simple(type_: Any) -> str:
    """An Arrow type as Spark's DDL spells it."""
    from pyspark.sql.pandas.types import from_arrow_type

    return str(from_arrow_type(type_).simpleString())


def _ddl(step: WriterStep) -> str:
    return _simple(step.type)


class SparkDeltaWriter(SparkWriter):
    """Spark with Delta's connector."""

    name = "spark-delta"
    format = "delta"
    upkeep: ClassVar = {"compact": "OPTIMIZE {}", "expire": "VACUUM {} RETAIN 0 HOURS"}

    @contextlib.contextmanager
    def _named(self, session: Any, step: WriterStep) -> Iterator[str]:
        session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        # A version of some rows is replayed in fifty tasks otherwise.
        session.conf.set("spark.databricks.delta.snapshotPartitions", "1")
        yield f"delta.{_name(str(step.table))}"


_ICEBERG_CHANGES: Mapping[str, Callable[[WriterStep], str]] = {
    "tag": lambda step: f"CREATE TAG {_name(step.name)}",
    "branch": lambda step: f"CREATE BRANCH {_name(step.name)}",
    "add-partition-field": lambda step: f"ADD PARTITION FIELD {_name(step.column)}",
    "drop-partition-field": lambda step: f"DROP PARTITION FIELD {_name(step.column)}",
}


class SparkIcebergWriter(SparkWriter):
    """Spark with Iceberg's connector, in a catalog of a folder."""

    name = "spark-iceberg"
    format = "iceberg"

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does, with its procedures."""
        return {
            **super().steps(),
            "compact": lambda step: self._call(
                step, "rewrite_data_files", "options => map('rewrite-all', 'true')"
            ),
            "expire": lambda step: self._call(
                step, "expire_snapshots", f"older_than => {literal(_FAR)}, retain_last => 1"
            ),
            **{do: partial(self._change, how) for do, how in _ICEBERG_CHANGES.items()},
        }

    def _change(self, how: Callable[[WriterStep], str], step: WriterStep) -> None:
        self._run(step, f"ALTER TABLE {{}} {how(step)}")

    def _properties(self, step: WriterStep) -> Mapping[str, str]:
        modes = (f"write.{word}.mode" for word in ("delete", "update", "merge"))
        return {**dict.fromkeys(modes, "merge-on-read"), **step.properties}

    @contextlib.contextmanager
    def _named(self, session: Any, step: WriterStep) -> Iterator[str]:
        branch = f".branch_{step.name}" if step.do == "append" and step.name else ""
        yield f"{table_name(session, step.table)}{branch}"

    def _call(self, step: WriterStep, procedure: str, more: str) -> None:
        session, _ = session_of(self._bundle())
        catalog = table_name(session, step.table).partition(".")[0]
        table = literal(step.table.name)
        session.sql(f"CALL {catalog}.system.{procedure}(table => {table}, {more})").collect()


class SparkPaimonWriter(SparkWriter):
    """Spark with Paimon's connector, in a catalog whose database has a link to the folder."""

    name = "spark-paimon"
    format = "paimon"
    lacks: ClassVar = frozenset({"overwrite"})
    upkeep: ClassVar = {"compact": f"CALL sys.compact(table => 'default.{TABLE}')"}

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does: an upsert is a write."""
        steps = dict(super().steps())
        return {**steps, "upsert": steps["append"]}

    def _properties(self, step: WriterStep) -> Mapping[str, str]:
        keys = {"primary-key": ",".join(step.keys), "bucket": "2"} if step.keys else {}
        return {**keys, **step.properties}

    @contextlib.contextmanager
    def _named(self, session: Any, step: WriterStep) -> Iterator[str]:
        with catalog_of(session, step.table):
            yield TABLE


class SparkHudiWriter(SparkWriter):
    """Spark with Hudi's connector, merge-on-read."""

    name = "spark-hudi"
    format = "hudi"
    kept: ClassVar[str] = "mor"
    upkeep: ClassVar = {"compact": "CALL run_compaction(op => 'run', table => '{}')"}

    def _properties(self, step: WriterStep) -> Mapping[str, str]:
        if not step.keys:
            raise RefusedError(f"{self.name}: tables without keys are not asked of Hudi here")
        return {"type": self.kept, "primaryKey": ",".join(step.keys), **step.properties}

    @contextlib.contextmanager
    def _named(self, session: Any, step: WriterStep) -> Iterator[str]:
        del session
        yield "t" + step.table.as_posix().encode().hex()[-60:]

    def _take_up(self, step: WriterStep) -> None:
        self._run(step, f"CREATE TABLE IF NOT EXISTS {{}} USING hudi{self._place(step)}")

    def _place(self, step: WriterStep) -> str:
        return f" LOCATION {literal(str(step.table))}"


class SparkHudiCowWriter(SparkHudiWriter):
    """Spark with Hudi's connector, copy-on-write."""

    name = "spark-hudi-cow"
    kept = "cow"
    lacks: ClassVar = frozenset({"compact"})


class SparkFiles(FileWriter):
    """Spark's own writer of Parquet files, over parquet-mr."""

    name, package, extra = "spark-parquet", "pyspark", "spark"
    keywords: ClassVar = {CODEC: "compression", DICTIONARY: DICTIONARY}

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        session, _ = session_of(resolve_format(self.format).bundle(None))
        with tempfile.TemporaryDirectory(prefix="seambench-spark-file-", dir=file.parent) as folder:
            target = Path(folder) / "rows"
            _frame(session, rows).write.options(**given).parquet(target.as_uri())
            [written] = target.glob("*.parquet")
            written.rename(file)
