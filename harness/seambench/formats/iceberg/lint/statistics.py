"""Rules for statistics files: what the metadata say of a Puffin file against what it holds."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from seambench.formats.iceberg.lint.puffin import Puffin, content_of, read_puffin
from seambench.formats.iceberg.lint.table import Table
from seambench.formats.lint import Finding, Wrong, guarded, reason, size_of

_THETA = "apache-datasketches-theta-v1"
#: Bits of a theta sketch's flags: it is empty; it holds one hash and no count.
_EMPTY, _SINGLE = 4, 32


def statistics_findings(table: Table) -> Iterator[Finding]:
    """What is wrong with the files of statistics that the metadata name."""
    for name in ("statistics", "partition-statistics"):
        for at, one in enumerate(table.said.get(name) or []):
            place = f"{name}[{at}]"
            yield from guarded(partial(_file, table, one, place), "statistics.file", place)


def _file(table: Table, one: Mapping[str, Any], place: str) -> Iterator[Finding]:
    file = table.path(one["statistics-path"])
    if one["snapshot-id"] not in table.snapshots:
        yield "statistics.snapshot", place, f"there is no snapshot {one['snapshot-id']}"
    if (size := size_of(file)) is None or size != one["file-size-in-bytes"]:
        yield "statistics.file", place, "the file is not there, or of another size"
    if size is not None and place.startswith("statistics"):
        for rule, says in _puffin(file.read_bytes(), one):
            yield f"statistics.{rule}", table.place(file), says


def _puffin(data: bytes, one: Mapping[str, Any]) -> Iterator[Wrong]:
    try:
        puffin = read_puffin(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        yield "puffin", reason(error)
        return
    # The size of the footer counts its first magic, too.
    if one.get("file-footer-size-in-bytes") != (size := len(data) - puffin.end):
        says = f"file-footer-size-in-bytes is {one.get('file-footer-size-in-bytes')}, not {size}"
        yield "file", says
    if puffin.blobs is None:
        return
    told = [_told(blob) for blob in one.get("blob-metadata") or ()]
    if told != (there := [_told(blob) for blob in puffin.blobs]):
        yield "blobs", f"the metadata tell of {told}, the footer of {there}"
    for at, blob in enumerate(puffin.blobs):
        for rule, says in _blob(puffin, blob):
            yield rule, f"blob {at}: {says}"


def _told(blob: Mapping[str, Any]) -> Any:
    names = ("type", "snapshot-id", "sequence-number", "fields")
    return *(blob.get(name) for name in names), blob.get("properties") or {}


def _blob(puffin: Puffin, blob: Mapping[str, Any]) -> Iterator[Wrong]:
    try:
        content = content_of(puffin, blob)
        estimate = _distinct(content) if blob["type"] == _THETA else None
    except (ValueError, OSError, struct.error, IndexError) as error:
        yield "blobs", f"it cannot be read: {reason(error)}"
        return
    said = (blob.get("properties") or {}).get("ndv")
    if estimate is not None and said is not None and said != str(estimate):
        yield "ndv", f"ndv is {said}, its sketch has {estimate}"


def _distinct(sketch: bytes) -> int:
    """Distinct values by a compact theta sketch: hashes that it kept over the share kept.

    Raises:
        ValueError, struct.error: it is none.
    """
    longs, version, family, flags = sketch[0] & 63, sketch[1], sketch[2], sketch[5]
    if version != 3 or family != 3 or not 1 <= longs <= 3:
        raise ValueError(f"version {version}, family {family}: no compact theta sketch")
    if flags & _EMPTY:
        return 0
    if longs == 1 or flags & _SINGLE:
        return 1
    (count,) = struct.unpack_from("<i", sketch, 8)
    theta = struct.unpack_from("<q", sketch, 16)[0] / 2**63 if longs == 3 else 1.0
    if len(sketch) != 8 * (longs + count) or not 0 < theta <= 1:
        raise ValueError(f"{len(sketch)} bytes do not hold {count} hashes below {theta}")
    return int(count / theta)
