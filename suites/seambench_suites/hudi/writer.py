"""Carry out the steps of a golden table with Spark and a Hudi bundle.

One process holds one version of Hudi: `session` starts Spark with its bundle, `write_table` makes a
table. Needs the extra `spark` and, once, a network for the jars. Times are UTC.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seambase.errors import InputError
from seambench.conformance.plain import typed
from seambench.engines.spark import find_java
from seambench.formats.hudi.golden import TableSpec, WriteSpec
from seambench_suites.hudi.options import write_options

__all__ = ["Written", "bundle", "session", "write_table"]

_SQL = {
    "compact": "CALL run_compaction(op => 'scheduleandexecute', table => 'golden')",
    "schedule-compaction": "CALL run_compaction(op => 'schedule', table => 'golden')",
    "cluster": "CALL run_clustering(table => 'golden', op => 'scheduleandexecute')",
    "schedule-clustering": "CALL run_clustering(table => 'golden', op => 'schedule')",
    "rollback": "CALL rollback_to_instant(table => 'golden', instant_time => '{of}')",
    "savepoint": "CALL create_savepoint(table => 'golden', commit_time => '{of}')",
    "restore": "CALL rollback_to_savepoint(table => 'golden', instant_time => '{of}')",
    "clean": "CALL run_clean(table => 'golden')",
}
_COMMITS = ("commit", "deltacommit", "replacecommit")


@dataclass
class Written:
    """What became of the steps so far.

    Attributes:
        instants: requested instant of each, empty where there is none.
        completions: their completion times, empty where there is none.
        failures: what Hudi said to the steps that it did not carry out, by number.
    """

    instants: list[str] = field(default_factory=list)
    completions: list[str] = field(default_factory=list)
    failures: dict[int, str] = field(default_factory=dict)


def bundle(hudi: str) -> str:
    """Maven coordinates of Hudi's bundle for the Spark in use."""
    return f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{hudi}"


def session(hudi: str) -> Any:
    """A local Spark session with one version of Hudi.

    Raises:
        UnavailableError: no Java.
    """
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    settings = {
        "spark.jars.packages": bundle(hudi),
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC -XX:TieredStopAtLevel=1",
        "spark.driver.memory": "1500m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.warehouse.dir": tempfile.gettempdir() + "/golden-warehouse",
    }
    builder = SparkSession.builder.master("local[1]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    return started


def write_table(spark: Any, spec: TableSpec, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a table in the new folder `table`.

    Args:
        spark: session of the Hudi that the table asks for.
        spec: what to write.
        table: where.
        lenient: go on after a step that Hudi fails at, with the table as it then is.

    Raises:
        InputError: Hudi wrote another table version than asked for.
    """
    done = Written()
    for number, write in enumerate(spec.writes, 1):
        before = _instants(table)
        try:
            _carry_out(spark, spec, write, table, done.instants)
        except Exception as error:
            if not lenient or number == 1:
                raise
            done.failures[number] = str(error)[:500]
        instant, completion = _fresh(before, _instants(table))
        done.instants.append(instant)
        done.completions.append(completion)
        if number == 1:
            _check_version(table, spec)
    return done


def _carry_out(
    spark: Any, spec: TableSpec, write: WriteSpec, table: Path, instants: Sequence[str]
) -> None:
    """One step."""
    options = write_options(spec, write)
    if write.operation == "crash":
        _forget_completion(table, instants[-1])
    elif write.operation in _SQL or write.operation == "sql":
        text = write.sql if write.operation == "sql" else _SQL[write.operation]
        named = {str(n): instant for n, instant in enumerate(instants, 1)}
        named["of"] = instants[write.of - 1] if write.of else ""
        for name, instant in named.items():
            text = text.replace(f"{{{name}}}", instant)
        _run_sql(spark, text.replace("{path}", str(table)), options, table)
    else:
        options["hoodie.datasource.write.operation"] = write.operation
        writer = _frame(spark, spec, write).write.format("hudi").options(**options)
        writer.mode("append" if instants else "overwrite").save(str(table))


def _run_sql(spark: Any, text: str, options: dict[str, str], table: Path) -> None:
    """A statement over the table, which is called `golden`; options hold for it alone."""
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        spark.sql("DROP TABLE IF EXISTS golden")
        if not text.lstrip().upper().startswith("CREATE TABLE"):
            spark.sql(f"CREATE TABLE golden USING hudi LOCATION '{table}'")
        spark.sql(text).collect()
    finally:
        spark.sql("DROP TABLE IF EXISTS golden")
        for name in options:
            spark.conf.unset(name)


def _frame(spark: Any, spec: TableSpec, write: WriteSpec) -> Any:
    """The rows of one write as a Spark data frame with the declared types."""
    columns = {c: t for c, t in spec.columns.items() if c not in write.without}
    columns |= dict(write.retype)
    rows = [
        tuple(_for_spark(typed(row.get(name), type_)) for name, type_ in columns.items())
        for row in write.rows
    ]
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in columns.items())
    return spark.createDataFrame(rows, schema).coalesce(1)


def _for_spark(value: Any) -> Any:
    """A value as Spark takes it: pairs, which are the entries of a map, as a dictionary."""
    if isinstance(value, dict):
        return {name: _for_spark(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], tuple):
        return {name: _for_spark(inner) for name, inner in value}
    return [_for_spark(item) for item in value]


def _timeline(table: Path) -> Path:
    """Folder of a table's instants."""
    later = table / ".hoodie" / "timeline"
    return later if later.is_dir() else table / ".hoodie"


def _instants(table: Path) -> dict[str, str]:
    """Files of the timeline, by name without completion time; the value is that time or empty."""
    folder = _timeline(table)
    if not folder.is_dir():
        return {}
    found = {}
    for file in folder.iterdir():
        if file.name[0].isdigit() and file.suffix != ".crc":
            times, _, rest = file.name.partition(".")
            requested, _, completed = times.partition("_")
            found[f"{requested}.{rest}"] = completed
    return found


def _fresh(before: dict[str, str], after: dict[str, str]) -> tuple[str, str]:
    """The instant that a step brought, and its completion: a commit if there is one."""
    names = sorted(set(after) - set(before))
    for name in names:
        if name.partition(".")[2] in _COMMITS:
            return name.partition(".")[0], after[name]
    for name in names:
        if "." not in name.partition(".")[2]:
            return name.partition(".")[0], after[name]
    return (names[0].partition(".")[0], "") if names else ("", "")


def _forget_completion(table: Path, instant: str) -> None:
    """Leave an instant inflight."""
    for file in _timeline(table).iterdir():
        requested = file.name.lstrip(".").partition(".")[0].partition("_")[0]
        if requested == instant and not file.name.endswith(("requested", "inflight")):
            file.unlink()


def _check_version(table: Path, spec: TableSpec) -> None:
    """Stop if Hudi wrote another table version than asked for."""
    text = (table / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8")
    if f"hoodie.table.version={spec.table_version}\n" not in text:
        raise InputError(f"{spec.name}: Hudi did not write table version {spec.table_version}")
