"""Puffin files, and what the metadata say of those with statistics against what they hold."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from seambench.formats.iceberg.lint.table import Table
from seambench.formats.lint import Finding, Wrong, guarded, read_json, reason, size_of

_MAGIC = b"PFA1"
#: Bit of the flags, four bytes before the last magic, that tells of a compressed footer.
_COMPRESSED = 1


@dataclass(frozen=True)
class Puffin:
    """A Puffin file."""

    data: bytes
    end: int  # where the footer begins, behind the last blob
    # what the footer says of each; None where it is compressed, which nothing here reads
    blobs: list[Mapping[str, Any]] | None


def read_puffin(data: bytes) -> Puffin:
    """Take a file apart.

    Raises:
        ValueError, KeyError, TypeError: it is none, or its footer tells of blobs beyond it.
    """
    size = int.from_bytes(data[-12:-8], "little")
    begin = len(data) - 12 - size
    magics = [data[:4], data[-4:], data[max(0, begin - 4) : max(0, begin)]]
    if begin < 8 or magics != [_MAGIC] * 3:
        raise ValueError("the file and its footer do not begin and end with PFA1")
    if data[-8] & _COMPRESSED:
        return Puffin(data, begin - 4, None)
    said = read_json(data[begin : begin + size])
    blobs = said["blobs"]
    for at, one in enumerate(blobs):
        wanted = {"type": str, "fields": list, "offset": int, "length": int}
        wanted |= {"snapshot-id": int, "sequence-number": int}
        if lacking := [name for name, kind in wanted.items() if type(one.get(name)) is not kind]:
            raise ValueError(f"blob {at} of its footer has no {', '.join(lacking)}")
        if not 4 <= one["offset"] <= one["offset"] + one["length"] <= begin - 4:
            raise ValueError(f"blob {at} of {one['length']} bytes at {one['offset']} is not in it")
    return Puffin(data, begin - 4, blobs)


def content_of(puffin: Puffin, blob: Mapping[str, Any]) -> bytes:
    """The bytes of a blob, unpacked.

    Raises:
        ValueError, OSError: its codec is unknown, or they are not packed by it.
    """
    raw = puffin.data[blob["offset"] : blob["offset"] + blob["length"]]
    codec = blob.get("compression-codec")
    if codec not in (None, "lz4", "zstd"):
        raise ValueError(f"{codec!r} is no codec of blobs")
    return pa.input_stream(pa.BufferReader(raw), compression=codec).read() if codec else raw


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
    stated = [_described(blob) for blob in one.get("blob-metadata") or ()]
    if stated != (there := [_described(blob) for blob in puffin.blobs]):
        yield "blobs", f"the metadata have {stated}, the footer of {there}"
    for at, blob in enumerate(puffin.blobs):
        for rule, says in _blob(puffin, blob):
            yield rule, f"blob {at}: {says}"


def _described(blob: Mapping[str, Any]) -> Any:
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
    """Distinct values by a compact theta sketch: hashes that it kept over the share kept."""
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
