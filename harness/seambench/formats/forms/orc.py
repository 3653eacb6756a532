"""ORC files written again by pyarrow: same rows, and the same types with their attributes."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import orc


@dataclass(frozen=True)
class OrcForm:
    """One way to write a file.

    Attributes:
        title: what it is, for people.
        options: arguments of pyarrow's writer.
        texts: it is for files that have some.
    """

    name: str
    title: str
    options: Mapping[str, Any] = field(default_factory=dict)
    texts: bool = False

    def rewritten(self, data: bytes) -> bytes | None:
        """A file in this form; None where it has no place, or pyarrow has not all of its types."""
        before = orc.ORCFile(io.BytesIO(data))
        if not before.nrows or (self.texts and not _has_texts(before.schema)):
            return None
        out = io.BytesIO()
        try:
            orc.write_table(before.read(), out, **self.options)
        except pa.ArrowNotImplementedError:
            return None
        after = orc.ORCFile(io.BytesIO(out.getvalue()))
        same = after.schema.equals(before.schema, check_metadata=True)
        return out.getvalue() if same else None


def _has_texts(schema: pa.Schema) -> bool:
    return any(pa.types.is_string(one.type) for one in schema)


ORC_FORMS = (
    OrcForm("orc-stripes", "a stripe for each row", {"stripe_size": 1, "batch_size": 1}),
    OrcForm("orc-strides", "an entry of the row index for each row", {"row_index_stride": 1}),
    *(
        OrcForm(f"orc-{codec}", f"ORC compressed: {codec}", {"compression": codec})
        for codec in ("uncompressed", "zlib", "snappy", "lz4", "zstd")
    ),
    OrcForm("orc-runs-old", "integers in runs of the first version", {"file_version": "0.11"}),
    OrcForm(
        "orc-dictionary", "texts in dictionaries", {"dictionary_key_size_threshold": 1.0}, True
    ),
    OrcForm(
        "orc-direct", "texts without dictionaries", {"dictionary_key_size_threshold": 0.0}, True
    ),
)
"""Every form of an ORC file."""
