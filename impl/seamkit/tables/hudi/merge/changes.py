"""The logs of a slice as changes of a read unit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from seamkit.files.equalities import RowTest, test_of_rows
from seamkit.files.storage import Storage
from seamkit.scan.units import Events, Positions, ReadContext
from seamkit.tables.hudi.config.properties import TableConfig
from seamkit.tables.hudi.listing.slices import FileSlice
from seamkit.tables.hudi.merge.events import read_columns, read_slice_log
from seamkit.tables.hudi.merge.keys import RECORD_KEY
from seamkit.tables.hudi.merge.row_events import IS_DELETED, OPERATION, root_of
from seamkit.tables.hudi.merge.view import LogView
from seamkit.tables.hudi.timeline.timeline import Timeline
from seamkit.tables.hudi.timeline.window import Window

__all__ = ["LogSource", "SliceChanges"]

# A log is not compressed, and is decoded faster than as many bytes of a Parquet file.
_MOST_TIMES_BASE = 4


@dataclass(frozen=True)
class LogSource:
    """What all slices of a read have in common.

    Attributes:
        storage: the table's folder.
        config: its properties.
        timeline: its instants.
        schema: all columns of the table, as the read shows them.
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

    def view(self, names: Sequence[str], context: ReadContext) -> LogView:
        """How to read logs for some columns: these, and those that merging needs."""
        columns = self.schema.names
        needed = [root_of(name, columns) for name in self.config.record_keys]
        needed += [RECORD_KEY, IS_DELETED, OPERATION]
        if self.config.merge.mode == "event-time":
            needed += [root_of(name, columns) for name in self.config.ordering_fields]
        if self.config.merge.delete_marker is not None:
            needed.append(self.config.merge.delete_marker.column)
        known = set(self.schema.names)
        wanted = dict.fromkeys([*names, *(name for name in needed if name in known)])
        return LogView(
            self.storage,
            self.config,
            self.timeline,
            pa.schema([self.schema.field(name) for name in wanted]),
            self.window,
            self.strict,
            context.allocator,
            context.held_bytes,
            self.positions,
            context.threads,
            self._key_test(context),
        )

    def _key_test(self, context: ReadContext) -> RowTest | None:
        """Which records the condition of a read may be true of, as far as their keys tell.

        By fields of a key only where one record key is one set of values: texts with commas and
        colons in them may make one key in two ways. Strict reads look at all records.
        """
        keys = [name for name in self.config.record_keys if name in self.schema.names]
        kinds = [self.schema.field(name).type for name in keys]
        plain = all(pa.types.is_integer(kind) or pa.types.is_date32(kind) for kind in kinds)
        if len(keys) < len(self.config.record_keys) or not (plain or len(keys) == 1):
            keys = []
        names = [*keys, *({RECORD_KEY}.intersection(self.schema.names))]
        if self.strict or context.condition is None:
            return None
        known = pa.schema([self.schema.field(name) for name in names])
        return test_of_rows(context.condition, known)


@dataclass(frozen=True)
class SliceChanges:
    """The logs of one slice: `seamkit.scan.units.Keyed`.

    Attributes:
        slice_: base file, logs, or both.
        source: what it shares with the others.
    """

    slice_: FileSlice
    source: LogSource

    @property
    def key_columns(self) -> frozenset[str]:
        """The record key, which never changes.

        By position the rows of a base file must all be there, and records that fill gaps look for
        those they fill.
        """
        config = self.source.config
        if self.source.positions or config.merge.fill_rule is not None:
            return frozenset()
        return frozenset((RECORD_KEY, *config.record_keys))

    def identity(self) -> Hashable | None:
        """The table's state, and the slice's files as they are now; see `Keyed.identity`."""
        base = self.slice_.base
        if self.source.identity is None or (base is not None and base.external is not None):
            return None
        paths = [log.path for log in self.slice_.logs] + ([base.path] if base is not None else [])
        files = tuple(map(self.source.storage.file_identity, paths))
        return None if None in files else (self.source.identity, self.slice_.file_id, files)

    def load(self, names: Sequence[str], context: ReadContext) -> Events | Positions:
        """Decode, order and fold the logs.

        By several threads only where logs are most of the slice: to cut them into pieces and to put
        these together takes time, too, and the base file is read meanwhile.
        """
        base = self.slice_.base
        log_bytes = sum(log.size_bytes for log in self.slice_.logs)
        if base is not None and log_bytes < _MOST_TIMES_BASE * base.size_bytes:
            context = replace(context, threads=1)
        if not self.key_columns:
            context = replace(context, condition=None)
        view = self.source.view(names, context)
        return read_slice_log(self.slice_, view, names, context.warnings)

    def further(self, names: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """Decode some columns of all records; see `Keyed.further`."""
        view = self.source.view(names, replace(context, threads=1, condition=None))
        schema = pa.schema([self.source.schema.field(name) for name in names])
        return read_columns(self.slice_, replace(view, schema=schema), context.warnings)
