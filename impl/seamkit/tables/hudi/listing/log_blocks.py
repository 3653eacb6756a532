"""The log blocks of a slice that count, from its files, in the order in which they apply."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanWarning
from seambase.wording import counted
from seamkit.avro.schema import AvroType, field_paths, parse_schema
from seamkit.core.tasks import each
from seamkit.core.unpack import Bound
from seamkit.files.storage import Storage
from seamkit.files.variants.reader import in_pieces
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.files import FileSlice, LogFile
from seamkit.tables.hudi.listing.hfile import read_hfile
from seamkit.tables.hudi.log.log import LogBlock, order_blocks, read_blocks, without_compactions
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

_SUPPORTED_KINDS = ("avro", "parquet", "delete")
_EMPTIED, _AVRO_VERSION = "key", 3
IS_DELETED = "_hoodie_is_deleted"
_COMPARED = (
    pa.types.is_signed_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    lambda kind: pa.types.is_timestamp(kind) and kind.unit == "us",
)
"""Ordering columns whose values Avro and Spark hold as one Java class each."""


@dataclass(frozen=True)
class SliceLogs:
    """What the logs of all slices of a read have in common, however they are merged."""

    storage: Storage
    config: TableConfig
    timeline: Timeline
    schema: pa.Schema  # the columns of the table as the read shows them
    window: Window
    strict: bool = False  # refuse damage that Hudi's own reader skips

    def valid_block(self, instant: str) -> bool:
        """Whether a data or delete block counts.

        From version 8 on the file name decides, which of a dual write is that of a clustering.
        """
        if not self.window.sees(instant):
            return False
        if self.config.version >= 8:
            return not self.timeline.is_pending(instant)
        return self.timeline.is_committed(instant)

    @cached_property
    def avro(self) -> AvroType | None:
        """The table's schema with its defaults; None where it has ids, as Hudi uses none then."""
        if self.timeline.schema_history is not None:
            return None
        up_to = None if self.window.is_incremental else self.window.up_to
        text = self.timeline.latest_schema(up_to)
        return parse_schema(text) if text else None


def read_ordered_blocks(
    slice_: FileSlice, source: SliceLogs, warnings: list[ScanWarning]
) -> list[LogBlock]:
    """The data and delete blocks of a slice that count, in the order in which they apply."""
    blocks: list[LogBlock] = []
    if source.config.merge.mode == "event-time" and not source.config.ordering_fields:
        name = source.storage.full(".hoodie/hoodie.properties")
        reason = "records are merged by ordering values, but no ordering field is named"
        _warn(ScanWarning(name, -1, f"{reason}; the last write wins"), source.strict, warnings)
    _check_ordering(source)
    logs = []
    for log, content in zip(slice_.logs, _contents(slice_, source.storage), strict=True):
        name = source.storage.full(log.path)
        if len(content) < log.size_bytes:
            raise InputError(
                f"{name}: {counted(len(content), 'byte')}, but was listed with {log.size_bytes:,}; "
                "the file was cut, or the table changes: plan the scan again"
            )
        own = [*read_blocks(content, file=name, warnings=warnings, strict=source.strict)]
        blocks += own
        logs.append((log, own))
    for warning in _strange_blocks(logs, source.timeline):
        _warn(warning, source.strict, warnings)
    if source.window.is_incremental and not source.window.alone:
        blocks = without_compactions(blocks)
    bound = source.storage.bound
    ordered = [as_avro(one, bound) for one in order_blocks(blocks, source.valid_block)]
    for block in ordered:
        if block.kind not in _SUPPORTED_KINDS:
            raise RefusedError(
                f"{block.where}: log blocks of kind '{block.kind}' are not supported"
            )
        _check_base(block, source.timeline)
    _check_named_keys(slice_, ordered, source.config.delete_prefix)
    _check_gaps(ordered, source)
    return ordered


