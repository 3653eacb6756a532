"""The log blocks of a slice: what reads of them share, which count, and in which order.

The header `RECORD_POSITIONS` says which rows of the base file a block's records are: base64 of a
64-bit roaring bitmap in its portable form; the n-th set bit belongs to the n-th record. It counts
for the base file whose instant the header `BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS` names, and
for no other (Hudi 1.2.0, PositionBasedFileGroupRecordBuffer).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seamkit.files.equalities import RowTest, row_test
from seamkit.files.roaring import Positions, read_bitmap
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.files import FileSlice, LogFile
from seamkit.tables.hudi.log.log import LogBlock, order_blocks, read_blocks, without_compactions
from seamkit.tables.hudi.merge.keys import (
    IS_DELETED,
    OPERATION,
    RECORD_KEY,
    check_fields,
    leaf_field,
    root_of,
)
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

_SUPPORTED_KINDS = ("avro", "parquet", "delete")


@dataclass(frozen=True)
class LogSource:
    """What all slices of a read have in common.

    Attributes:
        storage: the table's folder.
        config: its properties.
        timeline: its instants.
        schema: the columns of the table as the read shows them; those that are read, see `reading`.
        window: which instants count.
        strict: refuse damage that Hudi's own reader skips.
        positions: match records by their positions in the base file where all blocks of a slice
            have them. It spares reading keys and changes no row, but where the base holds a key
            twice: Hudi logs both positions then, and both rows change.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    schema: pa.Schema
    window: Window
    strict: bool = False
    positions: bool = False

    @cached_property
    def identity(self) -> Hashable | None:
        """All of it as one value; None where records depend on more than its own files tell."""
        if self.timeline.schema_history is not None:
            return None
        properties = tuple(sorted(self.config.raw.items()))
        return (
            "hudi",
            self.storage.root,
            properties,
            tuple(self.timeline.instants),
            self.schema.serialize().to_pybytes(),
            self.window,
            self.strict,
            self.positions,
        )

    @cached_property
    def ordering(self) -> tuple[str, ...]:
        """The ordering columns, or none under commit-time ordering."""
        return self.config.ordering_fields if self.config.merge.mode == "event-time" else ()

    @cached_property
    def ordering_types(self) -> pa.Schema:
        """The same with their types; they may lie inside structs."""
        fields = [leaf_field(self.schema, name) for name in self.ordering]
        return pa.schema([field for field in fields if field is not None])

    def valid_block(self, instant: str) -> bool:
        """Whether a data or delete block counts. From version 8 on the file name decides."""
        if not self.window.sees(instant):
            return False
        return self.config.version >= 8 or self.timeline.is_committed(instant)

    def reading(self, names: Sequence[str]) -> LogSource:
        """The same with fewer columns: these, and those that merging needs."""
        columns = self.schema.names
        merged_by = (*self.config.record_keys, *self.ordering)
        needed = [root_of(name, columns) for name in merged_by]
        needed += [RECORD_KEY, IS_DELETED, OPERATION]
        if self.config.merge.delete_marker is not None:
            needed.append(self.config.merge.delete_marker.column)
        wanted = dict.fromkeys([*names, *(name for name in needed if name in columns)])
        return replace(self, schema=pa.schema([self.schema.field(name) for name in wanted]))

    def with_operation(self, blocks: Sequence[LogBlock]) -> LogSource:
        """The same with the operation of each row, where blocks have it.

        Changelog writers keep it as a meta column, which the table's schema does not have.
        """
        known = self.schema.get_field_index(OPERATION) >= 0
        if known or not any(f'"{OPERATION}"' in (block.schema or "") for block in blocks):
            return self
        return replace(self, schema=self.schema.append(pa.field(OPERATION, pa.string())))

    def key_test(self, condition: pc.Expression | None) -> RowTest | None:
        """Which records a condition may be true of, as far as their keys tell; None for all.

        By fields of a key only where one record key is one set of values: texts with commas and
        colons in them may make one key in two ways. Strict reads look at all records.
        """
        if self.strict or condition is None:
            return None
        keys = [name for name in self.config.record_keys if name in self.schema.names]
        kinds = [self.schema.field(name).type for name in keys]
        plain = all(pa.types.is_integer(kind) or pa.types.is_date32(kind) for kind in kinds)
        if len(keys) < len(self.config.record_keys) or not (plain or len(keys) == 1):
            keys = []
        names = [*keys, *({RECORD_KEY}.intersection(self.schema.names))]
        return row_test(condition, pa.schema([self.schema.field(name) for name in names]))


def read_ordered_blocks(
    slice_: FileSlice, source: LogSource, warnings: list[ScanWarning]
) -> list[LogBlock]:
    """The data and delete blocks of a slice that count, in the order in which they apply."""
    blocks: list[LogBlock] = []
    if source.config.merge.mode == "event-time" and not source.ordering:
        name = source.storage.full(".hoodie/hoodie.properties")
        reason = "records are merged by ordering values, but no ordering field is named"
        _warn(ScanWarning(name, -1, f"{reason}; the last write wins"), source.strict, warnings)
    logs = []
    for log, content in zip(slice_.logs, _contents(slice_, source.storage), strict=True):
        name = source.storage.full(log.path)
        if len(content) < log.size_bytes:
            raise InputError(
                f"{name}: {len(content)} bytes, but it was listed with {log.size_bytes}; the file "
                "was cut, or the table changes: plan the scan again"
            )
        own = read_blocks(content, file=name, warnings=warnings, strict=source.strict)
        blocks += own
        logs.append((log, own))
    for warning in _strange_blocks(logs, source.timeline):
        _warn(warning, source.strict, warnings)
    if source.window.is_incremental and not source.window.alone:
        blocks = without_compactions(blocks)
    ordered = order_blocks(blocks, source.valid_block)
    for block in ordered:
        if block.kind not in _SUPPORTED_KINDS:
            raise RefusedError(
                f"{block.where}: log blocks of kind '{block.kind}' are not supported"
            )
        _check_base(block, source.timeline)
    return ordered


