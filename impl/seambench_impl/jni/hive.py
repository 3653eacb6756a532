"""Files of Hive tables by Hive's own input formats and serdes in a JVM, behind a JNI connector."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.jvm.machine import spark_jars
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.columns.types import UNKNOWN, parse
from seamkit.offheap.connector.parameters import join_names
from seamkit.offheap.engine.schema import EngineSchema
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, scanner_classes
from seamkit.scan.units import ReadContext, ReadUnit
from seamkit.tables.hive.row_format import DESCRIPTOR

_JAVA = Path(__file__).parent / "java" / "hive"
_SCANNER = "seambench.hive.HiveScanner"
_FETCH_SIZE = 4096
_TEXT = "org.apache.hadoop.mapred.TextInputFormat"
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_IO = "org.apache.hadoop.hive.ql.io"
#: Input format and serde of each format.
_CLASSES = {
    "text": (_TEXT, _LAZY),
    "csv": (_TEXT, "org.apache.hadoop.hive.serde2.OpenCSVSerde"),
    "json": (_TEXT, "org.apache.hive.hcatalog.data.JsonSerDe"),
    "sequence": ("org.apache.hadoop.mapred.SequenceFileInputFormat", _LAZY),
    "avro": (
        f"{_IO}.avro.AvroContainerInputFormat",
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    ),
    "orc": (f"{_IO}.orc.OrcInputFormat", f"{_IO}.orc.OrcSerde"),
    "parquet": (
        f"{_IO}.parquet.MapredParquetInputFormat",
        f"{_IO}.parquet.serde.ParquetHiveSerDe",
    ),
}


@functools.cache
def hive_loader() -> JniLoader:
    """The classes of Hive 2.3 that come with pyspark."""
    return JniLoader(
        compiled_package("seambench.hive", _JAVA, scanner_classes("Hive", spark_jars()))
    )


class HiveFiles:
    """The files, on a local disk, of a table that its descriptor describes.

    The scanner, found by the loader and our own by default, takes StarRocks' parameters, and those
    of `more`.
    """

    def __init__(
        self,
        folder: str,
        loader: JniLoader | None = None,
        scanner: str = _SCANNER,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._loader, self._scanner = loader or hive_loader(), scanner
        self._more = dict(more or {})
        try:
            self._stated: Mapping[str, Any] = json.loads(Path(folder, DESCRIPTOR).read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: its {DESCRIPTOR} cannot be read: {error}") from error
        self._folder = Path(folder, self._stated.get("location", ""))

    def read(
        self, unit: ReadUnit, schema: pa.Schema, batch_rows: int, context: ReadContext
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file as Hive gives them; see `UnitScan.read_by`."""
        (file,) = unit.files
        kind = self._stated["format"].lower()
        classes = _CLASSES.get(kind)
        if classes is None:
            raise RefusedError(f"{self._folder}: no input format for {kind!r}")
        # The serde of CSV gives texts, whatever a table's types are.
        columns = {
            one["name"]: "string" if kind == "csv" else one["type"]
            for one in self._stated["columns"]
        }
        properties = self._stated.get("properties", {})
        parameters = {
            "hive_column_names": join_names(list(columns)),
            "hive_column_types": "#".join(columns.values()),
            "required_fields": join_names(schema.names),
            "data_file_path": str(self._folder / file.name),
            "block_offset": "0",
            "block_length": str(file.size_bytes),
            "input_format": classes[0],
            "serde": classes[1],
            **{f"SerDe.{name}": value for name, value in properties.items()},
            **self._more,
        }
        rows, name = min(batch_rows, _FETCH_SIZE), self._scanner
        types = [parse(columns[name]) if name in columns else UNKNOWN for name in schema.names]
        with JniScanner(self._loader, name, rows, parameters, context.allocator) as scanner:
            scanner.open()
            yield from scanner.batches(EngineSchema(schema, types))
