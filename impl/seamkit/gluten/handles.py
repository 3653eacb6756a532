"""Native batches behind handles, as Gluten's Spark plugin passes them around.

Spark's operators see a batch of vectors. Where the rows lie in native memory, the first vector is
an *indicator* that holds a 64-bit handle and counts who uses it; all others are one shared
*placeholder*. No value can be read through either. There are as many vectors as columns, so a batch
without columns has no place for a handle and is only a number of rows (Gluten snapshot 02bc4f6,
`IndicatorVector`, `PlaceholderVector`, `ColumnarBatches`).

A batch is of one of three kinds, and turned into another by a copy or by moving it, each counted:

| kind | rows lie in |
|---|---|
| `native` | an off-heap table behind a handle, or a reader's batch as it is (`hold`) |
| `arrow` | a `pyarrow.RecordBatch` |
| `arrow-c` | an `ArrowSchema` and an `ArrowArray`, to be handed to other languages |
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import numpy as np
import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.foreign_arrow import stream_of
from seamkit.core.arrow_data import ExportedBatch, address, batch_of
from seamkit.core.memory import Closing, TrackedAllocator
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import from_arrow
from seamkit.offheap.engine.columns import EngineSchema, fill

BatchKind = Literal["native", "arrow", "arrow-c"]

#: What Spark's `ColumnVector` can be asked.
GETTERS = (
    *("has_null", "num_nulls", "is_null_at", "get_boolean", "get_byte", "get_short", "get_int"),
    *("get_long", "get_float", "get_double", "get_decimal", "get_utf8_string", "get_binary"),
    *("get_array", "get_map", "get_struct", "get_interval", "get_child"),
)


class _Opaque:
    """A vector without values; every getter raises."""

    #: What Spark takes the vector for: a column of nulls.
    data_type = pa.null()

    def __getattr__(self, name: str) -> Any:
        if name not in GETTERS:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

        def refuse(*_: object) -> NoReturn:
            raise RefusedError(f"{name}: a native batch shows no values; turn it into Arrow first")

        return refuse


class PlaceholderVector(_Opaque):
    """Stands for any column of a native batch but the first."""


#: The one placeholder of all batches.
PLACEHOLDER = PlaceholderVector()


class IndicatorVector(_Opaque):
    """Stands for the first column of a native batch, and holds its handle."""

    def __init__(self, registry: HandleRegistry, handle: int) -> None:
        self._registry = registry
        self.handle = handle

    def retain(self) -> None:
        """One user more."""
        self._registry.retain(self.handle)

    def release(self) -> None:
        """One user less; the last one closes the handle."""
        self._registry.release(self.handle)

    @property
    def references(self) -> int:
        """How many users there are; 0 once closed."""
        return self._registry.references(self.handle)


@dataclass(frozen=True)
class NativeBatch:
    """What Spark's operators see of a native batch.

    Attributes:
        vectors: an indicator, then placeholders, one a column; empty for a batch without columns.
    """

    vectors: tuple[IndicatorVector | PlaceholderVector, ...]
    num_rows: int
    kind: BatchKind = "native"

    @property
    def indicator(self) -> IndicatorVector | None:
        """The vector with the handle; None for a batch without columns, which has none."""
        first = self.vectors[0] if self.vectors else None
        assert first is None or isinstance(first, IndicatorVector)
        return first

    def retain(self) -> None:
        """One user more; see `IndicatorVector.retain`."""
        if self.indicator is not None:
            self.indicator.retain()

    def release(self) -> None:
        """One user less; see `IndicatorVector.release`."""
        if self.indicator is not None:
            self.indicator.release()


class ArrowCBatch:
    """Owns a batch as Arrow's C structures, until it is moved on or released."""

    kind: BatchKind = "arrow-c"

    def __init__(self, registry: HandleRegistry, number: int, batch: pa.RecordBatch) -> None:
        self._registry = registry
        self._number = number
        self._exported = ExportedBatch(batch)
        self.num_rows = int(batch.num_rows)

    @property
    def addresses(self) -> tuple[int, int]:
        """Addresses of the `ArrowSchema` and the `ArrowArray`."""
        self._registry._require_structs(self._number)
        return address(self._exported.schema), address(self._exported.array)

    def release(self) -> None:
        """Let go of the structures and what they hold."""
        self._registry._require_structs(self._number, drop=True)
        del self._exported

    def _move(self) -> pa.RecordBatch:
        schema, array = self.addresses
        batch = pa.RecordBatch._import_from_c(array, schema)
        self.release()
        return batch


