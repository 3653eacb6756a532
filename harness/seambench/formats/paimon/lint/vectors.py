"""What is wrong with the index files of a Paimon table, deletion vectors above all."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from seambench.formats.lint import Finding, Wrong, size_of
from seambench.formats.lint.roaring import positions_32, positions_64
from seambench.formats.paimon.lint.data import ADD, DataFile, size_finding

_MAGIC_32, _MAGIC_64 = struct.pack(">i", 1581511376), struct.pack("<i", 1681511377)
#: By what readers look for the vectors of a data file.
_WHERE = ("_PARTITION", "_BUCKET")
Row = Mapping[str, Any]


def index_findings(
    table: Path, name: str, entries: Sequence[Row], live: Mapping[str, DataFile]
) -> Iterator[Finding]:
    """What is wrong with the entries of an index manifest, and the files that they name."""
    seen = set[str]()
    beside = cache(lambda: {folder for one in live.values() if (folder := one.where())})
    for entry in entries:
        place = f"manifest/{name} {entry['_FILE_NAME']}"
        if entry["_KIND"] != ADD:
            says = "an index manifest holds what is there, and this entry is no addition"
            yield "index.kind", place, says
            continue
        if entry.get("_EXTERNAL_PATH"):
            continue
        file = _place(table / "index" / entry["_FILE_NAME"], beside)
        if (size := size_of(file)) is None:
            yield "index.missing", place, f"there is no {file.name}"
            continue
        yield from size_finding(file, entry["_FILE_SIZE"], "index", f"{place} _FILE_SIZE")
        if entry["_INDEX_TYPE"] == "HASH" and entry["_ROW_COUNT"] * 4 != size:
            says = f"_ROW_COUNT is {entry['_ROW_COUNT']}, there are {size} bytes"
            yield "index.hashes", f"{place} _ROW_COUNT", says
        if entry["_INDEX_TYPE"] == "DELETION_VECTORS":
            for rule, named, says in _file_faults(file.read_bytes(), entry, live, seen):
                yield f"vectors.{rule}", f"index/{file.name}{named}", says


def _file_faults(
    data: bytes, entry: Row, live: Mapping[str, DataFile], seen: set[str]
) -> Iterator[Finding]:
    """Rule, what is named in the file, and sentence; `seen` are data files with a vector."""
    if data[:1] != b"\x01":
        yield "version", "", f"its version is {data[:1].hex()}, and must be 01"
        return
    for span in entry["_DELETIONS_VECTORS_RANGES"] or ():
        name = span["f0"]
        if name in seen:
            yield "twice", f" {name}", "it has two vectors"
        seen.add(name)
        if name in live and any(entry[one] != live[name].entry[one] for one in _WHERE):
            says = f"it is listed for another partition or bucket {entry['_BUCKET']} than its file:"
            yield "bucket", f" {name}", f"{says} readers do not find it"
        for rule, says in _vector_faults(data, span, live):
            yield rule, f" {name}", says


def _place(usual: Path, beside: Callable[[], Iterable[Path]]) -> Path:
    """Where an index file lies: as usual, or in a folder of data, as a table's option says."""
    if usual.exists():
        return usual
    return next(filter(Path.exists, (folder / usual.name for folder in beside())), usual)


def _vector_faults(data: bytes, span: Row, live: Mapping[str, DataFile]) -> Iterator[Wrong]:
    name, at, length = span["f0"], span["f1"], span["f2"]
    if name not in live:
        yield "data-file", f"{name} is no live data file"
        return
    size = struct.unpack_from(">i", data, at)[0] if 0 <= at <= len(data) - 4 else -1
    body = data[at + 4 : at + 4 + size] if size >= 8 else b""
    if size < 8 or at + size + 8 > len(data):
        yield "range", f"at {at} no vector of {size} bytes lies in a file of {len(data)}"
        return
    wide = body[:4] == _MAGIC_64
    if not wide and body[:4] != _MAGIC_32:
        yield "magic", f"it begins with {body[:4].hex()}, no magic number"
        return
    if length != (said := size + 8 if wide else size):
        yield "length", f"f2 is {length}, and must be {said}"
    if struct.unpack_from(">I", data, at + 4 + size)[0] != zlib.crc32(body):
        yield "checksum", "the checksum is another than that of its bytes"
    try:
        positions, _ = positions_64(body, 4) if wide else positions_32(body, 4)
    except ValueError as why:
        yield "bitmap", str(why)
        return
    if span.get("_CARDINALITY") not in (None, len(positions)):
        yield "cardinality", f"_CARDINALITY is {span['_CARDINALITY']}, there are {len(positions)}"
    rows = live[name].meta["_ROW_COUNT"]
    if len(positions) and positions.max() >= rows:
        yield "position", f"row {positions.max()} is deleted of {rows} rows"
