"""How to make sense of the logs of a slice: columns, instants, and the blocks that count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seamkit.core.memory import TrackedAllocator
from seamkit.files.equalities import RowTest
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.log.log import LogBlock, read_blocks
from seamkit.tables.hudi.log.log_order import order_blocks, without_compactions
from seamkit.tables.hudi.merge.block_checks import strange_blocks
from seamkit.tables.hudi.merge.keys import check_fields
from seamkit.tables.hudi.merge.row_events import OPERATION, leaf_field
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

__all__ = [
    "LogView",
    "partial_columns",
    "read_ordered_blocks",
    "refuse_merge",
    "with_operation",
]

_SUPPORTED_KINDS = ("avro", "parquet", "delete")


@dataclass(frozen=True)
class LogView:
    """What a read needs to know to make sense of any slice's logs.

    Attributes:
        storage: the table's folder.
        config: its properties.
        timeline: its instants.
        schema: the columns to read: those wanted, and those that `key_columns` and the ordering
            need.
        window: which instants count.
        strict: refuse damage that Hudi's own reader skips.
        allocator: where decoded rows live.
        held_bytes: what the rows of one slice's logs may take in memory while they are collected;
            the others wait on local disk. None for no bound.
        positions: match records by their positions in the base file where all blocks have them.
        threads: that decode the blocks of one slice, where memory is not bounded.
        key_test: which records may be asked for, by their keys; None for all.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    schema: pa.Schema
    window: Window
    strict: bool
    allocator: TrackedAllocator
    held_bytes: int | None = None
    positions: bool = False
    threads: int = 1
    key_test: RowTest | None = None

    @property
    def ordering(self) -> tuple[str, ...]:
        """The ordering columns, or none under commit-time ordering."""
        return self.config.ordering_fields if self.config.merge.mode == "event-time" else ()

    @property
    def ordering_types(self) -> pa.Schema:
        """The same with their types; they may lie inside structs."""
        fields = [leaf_field(self.schema, name) for name in self.ordering]
        return pa.schema([field for field in fields if field is not None])

    def valid_block(self, instant: str) -> bool:
        """Whether a data or delete block counts. From version 8 on the file name decides."""
        if not self.window.sees(instant):
            return False
        return self.config.version >= 8 or self.timeline.is_committed(instant)


def read_ordered_blocks(
    slice_: FileSlice, view: LogView, warnings: list[ScanWarning]
) -> list[LogBlock]:
    """The data and delete blocks of a slice that count, in the order in which they apply.

    Raises:
        InputError: a file is missing or broken beyond what Hudi's reader tolerates.
        RefusedError: a block of a kind that is not supported.
    """
    blocks: list[LogBlock] = []
    if view.config.merge.mode == "event-time" and not view.ordering:
        name = view.storage.full(".hoodie/hoodie.properties")
        reason = "records are merged by ordering values, but no ordering field is named"
        _warn(ScanWarning(name, -1, f"{reason}; the last write wins"), view.strict, warnings)
    logs = []
    for log, content in zip(slice_.logs, _contents(slice_, view.storage), strict=True):
        name = view.storage.full(log.path)
        if len(content) < log.size_bytes:
            raise InputError(
                f"{name}: {len(content)} bytes, but it was listed with {log.size_bytes}; the file "
                "was cut, or the table changes: plan the scan again"
            )
        own = read_blocks(content, file=name, warnings=warnings, strict=view.strict)
        blocks += own
        logs.append((log, own))
    for warning in strange_blocks(logs, view.timeline):
        _warn(warning, view.strict, warnings)
    if view.window.is_incremental and not view.window.alone:
        blocks = without_compactions(blocks)
    ordered = order_blocks(blocks, view.valid_block)
    for block in ordered:
        if block.kind not in _SUPPORTED_KINDS:
            raise RefusedError(
                f"{block.where}: log blocks of kind '{block.kind}' are not supported"
            )
        _check_base(block, view.timeline)
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
    """Tell of damage that Hudi's reader passes over.

    Raises:
        InputError: it is not to be passed over.
    """
    if strict:
        at = f"damaged at byte {warning.offset}: " if warning.offset >= 0 else ""
        raise InputError(f"{warning.file}: {at}{warning.reason}.")
    warnings.append(warning)


def with_operation(view: LogView, blocks: Sequence[LogBlock]) -> LogView:
    """The view with the operation of each row, where blocks have it.

    Changelog writers keep it as a meta column, which the table's schema does not tell.
    """
    told = view.schema.get_field_index(OPERATION) >= 0
    if told or not any(f'"{OPERATION}"' in (block.schema or "") for block in blocks):
        return view
    return replace(view, schema=view.schema.append(pa.field(OPERATION, pa.string())))


def refuse_merge(slice_: FileSlice, view: LogView) -> None:
    """Slices with logs cannot be read where code of the user's merges records.

    Nor where a column is missing that tells deletes, the order, or the keys.
    """
    if slice_.logs:
        check_fields(view.config, view.schema, view.storage.root)
    marker = view.config.merge.delete_marker
    for name in [*view.ordering, *([] if marker is None else [marker.column])]:
        if slice_.logs and leaf_field(view.schema, name) is None:
            raise RefusedError(
                f"{view.storage.root}: versions of a record are merged by the column '{name}', "
                "which is not among the table's columns"
            )
    if view.config.merge.mode == "custom" and slice_.logs:
        payload = view.config.raw.get("hoodie.compaction.payload.class", "a custom merger")
        raise RefusedError(
            f"{view.storage.root}: file group {slice_.file_id} has logs, and records are merged "
            f"by {payload}, which is not supported"
        )


def partial_columns(block: LogBlock) -> frozenset[str] | None:
    """The columns that a block of partial updates holds; None for a block of whole rows.

    Raises:
        InputError: its schema is broken.
    """
    if not block.is_partial:
        return None
    try:
        return frozenset(f["name"] for f in json.loads(block.schema or "")["fields"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{block.where}: the schema is not an Avro record") from error
