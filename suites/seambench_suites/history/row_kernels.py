"""UnsafeRows and CompactRows of rows like TPC-H's lineitem: written, and read back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .column_kernels import lineitem
from .kernels import Kernel, feature


class RowsOut(Kernel):
    """16 chunks of 4096 rows and 16 columns as rows end to end, into the same bytes each time."""

    loops = 16

    def __init__(self, format_: str) -> None:
        typed = feature("seambase.type_fields", "fields_of")
        name = {"unsaferow": "UnsafeRows", "compactrow": "CompactRows"}[format_]
        codecs = feature("seamkit.serde.rows.serde", name)
        self.batch = lineitem()
        fields = typed.fields_of(self.batch.schema, "spark")
        self._codec: Any = getattr(codecs, name)(fields)
        rows = self._codec.serialize(self.batch, framing="packed")
        self._out, self._lengths = bytearray(rows.data), rows.lengths
        if not self._read().equals(self.batch):
            raise AssertionError("the rows that come back differ from those that were written")

    def run(self) -> None:
        """Write the rows, again and again."""
        for _ in range(self.loops):
            self._codec.serialize(self.batch, framing="packed", out=self._out)

    def _read(self) -> pa.RecordBatch:
        batch: pa.RecordBatch = self._codec.deserialize(self._out, lengths=self._lengths)
        return batch


class RowsIn(RowsOut):
    """16 chunks of 4096 rows and 16 columns read from such rows."""

    def run(self) -> None:
        """Read the rows, again and again."""
        for _ in range(self.loops):
            if self._read().num_rows != self.batch.num_rows:
                raise AssertionError("rows are missing")
