"""What a Hudi table or one of its logs says, piece by piece, for people.

A table's folder: properties, instants, slices and their files. A log: its blocks with their offsets
and headers, and the records in them, up to the byte that breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from seambase.errors import InputError
from seambase.scan import ScanWarning
from seambase.walk import ByteField
from seamkit.files.parquet import PARQUET_ERRORS, open_parquet
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.log.log import LogBlock, avro_records, read_blocks
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.instants import Instant


def inspect_table(table: HudiTable) -> Iterator[ByteField]:
    """Properties, timeline and slices of a table."""
    config = table.config
    kind = "merge-on-read" if config.merge_on_read else "copy-on-write"
    yield ByteField(0, 0, 0, "table", f"{config.name}, version {config.version}, {kind}")
    yield ByteField(0, 0, 1, "merge mode", config.merge.mode)
    yield ByteField(0, 0, 1, "record key", ", ".join(config.record_keys))
    yield ByteField(0, 0, 1, "ordering", ", ".join(config.ordering_fields) or "none")
    timeline = table.timeline()
    yield ByteField(0, 0, 0, "archived instants", len(timeline.archive.instants))
    for instant in timeline.archive.instants:
        yield _instant(instant)
    yield ByteField(0, 0, 0, "active instants", len(timeline.instants))
    for instant in timeline.instants:
        yield _instant(instant)
    slices = table.slices()
    yield ByteField(0, 0, 0, "file slices", len(slices))
    for slice_ in slices:
        yield from _slice(slice_)


def _instant(instant: Instant) -> ByteField:
    state: str = instant.state
    if instant.completed not in (None, instant.requested):
        state = f"{state} {instant.completed}"
    return ByteField(0, 0, 1, f"{instant.requested} {instant.action}", state)


def _slice(slice_: FileSlice) -> Iterator[ByteField]:
    where = f"{slice_.partition}/{slice_.file_id}" if slice_.partition else slice_.file_id
    yield ByteField(0, 0, 1, where, f"since {slice_.instant}")
    if slice_.base is not None:
        yield ByteField(0, slice_.base.size_bytes, 2, "base", slice_.base.path)
    for log in slice_.logs:
        yield ByteField(0, log.size_bytes, 2, "log", log.path)


def inspect_log(path: Path) -> Iterator[ByteField]:
    """Blocks, headers and records of one log file; offsets count from its beginning."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    warnings: list[ScanWarning] = []
    blocks = read_blocks(content, file=str(path), warnings=warnings, writer_instant=False)
    for block in blocks:
        yield from _skipped(warnings)
        yield from _block(block)
    yield from _skipped(warnings)


def _skipped(warnings: list[ScanWarning]) -> Iterator[ByteField]:
    for warning in warnings:
        yield ByteField(warning.offset, 0, 0, "skipped", warning.reason)
    warnings.clear()


def _block(block: LogBlock) -> Iterator[ByteField]:
    length = block.content_offset + len(block.content) - block.offset
    yield ByteField(block.offset, length, 0, f"{block.kind} block", f"instant {block.instant}")
    for name, value in block.header.items():
        if name != "INSTANT_TIME":
            yield ByteField(block.offset, 0, 1, name, value)
    at = block.content_offset
    if block.kind in ("avro", "cdc"):
        for record in avro_records(block):
            yield ByteField(at + record.offset, 4 + record.size_bytes, 1, "record", record.row)
    elif block.kind == "delete":
        deletes = block.delete_keys()
        orders = zip(deletes.ordering_types, deletes.ordering_values, strict=True)
        for key, (word, value) in zip(deletes.record_keys, orders, strict=True):
            yield ByteField(at, 0, 1, "delete", f"{key}, ordering {word} {value}")
    elif block.kind == "parquet" and len(block.content):
        try:
            content = pa.BufferReader(pa.py_buffer(block.content))
            rows = open_parquet(content, block.where).read().to_pylist()
        except PARQUET_ERRORS as error:
            raise InputError(f"{block.where} is not readable: {error}") from error
        for row in rows:
            yield ByteField(at, 0, 1, "record", row)