def as_avro(block: LogBlock, bound: Bound) -> LogBlock:
    """A block of an HFile as one of Avro, any other as it is.

    The values of the file are its records, in the order of their keys, so that positions do not go
    with them. A column by the name of the keys of a metadata table is emptied, and what Hudi puts
    there instead is the text of the record key.
    """
    if block.kind != "hfile":
        return block
    if _EMPTIED in parse_schema(block.schema or "null").names:
        raise RefusedError(
            f"{block.where}: the column '{_EMPTIED}' is emptied in HFiles, which is not supported; "
            "compact the table with Hudi, so that no log is left"
        )
    file = read_hfile(block.content, file=block.where, bound=bound)
    parts = [struct.pack(">ii", _AVRO_VERSION, len(file.entries))]
    for _, record in file.entries:
        parts += struct.pack(">i", len(record)), record
    header = {name: text for name, text in block.header.items() if name != "RECORD_POSITIONS"}
    return replace(block, kind="avro", header=header, content=memoryview(b"".join(parts)))


def refuse_pieces(own: pa.Schema, schema: pa.Schema, where: str) -> None:
    """Refuse variants in pieces, which the table's schema has whole."""
    cut = sorted({str(path[0]) for path in in_pieces(own)}.intersection(schema.names))
    if cut:
        raise RefusedError(
            f"{where}: columns {cut} have variants in pieces (typed_value), which are read of base "
            "files alone; compact the table with Hudi, so that no log is left"
        )


_HAVE_DEFAULTS = (
    *(pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string),
    *(pa.types.is_date32, pa.types.is_time, pa.types.is_timestamp),
)
"""Columns of which Arrow makes values of the defaults that Avro has in JSON."""


def defaults_of(block: LogBlock, source: SliceLogs, schema: pa.Schema) -> Mapping[str, Any]:
    """Values of columns that a block of Avro lacks, and whose default in the table is no null.

    Hudi reads such a block by the table's schema (`HoodieAvroDataBlock`), which fills them in; in
    files of Parquet it has nulls there, and in partial updates gaps.
    """
    if block.is_partial or source.avro is None:
        return {}
    found = {}
    for name, stated in _lacking(source.avro, parse_schema(block.schema or "null")):
        at = schema.get_field_index(name.partition(".")[0])
        if at < 0:
            continue
        found[name] = _value_of(stated, schema.field(at).type) if name in schema.names else None
        if found[name] is None:
            raise RefusedError(
                f"{block.where}: it lacks the field '{name}', whose default {stated!r:.80} in the "
                "table's schema is not supported; compact the table with Hudi, so that no log is "
                "left"
            )
    return found


