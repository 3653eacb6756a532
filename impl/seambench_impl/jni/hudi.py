"""File slices by Hudi's own reader in a JVM: the path that a JNI connector takes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from seambase.errors import RefusedError
from seambench_impl.jni.jars import fetch_jars
from seamkit.jvm.machine import spark_jars
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.columns.types import from_arrow
from seamkit.offheap.connector.parameters import join_names, join_types
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, scanner_classes
from seamkit.scan.units import ReadContext, ReadUnit
from seamkit.tables.hudi.listing.log_blocks import read_ordered_blocks
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.merge.keys import refuse_merge

_JAVA = Path(__file__).parent / "java" / "hudi"
SCANNER = "seambench.hudi.HudiSliceScanner"
_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"
_FETCH_SIZE = 4096
#: What StarRocks' scanner hands to Hive's classes; ours needs neither.
_INPUT_FORMAT = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
#: Content versions of delete blocks; the first has keys alone.
_DELETES = (1, 2, 3)


@functools.cache
def java_loader() -> JniLoader:
    """Hudi 1.2.0's classes, with those of Hadoop, Avro and Parquet that come with pyspark."""
    bundle = fetch_jars([_BUNDLE], "Hudi's own reader")
    engine = scanner_classes("Hudi", [*bundle, *spark_jars()])
    return JniLoader(compiled_package("seambench.hudi", _JAVA, engine))


class HudiSlices:
    """Slices by a scanner in Java that takes what `slice_parameters` says, in StarRocks' words.

    `more` has further parameters.
    """

    def __init__(
        self, loader: JniLoader, scanner: str, more: Mapping[str, str] | None = None
    ) -> None:
        self._loader, self._scanner, self._more = loader, scanner, dict(more or {})

    def read(
        self, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a slice as the scanner gives them; see `UnitScan.read_by`.

        Its changes are those of a Hudi slice, which may have no logs. Chunks have 4096 rows at
        most.
        """
        parameters = {**slice_parameters(unit, schema), **self._more}
        expected = EngineSchema(schema)
        rows, name = min(batch_rows, _FETCH_SIZE), self._scanner
        with JniScanner(self._loader, name, rows, parameters, context.allocator) as scanner:
            try:
                scanner.open()
                yield from scanner.batches(expected)
            finally:
                context.spent.extend(scanner.counters().spent)


def _refuse_blocks(changes: SliceChanges) -> None:
    """Refuse what Hudi's reader would take for something else: it looks at neither of these.

    A base file whose write is not known as completed, which ordering the blocks refuses, is no base
    to it, and it takes the newest version of a delete block for that of any block above. Of the
    logs, which are mapped, headers alone are looked at.
    """
    base = changes.slice_.base
    if base is not None and base.is_taken_up:
        # Its classes tell file and instant by the name in the commit, which no file has.
        where = changes.source.storage.full(base.path)
        raise RefusedError(f"{where}: Hudi did not write the file; not supported here")
    for block in read_ordered_blocks(changes.slice_, changes.source, []):
        if block.kind != "delete":
            continue
        version = int.from_bytes(block.content[:4], "big", signed=True)
        if version not in _DELETES or (version == _DELETES[0] and changes.source.config.ordered_by):
            raise RefusedError(
                f"{block.where}: delete records of version {version} are not supported here"
            )


def read_unit_in_java(
    unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
) -> Iterator[pa.RecordBatch]:
    """The rows of a slice by Hudi's own reader, as a plan may name it; see `HudiSlices.read`.

    What it would read wrongly is refused before; somebody else's scanner is asked for it.
    """
    yield from read_slice({}, unit, schema, batch_rows, context)


def read_slice(
    more: Mapping[str, str],
    unit: ReadUnit,
    schema: pa.Schema,
    batch_rows: int,
    context: ReadContext,
) -> Iterator[pa.RecordBatch]:
    """The same with further parameters."""
    assert isinstance(unit.changes, SliceChanges)  # so the merge path is planned
    _refuse_blocks(unit.changes)
    yield from HudiSlices(java_loader(), SCANNER, more).read(unit, schema, batch_rows, context)


def slice_parameters(unit: ReadUnit, schema: pa.Schema) -> dict[str, str]:
    """What the scanner `SCANNER` is handed for a slice that was planned for the merge path."""
    changes = unit.changes
    assert isinstance(changes, SliceChanges)  # so the merge path is planned
    source, slice_ = changes.source, changes.slice_
    refuse_merge(slice_, source)
    instant = source.window.up_to or source.timeline.last_completed()
    return {
        "base_path": source.storage.full("").rstrip("/"),
        "instant_time": instant or "",
        "hive_column_names": join_names(schema.names),
        "hive_column_types": join_types([from_arrow(field.type) for field in schema]),
        "required_fields": join_names(schema.names),
        "data_file_path": source.storage.full(slice_.base.path) if slice_.base else "",
        "data_file_length": str(slice_.base.size_bytes) if slice_.base else "-1",
        "delta_file_paths": join_names([source.storage.full(log.path) for log in slice_.logs]),
        "input_format": _INPUT_FORMAT,
        "serde": _SERDE,
    }


#: Ways to read units that plans may name besides the library's own; see `seamkit.ranges.codec`.
WORDS = (read_unit_in_java,)
