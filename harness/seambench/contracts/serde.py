"""The serde seam: batches become bytes, and bytes batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import pyarrow as pa

from seambase.serde import SerdeRequest
from seambench.contracts.common import Kind


@dataclass(frozen=True)
class StreamStep:
    """One thing done with a serializer of vectors.

    Attributes:
        do: `append` rows to what is collected; `flush` it as a page, which keeps the rows, or as a
            group, after which they are gone; `clear` back to no rows; `write` rows as a page or
            group of their own, at once, with their encodings.
        batch: number of the batch whose rows are appended or written.
        rows: their numbers; None for all, or for `range`.
        range: the first of them, and the one after the last.
    """

    do: Literal["append", "flush", "clear", "write"]
    batch: int = 0
    rows: Sequence[int] | None = None
    range: Sequence[int] | None = None


@dataclass(frozen=True)
class Operated:
    """What operators between columns and rows made.

    Attributes:
        calls: the rows of each call that turned columns into rows, all in their order.
        batches: what was made of these rows again.
        held: batches, converters and other memory that were not given back when all was read.
    """

    calls: Sequence[Sequence[bytes]]
    batches: Sequence[pa.RecordBatch]
    held: int = 0


class Serde(Protocol):
    """Turns record batches into bytes and back.

    `capabilities` maps words to True: `serialize`, `deserialize`; `formats.presto`,
    `formats.unsaferow`, `formats.compactrow`, `formats.arrow`; `types.map`, `types.decimal`, ...
    (the words of the format's types, without parameters); `codecs.lz4`, ...; `checksum`,
    `dialects.velox`, `nulls-first`, `timestamps.lossless`, ...; `encodings.dictionary`,
    `encodings.rle`; `writers.velox`, `framings.packed`, ...; `re-encode`, `strict` (damaged bytes
    are refused), `limits`; `stream`, `reread` and `operate` for the methods below of these names;
    `batch-rows`, `thresholds` where that takes the options `batch_rows`, `threshold_bytes`.

    An implementation may also offer `live_blocks() -> int`, blocks of memory still held for results
    handed out. With
    capabilities of their names it offers

    - `stream(request, batches, steps) -> bytes`: what the steps flush and write, end to end, pages
      or groups of rows (`framing` is `velox-group`);
    - `reread(request, data, times) -> (batches, blocks)`: the one page or group in `data`, read so
      many times into a result whose batches nobody holds in between; the batches of the last time,
      and how many blocks of memory were allocated afresh until the end of each;
    - `operate(request, batches) -> Operated`: columns through an engine's operator into rows, and
      these through its other operator into columns. Each batch is converted in calls of as many
      rows as fit `threshold_bytes`, or of one row; a batch of rows ends at `batch_rows` rows or
      `threshold_bytes` bytes, whichever comes first, and has at least one row.
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

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """Batches of bytes: one for each page, or one for a whole stream of rows.

        Raises:
            seambase.errors.UsageError: an unknown option, types that are none.
            seambase.errors.InputError: the bytes break the format; the message names the offset.
            seambase.errors.RefusedError: legal, but not supported, or beyond a limit.
        """
