"""The serde seam: batches become bytes, and bytes batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seambase.serde import CODECS
from seambench.contracts.common import TimedFamily
from seambench.contracts.seam import Explanation, Seam, late

if TYPE_CHECKING:
    from seambench.seams.serde.cases import SerdeCase

_FORMATS = ("presto", "unsaferow", "compactrow", "arrow")
_FRAMINGS = ("be32", "packed", "velox-group")
# Those of `seambase.types`, which needs pyarrow: a list of words shall not wait for it.
_TYPES = (
    *("array", "bigint", "binary", "boolean", "char", "date", "decimal", "double", "float"),
    *("hyperloglog", "int", "integer", "interval", "interval day to second"),
    *("interval year to month", "ipaddress", "ipprefix", "json", "map", "p4hyperloglog"),
    *("qdigest", "real", "row", "setdigest", "smallint", "string", "struct", "tdigest", "time"),
    *("time with time zone", "timestamp", "timestamp microseconds", "timestamp with time zone"),
    *("timestamp_ntz", "tinyint", "unknown", "uuid", "varbinary", "varchar", "void"),
)
_WORDS = {
    "serialize": "writes",
    "deserialize": "reads",
    "re-encode": "writes again what it read, encodings and flags included",
    **{f"formats.{word}": f"the format {word}" for word in _FORMATS},
    **{f"codecs.{word}": f"compression by {word}" for word in ("none", *CODECS)},
    **{f"framings.{word}": f"rows framed as {word}" for word in _FRAMINGS},
    **{f"types.{word}": f"columns of type {word}" for word in _TYPES},
    "checksum": "pages with checksums",
    "dialects.velox": "pages as Velox writes them",
    "writers.velox": "rows as Velox writes them",
    "nulls-first": "pages whose nulls stand before the values",
    "timestamps.lossless": "timestamps with picoseconds",
    "timestamps.micros": "timestamps in microseconds",
    "encodings.dictionary": "dictionaries stay dictionaries",
    "encodings.rle": "runs stay runs",
    "strict": "refuses damaged bytes",
    "limits": "options `size_limit` and `depth_limit`",
    "stream": "collects rows in many steps and flushes them",
    "reread": "reads again into a result, and counts its memory",
    "operate": "an engine's operators from columns to rows and back",
    "batch-rows": "operators whose batches have a bound of rows",
    "thresholds": "operators whose calls and batches have a bound of bytes",
}

_DOORS = {
    "cmd": late("seambench.seams.serde.doors:CommandSerde"),
    "lib": late("seambench.seams.serde.doors:LibrarySerde"),
}
_REQUESTS = {
    name: late(f"seambench.seams.serde.matrix:{name}") for name in ("produce", "consume", "memory")
}
_PASSES = {"matrix": late("seambench.seams.serde.matrix:exchange_bytes")}

_NOTE = "One thread. The copy moves as many bytes between two warm blocks."
_TIMED = (
    TimedFamily(
        "serde",
        "batches of lineitem into bytes and back",
        ("format", "step", "rows"),
        note=_NOTE,
    ),
)


class _SerdeSeam(Seam):
    name = "serde"
    title = "batches become bytes, and bytes batches"
    method = "serialize"
    timed = _TIMED
    words = _WORDS
    doors = _DOORS
    requests = _REQUESTS
    passes = _PASSES
    cases = late("seambench.seams.serde.cases:serde_cases")
    check = late("seambench.seams.serde.check:check_serde")
    attempt = late("seambench.seams.serde.check:attempt_serde")
    keep = late("seambench.seams.serde.doors:keep_serde")
    asked = late("seambench.seams.serde.doors:line_of_case")

    def explain(self, case: SerdeCase) -> Explanation:
        from seambench.conformance.definitions import explain_file

        request = {"operation": case.operation, "witness": case.witness}
        return explain_file(case, case.file, request)


SEAM = _SerdeSeam()
