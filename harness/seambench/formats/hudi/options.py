"""Hudi's write options for the steps of a table."""

from __future__ import annotations

from seambench.formats.hudi.golden import TableSpec, WriteSpec

#: Options of golden tables: the smallest Bloom filter, as it is nearly all of a small base file.
GOLDEN = {
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.index.bloom.num_entries": "10",
}

#: Options of the tables of data sets.
DATASET = {
    # One base file per slice, whatever its size.
    "hoodie.parquet.max.file.size": str(1 << 40),
    # The files stay as the writes leave them: nothing is cleaned away.
    "hoodie.archive.automatic": "false",
    # Keys are unique, so nothing is to be combined before writing.
    "hoodie.combine.before.upsert": "false",
    "hoodie.combine.before.delete": "false",
}

_MERGE_MODES = {
    "event-time": "EVENT_TIME_ORDERING",
    "commit-time": "COMMIT_TIME_ORDERING",
    "custom": "CUSTOM",
}
_PAYLOADS = {
    "event-time": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    "commit-time": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}


def write_options(spec: TableSpec, write: WriteSpec) -> dict[str, str]:
    """Options for one step. Those of the step win over those of the table, both over ours."""
    options = _of_table(spec) | _of_index(spec) | _of_merge(spec) | _of_services(write)
    if write.operation == "delete_partition":
        options["hoodie.datasource.write.partitions.to.delete"] = ",".join(write.partitions)
    return options | dict(spec.options) | dict(write.options)


def _of_table(spec: TableSpec) -> dict[str, str]:
    """Name, kind, keys and how files are written."""
    mor = spec.table_type == "merge-on-read"
    kind = "Complex" if spec.partition else "Nonpartitioned"
    return {
        "hoodie.table.name": "golden",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if mor else "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": ",".join(spec.keys),
        "hoodie.datasource.write.partitionpath.field": spec.partition or "",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{kind}KeyGenerator",
        "hoodie.write.table.version": str(spec.table_version),
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "direct",
        "hoodie.parquet.compression.codec": "zstd",
        "hoodie.bulkinsert.shuffle.parallelism": "1",
        "hoodie.insert.shuffle.parallelism": "1",
        "hoodie.upsert.shuffle.parallelism": "1",
        "hoodie.delete.shuffle.parallelism": "1",
        "hoodie.logfile.data.block.format": spec.log_blocks,
    }


def _of_index(spec: TableSpec) -> dict[str, str]:
    """Where records go."""
    if spec.index not in ("bucket", "consistent"):
        return {"hoodie.index.type": spec.index.upper()}
    options = {
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": str(spec.buckets),
        "hoodie.bucket.index.hash.field": ",".join(spec.keys),
    }
    if spec.index == "consistent":
        # The one bucket engine that sends inserts into logs, so that a group starts without a base.
        options["hoodie.index.bucket.engine"] = "CONSISTENT_HASHING"
        options["hoodie.bucket.index.min.num.buckets"] = "1"
    return options


def _of_merge(spec: TableSpec) -> dict[str, str]:
    """Which of two records counts."""
    options = {}
    if "hoodie.datasource.write.payload.class" not in spec.options:
        options["hoodie.record.merge.mode"] = _MERGE_MODES[spec.merge]
        if spec.table_version < 9 and spec.merge in _PAYLOADS:
            options["hoodie.datasource.write.payload.class"] = _PAYLOADS[spec.merge]
    # Hudi 1.2.0 takes a table with an ordering column for one of event time if its first write is
    # no bulk insert, and then refuses the next.
    if spec.ordering and not (spec.hudi == "1.2.0" and spec.merge == "commit-time"):
        options["hoodie.datasource.write.precombine.field"] = spec.ordering
        options["hoodie.table.ordering.fields"] = spec.ordering
    return options


def _of_services(write: WriteSpec) -> dict[str, str]:
    """Compaction with a write, or none."""
    return {
        "hoodie.compact.inline": "true" if write.compaction == "run" else "false",
        "hoodie.compact.schedule.inline": "true" if write.compaction == "schedule" else "false",
        "hoodie.compact.inline.max.delta.commits": "1",
    }