@dataclass(frozen=True)
class BatchCounters:
    """What a registry has seen.

    Attributes:
        opened: handles given out.
        closed: handles whose last user let go.
        retained: users that came after the first.
        released: users that let go.
        structs: batches that are C structures now.
        conversions: how many batches went from one kind to another.
    """

    opened: int
    closed: int
    retained: int
    released: int
    structs: int
    conversions: Mapping[tuple[BatchKind, BatchKind], int]

    @property
    def live(self) -> int:
        """Handles in use."""
        return self.opened - self.closed


class _TableRows:
    """Rows in an off-heap table."""

    def __init__(self, batch: pa.RecordBatch, allocator: TrackedAllocator) -> None:
        types = [from_arrow(column.type) for column in batch.schema]
        self._schema = pa.schema([column.with_nullable(True) for column in batch.schema])
        self._allocator = allocator
        self._table = OffHeapTable(types, batch.num_rows, allocator)
        try:
            self._table.append_batch(batch)
        except BaseException:
            self._table.release()
            raise

    def load(self) -> pa.RecordBatch:
        return fill(self._table.chain(), EngineSchema(self._schema), self._allocator)

    def release(self) -> None:
        self._table.release()


class _BatchRows:
    """Rows of a batch that a reader or a converter made, in the memory where they are."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch: pa.RecordBatch | None = batch

    def load(self) -> pa.RecordBatch:
        return self._batch

    def release(self) -> None:
        self._batch = None


@dataclass
class _Entry:
    rows: _TableRows | _BatchRows
    num_rows: int
    references: int = 1
    exported: ExportedBatch | None = None


@dataclass
class _Counts:
    opened: int = 0
    closed: int = 0
    retained: int = 0
    released: int = 0
    numbers: int = 0
    conversions: Counter[tuple[BatchKind, BatchKind]] = field(default_factory=Counter)


class HandleRegistry(Closing):
    """Owns the native batches behind handles. Thread-safe.

    Handles start at 1 and are never given out twice, so that one used after its end is known for
    what it is. As a context manager it reports what was never released. Batches, native and of
    Arrow, take their memory from the allocator.
    """

    def __init__(self, allocator: TrackedAllocator) -> None:
        self._allocator = allocator
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry] = {}
        self._structs: set[int] = set()
        self._counts = _Counts()

    def counters(self) -> BatchCounters:
        """A snapshot of the counters."""
        with self._lock:
            counts = self._counts
            return BatchCounters(
                counts.opened,
                counts.closed,
                counts.retained,
                counts.released,
                len(self._structs),
                MappingProxyType(dict(counts.conversions)),
            )

    # ------------------------------------------------------------------------------- references

    def _entry(self, handle: int) -> _Entry:
        """The entry of a handle; the lock is held."""
        if handle not in self._entries:
            ever = 1 <= handle <= self._counts.opened
            raise UsageError(
                f"handle {handle} is closed: it was released as often as it was retained"
                if ever
                else f"there never was a handle {handle}"
            )
        return self._entries[handle]

    def retain(self, handle: int) -> None:
        """One user more of a handle."""
        with self._lock:
            self._entry(handle).references += 1
            self._counts.retained += 1

    def release(self, handle: int) -> None:
        """One user less of a handle; the last one closes it and gives its memory back."""
        with self._lock:
            entry = self._entry(handle)
            entry.references -= 1
            self._counts.released += 1
            if entry.references == 0:
                del self._entries[handle]
                self._counts.closed += 1
                entry.rows.release()

    def references(self, handle: int) -> int:
        """Users of a handle; 0 for one that is closed."""
        with self._lock:
            return self._entries[handle].references if handle in self._entries else 0

    def _require_structs(self, number: int, *, drop: bool = False) -> None:
        with self._lock:
            if number not in self._structs:
                raise UsageError("the batch of C structures was released or moved on already")
            if drop:
                self._structs.remove(number)

    # ------------------------------------------------------------------------------ conversions

    def _count(self, source: BatchKind, target: BatchKind) -> None:
        with self._lock:
            self._counts.conversions[source, target] += 1

    def to_native(self, batch: pa.RecordBatch | ArrowCBatch) -> NativeBatch:
        """Copy a batch into native memory; the result has one user, who is to release it.

        A batch of C structures is moved: it is used up. Columns may be null in the result, whatever
        the schema said before.
        """
        source: BatchKind = "arrow-c" if isinstance(batch, ArrowCBatch) else "arrow"
        rows = batch._move() if isinstance(batch, ArrowCBatch) else batch
        found = self._open(rows, lambda: _TableRows(rows, self._allocator))
        self._count(source, "native")
        return found

    def hold(self, batch: pa.RecordBatch) -> NativeBatch:
        """Put a batch behind a handle without a copy; its buffers stay until the last user lets go.

        This is no conversion: the rows are in native memory already.
        """
        return self._open(batch, lambda: _BatchRows(batch))

    def _open(
        self, batch: pa.RecordBatch, own: Callable[[], _TableRows | _BatchRows]
    ) -> NativeBatch:
        """A handle for rows; the result has one user."""
        if batch.num_columns == 0:  # there is no vector that could hold a handle
            return NativeBatch((), batch.num_rows)
        rows = own()
        with self._lock:
            self._counts.opened += 1
            handle = self._counts.opened
            self._entries[handle] = _Entry(rows, batch.num_rows)
        others = (PLACEHOLDER,) * (batch.num_columns - 1)
        return NativeBatch((IndicatorVector(self, handle), *others), batch.num_rows)

    def to_arrow(self, batch: NativeBatch | ArrowCBatch) -> pa.RecordBatch:
        """A batch as Arrow, a native one as `load` gives it; C structures are moved."""
        rows = batch._move() if isinstance(batch, ArrowCBatch) else self._load(batch)
        self._count(batch.kind, "arrow")
        return rows

    def to_arrow_c(self, batch: pa.RecordBatch | NativeBatch) -> ArrowCBatch:
        """A batch as C structures over an Arrow batch's buffers, or those that `load` gives."""
        native = isinstance(batch, NativeBatch)
        rows = self._load(batch) if isinstance(batch, NativeBatch) else batch
        with self._lock:
            self._counts.numbers += 1
            number = self._counts.numbers
            self._structs.add(number)
        self._count("native" if native else "arrow", "arrow-c")
        return ArrowCBatch(self, number, rows)

    def _load(self, batch: NativeBatch) -> pa.RecordBatch:
        indicator = batch.indicator
        if indicator is None:
            return batch_of((), (), batch.num_rows)
        return self.load(indicator.handle)

    def load(self, handle: int) -> pa.RecordBatch:
        """The rows behind a handle as Arrow: a copy of a table, a held batch as it is."""
        with self._lock:  # nobody may close it meanwhile
            return self._entry(handle).rows.load()

    def structure(self, handle: int) -> int:
        """The address of an `ArrowArray` of the rows behind a handle; it is good as long as that.

        All its arrays begin with their first element, which vectors of Java's library ask for: a
        slice is copied.
        """
        with self._lock:
            entry = self._entry(handle)
            if entry.exported is None:
                entry.exported = _exported_whole(entry.rows.load())
            return address(entry.exported.array)

    # -------------------------------------------------------------------------------------- end

    def close(self) -> None:
        """Give back whatever is left."""
        with self._lock:
            left = dict(self._entries)
            structs = len(self._structs)
            self._entries.clear()
            self._structs.clear()
            for entry in left.values():
                entry.rows.release()
        if left or structs:
            handles = ", ".join(
                f"handle {handle} ({entry.num_rows} rows, {entry.references} users)"
                for handle, entry in left.items()
            )
            raise AssertionError(
                f"{len(left)} native batches were never released: {handles or 'none'}; "
                f"{structs} batches of C structures neither released nor moved on"
            )


