"""Files that Hudi did not write, which a commit takes up as Apache XTable's commits do.

XTable hands names, sizes and numbers of rows to Hudi's own client, which writes commit and metadata
table (`HudiConversionTarget`): tables of version 6 without meta columns, whose every commit is a
replacecommit. The files lack the partition columns, as those of Delta and Iceberg may.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from seambench.formats.arrow_rows import arrow_rows
from seambench.formats.hudi.golden import Row, TableSpec, WriteSpec

_ACTION = "replacecommit"
_AVRO = {"string": "string", "bigint": "long"}
_OPTIONS = {
    "hoodie.index.type": "INMEMORY",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.populate.meta.fields": "false",
}


def take_up(
    spark: Any, spec: TableSpec, write: WriteSpec, options: Mapping[str, str], table: Path
) -> None:
    """Write the rows of a step, a file a partition, and let Hudi take them up in a new commit.

    Files of the step `of` go that lie in the same partitions. The first one makes the table.
    """
    number = list(spec.writes).index(write) + 1
    partitions = _by_partition(spec, write.rows)
    jvm, context = spark.sparkContext._jvm, spark.sparkContext._jsc
    hudi, none = jvm.org.apache.hudi, jvm.org.apache.hudi.common.util.Option.empty()
    storage = hudi.hadoop.fs.HadoopFSUtils.getStorageConf(context.hadoopConfiguration())
    client = hudi.common.table.HoodieTableMetaClient
    if number == 1:
        _made(client.newTableBuilder(), hudi, spec).initTable(storage, str(table))
    timeline = client.builder().setConf(storage).setBasePath(str(table)).build().getActiveTimeline()
    instant = f"{dt.datetime.now(dt.UTC):%Y%m%d%H%M%S%f}"[:17]
    requested = timeline.createRequestedCommitWithReplaceMetadata(instant, _ACTION)
    timeline.transitionReplaceRequestedToInflight(requested, none)
    paths = {f"{folder}/part-{number}.parquet": rows for folder, rows in partitions.items()}
    statuses = [_status(hudi, spec, rows, table, path, instant) for path, rows in paths.items()]
    replaced = {folder: [f"part-{write.of}.parquet"] for folder in partitions if write.of}
    config = hudi.config.HoodieWriteConfig.newBuilder().withPath(str(table))
    config = config.withSchema(_schema(spec)).withProps(dict(options) | _OPTIONS).build()
    engine = hudi.client.common.HoodieSparkEngineContext(context)
    writer = hudi.client.SparkRDDWriteClient(engine, config)
    try:
        writer.setOperationType(hudi.common.model.WriteOperationType.UNKNOWN)
        writer.commit(instant, context.parallelize(statuses), none, _ACTION, replaced)
    finally:
        writer.close()


def _by_partition(spec: TableSpec, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the folder that names the values of their partition columns."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found["/".join(f"{name}={row[name]}" for name in _partition(spec))].append(row)
    return found


def _partition(spec: TableSpec) -> list[str]:
    return (spec.partition or "").split(",")


def _made(builder: Any, hudi: Any, spec: TableSpec) -> Any:
    """The table's properties, as XTable has Hudi write them."""
    return (
        builder.setTableType("COPY_ON_WRITE")
        .setTableVersion(spec.table_version)
        .setTableName("golden")
        .setRecordKeyFields(",".join(spec.keys))
        .setKeyGeneratorClassProp("org.apache.hudi.keygen.SimpleKeyGenerator")
        .setPartitionFields(spec.partition)
        .setHiveStylePartitioningEnable(True)
        .setPopulateMetaFields(False)
        .setCommitTimezone(hudi.common.model.HoodieTimelineTimeZone.UTC)
    )


def _status(
    hudi: Any, spec: TableSpec, rows: Sequence[Row], table: Path, path: str, instant: str
) -> Any:
    """Write a file, and what Hudi is told of it."""
    columns = {name: kind for name, kind in spec.columns.items() if name not in _partition(spec)}
    file = table / path
    file.parent.mkdir(parents=True, exist_ok=True)
    own = arrow_rows([{name: row.get(name) for name in columns} for row in rows], columns)
    pq.write_table(own, file, store_schema=False, write_statistics=False)
    status, stat = hudi.client.WriteStatus(), hudi.common.model.HoodieDeltaWriteStat()
    for one in (status, stat):
        one.setFileId(file.name)
        one.setPartitionPath(path.rpartition("/")[0])
    marked = hudi.common.util.ExternalFilePathUtil
    stat.setPath(marked.appendCommitTimeAndExternalFileMarker(path, instant))
    stat.setNumWrites(len(rows))
    stat.setNumInserts(len(rows))
    stat.setTotalWriteBytes(file.stat().st_size)
    stat.setFileSizeInBytes(file.stat().st_size)
    status.setStat(stat)
    return status


def _schema(spec: TableSpec) -> str:
    fields = [
        {"name": name, "type": ["null", _AVRO[kind]], "default": None}
        for name, kind in spec.columns.items()
    ]
    return json.dumps({"type": "record", "name": "golden", "fields": fields})
