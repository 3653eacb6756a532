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

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.wording import counted
from seamkit.core._seam import ffi, lib
from seamkit.core.border import (
    ExportedBatch,
    address,
    batch_of,
    call,
    exported_schema,
    new_array,
)
from seamkit.core.memory import Closing, TrackedAllocator
from seamkit.offheap.columns.table import OffHeapTable
from seamkit.offheap.columns.types import CTypes, from_arrow
from seamkit.offheap.engine.columns import EngineSchema

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


@dataclass(frozen=True)
class _Form:
    """Batches of one schema, as the core knows them by a number; what its tables borrow."""

    number: int
    schema: pa.Schema
    engine: EngineSchema | None = None
    types: CTypes | None = None


class HandleRegistry(Closing):
    """Owns the native batches behind handles. Thread-safe.

    Handles start at 1 and are never given out twice, so that one used after its end is known for
    what it is. As a context manager it reports what was never released. Batches, native and of
    Arrow, take their memory from the allocator.
    """

    def __init__(self, allocator: TrackedAllocator) -> None:
        self.allocator = allocator
        self._lock = threading.Lock()
        #: The core's `struct seam_batches *`, which Java uses, too.
        self.pointer: Any = ffi.gc(lib.seam_batches_new(allocator.pointer), lib.seam_batches_free)
        self._forms: list[_Form] = []
        self._numbers: dict[bytes, int] = {}
        self._structs: set[int] = set()
        self._struct_numbers = itertools.count(1)
        self._conversions: Counter[tuple[BatchKind, BatchKind]] = Counter()

    def counters(self) -> BatchCounters:
        """A snapshot of the counters."""
        core = self._core_counters()
        with self._lock:
            return BatchCounters(
                core.opened,
                core.closed,
                core.retained,
                core.released,
                len(self._structs),
                MappingProxyType(dict(self._conversions)),
            )

    def _core_counters(self) -> Any:
        found = ffi.new("struct seam_batches_counters *")
        lib.seam_batches_counters(self.pointer, found)
        return found

    @property
    def in_use(self) -> int:
        """Handles and converters that nobody has ended."""
        core = self._core_counters()
        return int(core.opened - core.closed + core.converters)

    # ------------------------------------------------------------------------------- references

    def retain(self, handle: int) -> None:
        """One user more of a handle."""
        call(lib.seam_batches_retain, self.pointer, handle, by_caller=True)

    def release(self, handle: int) -> None:
        """One user less of a handle; the last one closes it and gives its memory back."""
        call(lib.seam_batches_release, self.pointer, handle, by_caller=True)

    def references(self, handle: int) -> int:
        """Users of a handle; 0 for one that is closed."""
        return int(lib.seam_batches_users(self.pointer, handle))

    def _require_structs(self, number: int, *, drop: bool = False) -> None:
        with self._lock:
            if number not in self._structs:
                raise UsageError("the batch of C structures was released or moved on already")
            if drop:
                self._structs.remove(number)

    # ------------------------------------------------------------------------------ conversions

    def _count(self, source: BatchKind, target: BatchKind) -> None:
        with self._lock:
            self._conversions[source, target] += 1

    def form(self, schema: pa.Schema, *, table: bool = False) -> int:
        """The number by which the core knows batches of a schema, or off-heap tables of it."""
        key = schema.serialize().to_pybytes() + bytes([table])
        with self._lock:
            if key not in self._numbers:
                self._numbers[key] = self._new_form(schema, table)
            return self._numbers[key]

    def _new_form(self, schema: pa.Schema, table: bool) -> int:
        engine, types = None, None
        if table:
            schema = pa.schema([column.with_nullable(True) for column in schema])
            types = CTypes([from_arrow(column.type) for column in schema])
            engine = EngineSchema(schema)
        number = ffi.new("int32_t *")
        slots, count = (engine.slots, len(engine.types)) if engine else (ffi.NULL, 0)
        exported = exported_schema(schema)
        call(lib.seam_batches_form, self.pointer, exported, slots, count, number)
        self._forms.append(_Form(number[0], schema, engine, types))
        return int(number[0])

    def to_native(self, batch: pa.RecordBatch | ArrowCBatch) -> NativeBatch:
        """Copy a batch into native memory; the result has one user, who is to release it.

        A batch of C structures is moved: it is used up. Columns may be null in the result, whatever
        the schema said before.
        """
        source: BatchKind = "arrow-c" if isinstance(batch, ArrowCBatch) else "arrow"
        rows = batch._move() if isinstance(batch, ArrowCBatch) else batch
        found = self._opened(rows, self._table_handle)
        self._count(source, "native")
        return found

    def _table_handle(self, batch: pa.RecordBatch) -> int:
        form = self._forms[self.form(batch.schema, table=True)]
        assert form.types is not None
        handle = ffi.new("int64_t *")
        with OffHeapTable(form.types, batch.num_rows, self.allocator) as table:
            table.append_batch(batch)
            call(lib.seam_batches_hold_table, self.pointer, form.number, table.pointer, handle)
        return int(handle[0])

    def hold(self, batch: pa.RecordBatch) -> NativeBatch:
        """Put a batch behind a handle without a copy; its buffers stay until the last user lets go.

        This is no conversion: the rows are in native memory already.
        """
        return self._opened(batch, self._array_handle)

    def _array_handle(self, batch: pa.RecordBatch) -> int:
        number = self.form(batch.schema)
        exported, handle = new_array(), ffi.new("int64_t *")
        batch._export_to_c(address(exported))
        call(lib.seam_batches_hold, self.pointer, number, exported, handle)
        return int(handle[0])

    def _opened(
        self, batch: pa.RecordBatch, handle_of: Callable[[pa.RecordBatch], int]
    ) -> NativeBatch:
        """A handle for rows; the result has one user."""
        if batch.num_columns == 0:  # there is no vector that could hold a handle
            return NativeBatch((), batch.num_rows)
        others = (PLACEHOLDER,) * (batch.num_columns - 1)
        return NativeBatch((IndicatorVector(self, handle_of(batch)), *others), batch.num_rows)

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
            number = next(self._struct_numbers)
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
        array, number = new_array(), ffi.new("int32_t *")
        call(lib.seam_batches_load, self.pointer, handle, array, number, by_caller=True)
        form = self._forms[number[0]]
        if form.engine is not None:
            return form.engine.imported(array)
        return pa.RecordBatch._import_from_c(address(array), form.schema)

    # -------------------------------------------------------------------------------------- end

    def close(self) -> None:
        """Give back whatever is left."""
        left = self._left()
        with self._lock:
            structs = len(self._structs)
            self._structs.clear()
        lib.seam_batches_clear(self.pointer)
        if left or structs:
            raise AssertionError(
                f"{counted(len(left), 'native batch', 'were')} never "
                f"released: {', '.join(left) or 'none'}; "
                f"{counted(structs, 'batch')} of C structures neither released nor moved on"
            )

    def _left(self) -> list[str]:
        count = lib.seam_batches_list(self.pointer, ffi.NULL, 0)
        found = ffi.new("struct seam_batches_entry[]", count)
        count = min(count, lib.seam_batches_list(self.pointer, found, count))
        return [
            f"handle {one.handle} ({counted(one.rows, 'row')}, {counted(one.users, 'user')})"
            for one in sorted(found[0:count], key=lambda one: int(one.handle))
        ]


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
