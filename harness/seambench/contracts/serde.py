"""The serde seam: batches become bytes, and bytes batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from seambase.serde import SerdeRequest
from seambench.contracts.common import Kind

__all__ = ["Serde"]


class Serde(Protocol):
    """Turns record batches into bytes and back.

    `capabilities` maps words to True: `serialize`, `deserialize`; `formats.presto`,
    `formats.unsaferow`, `formats.compactrow`, `formats.arrow`; `types.map`, `types.decimal`, ...
    (the words of the format's types, without parameters); `codecs.lz4`, ...; `checksum`,
    `dialects.velox`, `nulls-first`, `timestamps.lossless`, ...; `encodings.dictionary`,
    `encodings.rle`; `writers.velox`, `framings.packed`, ...; `re-encode`, `strict` (damaged bytes
    are refused), `limits`.

    An implementation may also offer `explain(request, data)`, an iterator over
    `seambase.walk.Met` that names every field of the bytes and raises where they break;
    and `live_blocks() -> int`, blocks of memory still held for results handed out.
    """

    name: str
    version: str
    kind: Kind
    capabilities: Mapping[str, bool]

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Bytes of batches: one page each (presto), or the rows of all one after the other.

        Raises:
            seambase.errors.UsageError: batches that do not fit the request, an unknown option.
            seambase.errors.RefusedError: legal, but this implementation does not support it.
        """
        ...

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes: one for each page, or one for a whole stream of rows.

        Raises:
            seambase.errors.UsageError: an unknown option, types that are none.
            seambase.errors.InputError: the bytes break the format; the message names the offset.
            seambase.errors.RefusedError: legal, but not supported, or beyond a limit.
        """
        ...