def _exported_whole(batch: pa.RecordBatch) -> ExportedBatch:
    exported = ExportedBatch(batch)
    if _begins_whole(address(exported.array)):
        return exported
    with pa.ipc.open_stream(stream_of([batch], batch.schema)) as reader:  # cuts to what is used
        return ExportedBatch(reader.read_next_batch())


def _words(at: int, count: int) -> list[int]:
    """Words of memory that others hold meanwhile."""
    found: list[int] = np.frombuffer(pa.foreign_buffer(at, 8 * count), np.int64).tolist()
    return found


def _begins_whole(array: int) -> bool:
    """Whether the `ArrowArray` at an address and those within begin with their first elements.

    Its words are: length, nulls, offset, number of buffers and of children, where these are.
    """
    _, _, offset, _, children, _, where = _words(array, 7)
    return offset == 0 and all(map(_begins_whole, _words(where, children) if children else ()))


def through_kinds(
    registry: HandleRegistry, batch: pa.RecordBatch, kinds: Sequence[BatchKind]
) -> pa.RecordBatch:
    """The rows of a batch after they went from kind to kind; every batch on the way is released."""
    ends = {kinds[0], kinds[-1]} if kinds else set()
    if ends != {"arrow"} or any(a == b for a, b in pairwise(kinds)):
        raise UsageError(
            f"kinds {', '.join(kinds)}: they begin and end with arrow, and change with each step"
        )
    turn: Mapping[BatchKind, Callable[[Any], Any]] = {
        "native": registry.to_native,
        "arrow": registry.to_arrow,
        "arrow-c": registry.to_arrow_c,
    }
    now: Any = batch
    for kind in kinds[1:]:
        before = now
        try:
            now = turn[kind](before)
        finally:
            if isinstance(before, NativeBatch):
                before.release()
    assert isinstance(now, pa.RecordBatch)
    return now
