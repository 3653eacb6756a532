"""Puffin files: blobs of deletion vectors and of statistics, and the footer that tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seambench.formats.lint import read_json

_MAGIC = b"PFA1"
#: Bit of the flags, four bytes before the last magic, that tells of a compressed footer.
_COMPRESSED = 1


@dataclass(frozen=True)
class Puffin:
    """A Puffin file.

    Attributes:
        end: where the footer begins, behind the last blob.
        blobs: what the footer says of each; None where it is compressed, which nothing here reads.
    """

    data: bytes
    end: int
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
