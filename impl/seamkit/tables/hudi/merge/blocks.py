"""What merges of all slices of a read share, and what log blocks say of the rows they change.

The header `RECORD_POSITIONS` says which rows of the base file a block's records are: base64 of a
64-bit roaring bitmap in its portable form; the n-th set bit belongs to the n-th record. It counts
for the base file whose instant the header `BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS` names, and
for no other (Hudi 1.2.0, PositionBasedFileGroupRecordBuffer).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import InputError, RefusedError
from seamkit.files.equalities import RowTest, row_test
from seamkit.files.roaring import Positions, read_bitmap
from seamkit.tables.hudi.listing.files import FileSlice
from seamkit.tables.hudi.listing.log_blocks import SliceLogs
from seamkit.tables.hudi.log.log import LogBlock
from seamkit.tables.hudi.merge.keys import (
    IS_DELETED,
    OPERATION,
    RECORD_KEY,
    check_fields,
    leaf_field,
    root_of,
)


@dataclass(frozen=True)
class LogSource(SliceLogs):
    """The same with what merging needs; the columns that are read, see `reading`.

    Attributes:
        positions: match records by their positions in the base file where all blocks of a slice
            have them. It spares reading keys and changes no row, but where the base holds a key
            twice: Hudi logs both positions then, and both rows change.
    """

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
