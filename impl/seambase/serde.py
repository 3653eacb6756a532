"""What bytes between engines are: columns, format, and the settings that both sides share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: What pages are compressed with, as their option `codec` names it.
CODECS = ("lz4", "zstd", "snappy", "gzip", "zlib")


@dataclass(frozen=True)
class SerdeField:
    """One column of what is turned into bytes or read from them.

    Attributes:
        name: the column's name; no format writes it.
        type: its type in the format's own words (`seambase.types`): Presto's for pages,
            Spark's for rows.
        nullable: whether it may hold nulls.
    """

    name: str
    type: str
    nullable: bool = True


@dataclass(frozen=True)
class SerdeRequest:
    """What the bytes are: the format, the columns, and the settings both sides must share.

    Attributes:
        format: `presto` (SerializedPages), `unsaferow`, `compactrow` or `arrow` (IPC stream).
        fields: the columns, in order.
        options: what else decides bytes. Whoever does not know an option refuses it.

            presto: `dialect` (`presto`, `velox`), `codec` (`none` or one of `CODECS`), `checksum`
            (bool), `min_compression_ratio` (float), `encodings` (`preserve` keeps dictionaries and
            runs, `flatten` writes and reads values), `nulls_first` (bool),
            `timestamps` (`millis`, `micros`, `lossless`); of those who state `re-encode`, `layout`
            (`preserve`: what Arrow cannot hold of a page rides with the batch from reading to
            writing).

            unsaferow: `writer` (`spark`, `velox`), `framing` (`be32`, `packed`, `velox-group`);
            with `packed` to be read, `lengths` of the rows, and `offsets` unless they follow from
            them; with `velox-group`, `codec`. compactrow: the same without `writer`.

            arrow: `types` (`presto`, `spark`), the language of the fields' types; `codec`.

            All but arrow, on reading, of those who state `limits`: `size_limit` (most bytes that
            what is read may take) and `depth_limit` (most levels of nested columns).
    """

    format: str
    fields: Sequence[SerdeField]
    options: Mapping[str, Any] = field(default_factory=dict)