def _check_base(block: LogBlock, timeline: Timeline) -> None:
    """The base file that a block was written over belongs to a write that had been completed.

    Its rows do not count if the timeline has lost the completion, and nothing else tells it.
    """
    base = block.base_instant
    if base and not timeline.is_committed(base):
        raise InputError(
            f"{block.where}: its records are those of rows of the base file of {base}, which the "
            "timeline does not know as completed; restore the file of that instant in "
            f"{timeline.storage.full(timeline.config.timeline_folder)}"
        )


def _contents(slice_: FileSlice, storage: Storage) -> Iterable[memoryview]:
    """The bytes of a slice's logs; of logs elsewhere, whose bytes take their time, all at once."""
    contents = (memoryview(storage.map(log.path)) for log in slice_.logs)
    if storage.is_local or len(slice_.logs) < 2:
        return contents
    at_once = min(storage.parallel, len(slice_.logs))
    with ThreadPoolExecutor(at_once, thread_name_prefix="seambench-log") as pool:
        return list(pool.map(lambda log: memoryview(storage.map(log.path)), slice_.logs))


def _warn(warning: ScanWarning, strict: bool, warnings: list[ScanWarning]) -> None:
    """Tell of damage that Hudi's reader passes over."""
    if strict:
        at = f"damaged at byte {warning.offset}: " if warning.offset >= 0 else ""
        raise InputError(f"{warning.file}: {at}{warning.reason}.")
    warnings.append(warning)


def refuse_merge(slice_: FileSlice, source: LogSource) -> None:
    """Slices with logs cannot be read where code of the user's merges records.

    Nor where a column is missing that tells deletes, the order, or the keys.
    """
    if slice_.logs:
        check_fields(source.config, source.schema, source.storage.root)
    marker = source.config.merge.delete_marker
    for name in [*source.ordering, *([] if marker is None else [marker.column])]:
        if slice_.logs and leaf_field(source.schema, name) is None:
            raise RefusedError(
                f"{source.storage.root}: versions of a record are merged by the column '{name}', "
                "which is not among the table's columns"
            )
    if source.config.merge.mode == "custom" and slice_.logs:
        payload = source.config.raw.get("hoodie.compaction.payload.class", "a custom merger")
        raise RefusedError(
            f"{source.storage.root}: file group {slice_.file_id} has logs, and records are merged "
            f"by {payload}, which is not supported"
        )


def usable_positions(blocks: Sequence[LogBlock], base_instant: str) -> list[Positions] | None:
    """The positions of each block's records, or None if any block lacks them.

    Hudi then goes by key for the whole slice.

    Args:
        blocks: data and delete blocks of a slice.
        base_instant: of the slice's base file.
    """
    found = []
    for block in blocks:
        text = block.header.get("RECORD_POSITIONS", "")
        if block.base_instant != base_instant or not text:
            return None
        try:
            positions = read_bitmap(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError) as error:
            raise InputError(f"{block.where}: the record positions are broken: {error}") from error
        if len(positions) == 0:
            return None
        found.append(positions)
    return found


def partial_columns(block: LogBlock) -> frozenset[str] | None:
    """The columns that a block of partial updates holds; None for a block of whole rows."""
    if not block.is_partial:
        return None
    try:
        return frozenset(f["name"] for f in json.loads(block.schema or "")["fields"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{block.where}: the schema is not an Avro record") from error


def _strange_blocks(
    logs: Sequence[tuple[LogFile, Sequence[LogBlock]]], timeline: Timeline
) -> Iterator[ScanWarning]:
    """Blocks that are not what the timeline and their file's name say.

    Args:
        logs: the logs of a slice in the order in which they apply, and the blocks of each.
        timeline: the table's.
    """
    unknown: dict[str, list[LogBlock]] = {}
    for log, blocks in logs:
        for block in blocks:
            if block.kind == "command":
                unknown.pop(block.rollback_target, None)
            elif timeline.config.timeline_layout == 1:
                if block.instant < log.instant:
                    reason = (
                        f"the block's instant {block.instant} is before {log.instant}, which the "
                        "file's name has"
                    )
                    yield ScanWarning(block.file, block.offset, reason)
                elif not timeline.knows(block.instant):
                    unknown.setdefault(block.instant, []).append(block)
            elif timeline.config.logs_name_writers and block.instant != log.instant:
                reason = f"the block's instant {block.instant} is not that of the file's name"
                yield ScanWarning(block.file, block.offset, reason)
            yield from _strange_columns(block, timeline)
    for blocks in unknown.values():
        for block in blocks:
            reason = (
                f"a block of {block.instant}, an instant that the timeline does not know, was "
                "left out"
            )
            yield ScanWarning(block.file, block.offset, reason)


def _strange_columns(block: LogBlock, timeline: Timeline) -> Iterator[ScanWarning]:
    """Columns that the block's writer did not have, as its commit tells; deletes name some, too."""
    if block.schema is None or block.compacted_instants:
        return
    written = timeline.written_columns(block.instant)
    if written is None:
        return
    try:
        own = {field["name"] for field in json.loads(block.schema or "null")["fields"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        return  # decoding it tells what is wrong
    strange = sorted(name for name in own - written if not name.startswith("_hoodie_"))
    if strange:
        reason = f"its schema has a column {strange[0]!r}, which the schema of its commit has not"
        yield ScanWarning(block.file, block.offset, reason)
