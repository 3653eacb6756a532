"""Deletion vectors in Puffin files (version 3): positions of a data file's rows that are gone.

The manifest's entry says where the blob lies; what the file's own footer says of a blob there must
not contradict it, or the vector is another data file's. A footer need say nothing. What a blob is
made of stands in `seamkit.files.vectors`.
"""

from __future__ import annotations

import json
import struct

import pyarrow as pa

from seambase.errors import InputError
from seamkit.files.roaring import Positions
from seamkit.files.storage import read_part
from seamkit.files.vectors import FRAME_BYTES, unframed, vector_positions
from seamkit.tables.iceberg.metadata.location import TableFiles
from seamkit.tables.iceberg.metadata.manifests import Entry

_LEAST_BYTES = 20  # length, magic number, a bitmap of no buckets, checksum
_PUFFIN = b"PFA1"
_TYPE = "deletion-vector-v1"
_LEAST_TAIL = 16  # the magic number twice, a length, flags
_TAIL_BYTES = 8192
_MOST_FOOTER = 1 << 26


def read_vector(files: TableFiles, vector: Entry) -> Positions:
    """The deleted positions of a data file, ascending."""
    storage, path = files.locate(vector.path)
    offset, length = vector.offset, vector.length
    where = f"{storage.full(path)}, the deletion vector at byte {offset}"
    if offset is None or length is None or offset < len(_PUFFIN) or length < _LEAST_BYTES:
        raise InputError(f"{where}: its entry gives it {length} bytes there")
    try:
        with storage.open(path) as file:
            size = file.size()
            magic = file.read(len(_PUFFIN))
            blob = read_part(file, offset, length)
            footer = _footer(file, size)
    except OSError as error:
        raise InputError(f"{where}: not readable ({error})") from error
    if size != vector.size_bytes:
        raise InputError(
            f"{storage.full(path)}: {size} bytes, its manifest says {vector.size_bytes}"
        )
    if magic != _PUFFIN:
        raise InputError(f"{storage.full(path)}: no Puffin file")
    _check_footer(footer, vector, where)
    body = unframed(blob, (length - FRAME_BYTES,), where, "its manifest")
    return vector_positions(body, vector.records, storage.bound, where, "its manifest")


def _footer(file: pa.NativeFile, size: int) -> bytes:
    """The JSON at the end of a Puffin file; nothing where it is compressed or none is there."""
    begin = max(0, size - _TAIL_BYTES)
    tail = read_part(file, begin, size - begin)
    if len(tail) < _LEAST_TAIL or not tail.endswith(_PUFFIN):
        return b""
    length, flags = struct.unpack_from("<ii", tail, len(tail) - 12)
    first = size - 12 - length
    if flags or not 0 < length <= _MOST_FOOTER or first < 0:
        return b""
    return tail[first - begin : -12] if first >= begin else read_part(file, first, length)


def _check_footer(footer: bytes, vector: Entry, where: str) -> None:
    """Refuse a blob of which its file says otherwise than the manifest.

    Of the path of the data file the name alone counts: tools that move a table may leave old
    folders in Puffin files, as these are no metadata to them.
    """
    try:
        blobs = json.loads(footer)["blobs"] if footer else []
        own = next((one for one in blobs if one["offset"] == vector.offset), None)
        if own is None:
            return
        told = own.get("properties") or {}
        data_file, count = told.get("referenced-data-file"), told.get("cardinality")
        said = {
            "type": (own["type"], _TYPE),
            "length": (own["length"], vector.length),
            "data file": (_name(data_file or vector.referenced), _name(vector.referenced)),
            "cardinality": (int(count or vector.records), vector.records),
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{where}: the file's footer is not readable ({error!r})") from error
    for name, (there, here) in said.items():
        if there != here:
            raise InputError(
                f"{where}: its file says the {name} {there!r}, its manifest says {here!r}"
            )


def _name(path: str | None) -> str:
    return str(path).rpartition("/")[2]
