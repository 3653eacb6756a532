"""fastparquet (PyPI): Parquet files of frames of pandas, which have no columns but plain ones."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import RefusedError
from seambench_impl.peers.peer_writer import CODEC, FileWriter, WriterElsewhere

_PANDAS = {pa.bool_(): "BooleanDtype", pa.int32(): "Int32Dtype", pa.int64(): "Int64Dtype"}
_OBJECTS = {pa.string(): "utf8", pa.binary(): "bytes"}
_PLAIN = (*_PANDAS, *_OBJECTS, pa.float32(), pa.float64(), pa.timestamp("us", "UTC"))


class FastparquetSteps(FileWriter):
    """fastparquet as a writer, where it is installed."""

    name = package = "fastparquet"
    extra = None
    keywords: ClassVar = {CODEC: "compression"}

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """See `FileWriter`."""
        for field in rows.schema:
            if field.type not in _PLAIN:
                raise RefusedError(f"{self.name} has no columns of {field.type}")
        pandas, library = map(importlib.import_module, ("pandas", "fastparquet"))
        kinds = {kind: getattr(pandas, name)() for kind, name in _PANDAS.items()}
        objects = {one.name: _OBJECTS.get(one.type, "infer") for one in rows.schema}
        frame = rows.to_pandas(types_mapper=kinds.get)
        options = {"write_index": False, "has_nulls": True, "object_encoding": objects}
        library.write(str(file), frame, **options, **given)


class FastparquetWriter(WriterElsewhere):
    """fastparquet, which no extra brings."""

    name = "fastparquet"
    seam = "table-writer"
    format = "hive"
    runs = "seambench_impl.peers.fastparquet:FastparquetSteps"
    does = ("create", "append")
    more = ()
