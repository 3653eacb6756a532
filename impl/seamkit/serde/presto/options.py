"""What decides the bytes of a page beside its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from seambase.errors import UsageError
from seamkit.core._seam import lib
from seamkit.serde.compression import CODECS

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "dialect": ("presto", "velox"),
    "codec": CODECS,
    "encodings": ("preserve", "flatten"),
    "timestamps": ("millis", "micros", "lossless"),
    "layout": ("plain", "preserve", "builder"),
}
# The share of its size that a payload may keep when compressed: Presto 0.296, Velox 2026-08.
_MIN_RATIO = {"presto": 0.9, "velox": 0.8}
_VELOX_ONLY = ("nulls_first", "preserve_encodings")


@dataclass(frozen=True)
class PageOptions:
    """Settings of a writer, a reader or both; see docs/presto-pages.md.

    Attributes:
        dialect: `presto` or `velox`, where they differ.
        codec: one of `seamkit.serde.compression.CODECS`.
        checksum: write checksums. On reading, a page that has one is checked in any case.
        min_compression_ratio: keep a compressed payload only if it is at most this share of the
            plain one; None: 0.9 for Presto, 0.8 for Velox.
        encodings: `preserve`: dictionaries and runs stay, as far as the dialect keeps them;
            `flatten`: values only. Both directions.
        preserve_encodings: Velox's option of this name: dictionaries stay where they do not pay.
        nulls_first: Velox: rows have their null flags before their fields. Both directions.
        timestamps: what a `timestamp` is in the page. Both directions; Presto knows `millis` only.
        layout: `plain`: what the values call for. `builder`: what Presto's block builders leave.
            `preserve`: on reading, keep in the batch's metadata what Arrow cannot hold; on writing,
            heed it, so that a page that was read becomes the same bytes again.
        hash_tables: write a hash table with each map.
        source: 24 bytes that say where dictionaries come from.
        check_text: refuse text that is not UTF-8.
        size_limit: most bytes a payload or the batch read from it may take, most rows of a column.
        depth_limit: most levels of columns within columns, dictionaries and runs counted.
    """

    dialect: str = "presto"
    codec: str = "none"
    checksum: bool = False
    min_compression_ratio: float | None = None
    encodings: str = "preserve"
    preserve_encodings: bool = False
    nulls_first: bool = False
    timestamps: str = "millis"
    layout: str = "plain"
    hash_tables: bool = False
    source: bytes = bytes(24)
    check_text: bool = True
    size_limit: int = 1 << 30
    depth_limit: int = 64

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise UsageError(
                    f"option {name} = {getattr(self, name)!r}: one of {', '.join(allowed)} is meant"
                )
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool) and not isinstance(value, bool):
                raise UsageError(f"option {field.name} = {value!r}: true or false is meant")
        self._check_dialect()
        self._check_numbers()

    def _check_dialect(self) -> None:
        if self.dialect == "velox":
            if self.layout == "builder" or self.hash_tables:
                raise UsageError("Velox knows no layout of builders and writes no hash tables")
            return
        for name in _VELOX_ONLY:
            if getattr(self, name):
                raise UsageError(f"option {name} is Velox's: it needs dialect = 'velox'")
        if self.timestamps != "millis":
            raise UsageError(
                f"timestamps = {self.timestamps!r} is Velox's: it needs dialect = 'velox' (Presto "
                "has a type 'timestamp microseconds')"
            )

    def _check_numbers(self) -> None:
        for name in ("size_limit", "depth_limit"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UsageError(f"option {name} = {value!r}: a whole number from 0 on is meant")
        ratio = self.min_compression_ratio
        if ratio is not None and not (isinstance(ratio, (int, float)) and 0 <= ratio <= 1):
            raise UsageError(f"option min_compression_ratio = {ratio!r}: 0 to 1 is meant")
        if not isinstance(self.source, bytes) or len(self.source) != 24:
            raise UsageError("option source: 24 bytes are meant")

    @classmethod
    def of(cls, options: Mapping[str, Any] | PageOptions | None) -> PageOptions:
        """Options by name."""
        if isinstance(options, PageOptions):
            return options
        if not options:
            return _DEFAULTS
        known = {field.name for field in dataclasses.fields(cls)}
        for name in options:
            if name not in known:
                raise UsageError(f"a presto page has no option {name!r}")
        return cls(**options)

    @property
    def ratio(self) -> float:
        """The share of its size that a compressed payload may keep."""
        given = self.min_compression_ratio
        return _MIN_RATIO[self.dialect] if given is None else given

    @property
    def flags(self) -> int:
        """The core's flags (enum seam_presto_flags)."""
        chosen = {
            lib.SEAM_PRESTO_VELOX: self.dialect == "velox",
            lib.SEAM_PRESTO_FLATTEN: self.encodings == "flatten",
            lib.SEAM_PRESTO_NULLS_FIRST: self.nulls_first,
            lib.SEAM_PRESTO_BUILDER: self.layout == "builder",
            lib.SEAM_PRESTO_HASH_TABLES: self.hash_tables,
            lib.SEAM_PRESTO_KEEP_ENCODINGS: self.preserve_encodings,
            lib.SEAM_PRESTO_KEEP_NULL_BYTES: self.layout == "preserve",
            lib.SEAM_PRESTO_ANY_BYTES: not self.check_text,
        }
        return sum(flag for flag, is_set in chosen.items() if is_set)


_DEFAULTS = PageOptions()