def _value_of(stated: Any, kind: pa.DataType) -> Any:
    """A default as a value of a column; None where it is none that is known."""
    try:
        known = any(test(kind) for test in _HAVE_DEFAULTS)
        return pa.scalar(stated, kind).as_py() if known else None
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _lacking(table: AvroType, block: AvroType, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Fields of a table that a block lacks, dotted, with their defaults where these are no null."""
    own, there = table.value_type(), block.value_type()
    if own.kind != there.kind:
        return
    if own.kind in ("array", "map"):
        yield from _lacking(own.children[0], there.children[0], prefix)
    if own.kind == "record":
        present = dict(zip(there.names, there.children, strict=True))
        for name, child in zip(own.names, own.children, strict=True):
            if name in present:
                yield from _lacking(child, present[name], f"{prefix}{name}.")
            elif own.defaults.get(name) is not None:
                yield f"{prefix}{name}", own.defaults[name]


def _check_gaps(blocks: Sequence[LogBlock], source: SliceLogs) -> None:
    """Where defaults are gaps, those of Avro are meant, which are nulls in schemas of Spark."""
    # Hudi 1.2.0 compares others as Java's objects, which small numbers share, and by their values
    # where it runs a class (`PartialUpdateHandler`, `OverwriteNonDefaultsWithLatestAvroPayload`).
    rule = source.config.merge.fill_rule
    first = next((block for block in blocks if block.kind != "delete"), None)
    if rule is None or rule.gaps != "defaults" or first is None or first.is_partial:
        return
    defaults = source.avro.defaults if source.avro else {}
    for name in source.schema.names:
        # Where a row is no delete, neither is an older one that is left.
        if defaults.get(name) is not None and name != IS_DELETED:
            raise RefusedError(
                f"{first.where}: values that are a column's default leave older ones as they "
                f"are, and that of '{name}' is {defaults[name]!r:.80}; others than null are not "
                "supported; compact the table with Hudi, so that no log is left"
            )


def _check_named_keys(slice_: FileSlice, blocks: Sequence[LogBlock], prefix: str) -> None:
    """Deletes that name the key's field find virtual keys by their positions alone."""
    # By key Hudi 1.1.1 compares them with texts of rows that lack the name, and finds none.
    base = slice_.base
    if not prefix or (base and all(block.has_positions_in(base.instant) for block in blocks)):
        return
    for block in blocks:
        if block.kind == "delete":
            named = pc.starts_with(block.delete_keys().record_key_array, prefix)
            if pc.any(named).as_py():
                raise RefusedError(
                    f"{block.where}: record keys of deletes begin with '{prefix}', which those of "
                    "rows without meta columns do not, and without positions in the base file "
                    "Hudi does not find their rows; this is not supported"
                )


def _check_ordering(source: SliceLogs) -> None:
    """A class that Hudi runs compares ordering values only where both are of one Java class."""
    # Else the later write wins (`PartialUpdateAvroPayload.isRecordNewer`). Hudi 1.2.0 has the older
    # from Avro and the newer from Spark. 0.15.0 has dates and decimals of a log as Avro decodes
    # them, those of a base file as their logical type; texts, and values of two logs, it compares.
    for name in source.config.ordered_by if source.config.merge.runs_class else ():
        at = source.schema.get_field_index(name)
        if at < 0 or not any(test(source.schema.field(at).type) for test in _COMPARED):
            kind = f", {source.schema.field(at).type}," if at >= 0 else ", which lies in a struct,"
            raise RefusedError(
                f"{source.storage.full('.hoodie/hoodie.properties')}: PartialUpdateAvroPayload "
                f"merges logs by the ordering field '{name}'{kind} in one way in Hudi 0.15.0 and "
                "in another in 1.2.0; compact the table with Hudi, so that no log is left"
            )


def _check_base(block: LogBlock, timeline: Timeline) -> None:
    """The base file that a block was written over belongs to a write that had been completed."""
    # Its rows do not count if the timeline has lost the completion, and nothing else tells it.
    base = block.base_instant
    if base and not timeline.is_committed(base):
        raise InputError(
            f"{block.where}: its records are those of rows of the base file of {base}, which the "
            "timeline does not know as completed; restore the file of that instant in "
            f"{timeline.storage.full(timeline.config.timeline_folder)}"
        )


def _contents(slice_: FileSlice, storage: Storage) -> Iterable[memoryview]:
    """The bytes of a slice's logs; of logs elsewhere, whose bytes take their time, all at once."""

    def content(log: LogFile) -> memoryview:
        return memoryview(storage.map(log.path))

    if storage.is_local:
        return map(content, slice_.logs)
    return each(content, slice_.logs, storage.parallel)


def _warn(warning: ScanWarning, strict: bool, warnings: list[ScanWarning]) -> None:
    """Tell of damage that Hudi's reader passes over."""
    if strict:
        at = f"damaged at byte {warning.offset}: " if warning.offset >= 0 else ""
        raise InputError(f"{warning.file}: {at}{warning.reason}.")
    warnings.append(warning)


def _strange_blocks(
    logs: Sequence[tuple[LogFile, Sequence[LogBlock]]], timeline: Timeline
) -> Iterator[ScanWarning]:
    """Blocks of a slice's logs, as they apply, that contradict the timeline or their file name."""
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
            elif timeline.config.logs_name_writers and not _names_writer(log, block, timeline):
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


def _names_writer(log: LogFile, block: LogBlock, timeline: Timeline) -> bool:
    """Whether the name of a log bears its writer's instant, or that of a clustering meanwhile."""
    # It may be another where the writer says that this is its file: it wrote before an upgrade.
    if block.instant == log.instant or log.path in timeline.written_paths(block.instant):
        return True
    during = log.instant < block.instant and timeline.may_cluster(log.instant)
    return during and timeline.knows(block.instant)


def _strange_columns(block: LogBlock, timeline: Timeline) -> Iterator[ScanWarning]:
    """Columns, or fields within, that the block's writer did not have, as its commit tells."""
    # Deletes name some, too.
    if block.schema is None or block.compacted_instants:
        return
    written = timeline.written_columns(block.instant)
    if written is None:
        return
    try:
        own = field_paths(block.schema)
    except (InputError, RecursionError):
        return  # decoding it tells what is wrong
    strange = sorted(name for name in own - written if not name.startswith("_hoodie_"))
    if strange:
        reason = f"its schema has a column {strange[0]!r}, which the schema of its commit has not"
        yield ScanWarning(block.file, block.offset, reason)
