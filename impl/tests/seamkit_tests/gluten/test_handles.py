"""Native handles: who uses them, what they show, how batches change kinds, what leaks."""

import gc
from collections.abc import Iterator

import pyarrow as pa
import pytest

from seambase.errors import RefusedError, UsageError
from seamkit.core.border import NativeMemoryError
from seamkit.core.memory import TrackedAllocator
from seamkit.gluten.handles import (
    GETTERS,
    PLACEHOLDER,
    BatchKind,
    HandleRegistry,
    IndicatorVector,
    NativeBatch,
    through_kinds,
)

ROWS = pa.RecordBatch.from_pydict(
    {
        "id": pa.array([1, None, 3], pa.int64()),
        "name": pa.array(["a", None, "naïve"]),
        "day": pa.array([0, 1, None], pa.int32()).view(pa.date32()),
    }
)
NO_ROWS = ROWS.slice(0, 0)
NO_COLUMNS = pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), 5, [None]))


@pytest.fixture
def registry(allocator: TrackedAllocator) -> Iterator[HandleRegistry]:
    """A registry in which nothing may be left at the end."""
    with HandleRegistry(allocator) as found:
        yield found


def test_a_native_batch_is_an_indicator_and_placeholders(registry: HandleRegistry) -> None:
    """As many vectors as columns; the handle is in the first, the others are one object."""
    batch = registry.to_native(ROWS)
    assert len(batch.vectors) == ROWS.num_columns
    assert isinstance(batch.vectors[0], IndicatorVector)
    assert batch.vectors[1] is batch.vectors[2] is PLACEHOLDER
    assert batch.vectors[0].handle > 0
    assert batch.num_rows == 3
    batch.release()


@pytest.mark.parametrize("getter", GETTERS)
def test_no_getter_gives_a_value(registry: HandleRegistry, getter: str) -> None:
    """Whoever asks a native batch for a value has not turned it into Arrow: an error says so."""
    batch = registry.to_native(ROWS)
    for vector in batch.vectors:
        assert vector.data_type == pa.null()
        with pytest.raises(RefusedError, match=getter):
            getattr(vector, getter)(0)
    with pytest.raises(AttributeError, match="get_nothing"):
        batch.vectors[0].get_nothing(0)
    batch.release()


def test_the_last_user_closes_the_handle(
    registry: HandleRegistry, allocator: TrackedAllocator
) -> None:
    """Retain and release count; memory goes back when nobody is left, and not before."""
    batch = registry.to_native(ROWS)
    indicator = batch.indicator
    assert indicator is not None
    assert indicator.references == 1
    batch.retain()
    batch.retain()
    assert indicator.references == 3
    batch.release()
    batch.release()
    assert allocator.counters().live_blocks > 0
    batch.release()
    assert indicator.references == 0
    assert allocator.counters().live_blocks == 0
    counters = registry.counters()
    assert (counters.opened, counters.closed, counters.live) == (1, 1, 0)
    assert (counters.retained, counters.released) == (2, 3)


def test_a_double_release_is_an_error(registry: HandleRegistry) -> None:
    """A handle that is closed is refused by name, also where another one was opened since."""
    first = registry.to_native(ROWS)
    first.release()
    second = registry.to_native(ROWS)
    assert first.indicator is not None
    for use in (first.release, first.retain, lambda: registry.to_arrow(first)):
        with pytest.raises(UsageError, match="handle 1 is closed"):
            use()
    with pytest.raises(UsageError, match="never was a handle 99"):
        registry.release(99)
    assert registry.to_arrow(second) == ROWS
    second.release()


def test_a_lost_release_is_reported(allocator: TrackedAllocator) -> None:
    """What nobody released is listed at the end, and its memory goes back all the same."""
    registry = HandleRegistry(allocator)
    registry.to_native(ROWS)
    batch = registry.to_native(NO_ROWS)
    batch.retain()
    structs = registry.to_arrow_c(ROWS)
    with pytest.raises(AssertionError) as caught:
        registry.close()
    assert "2 native batches were never released" in str(caught.value)
    assert "handle 1 (3 rows, 1 user)" in str(caught.value)
    assert "handle 2 (0 rows, 2 users)" in str(caught.value)
    assert "1 batch of C structures" in str(caught.value)
    registry.close()
    with pytest.raises(UsageError, match="released or moved"):
        structs.release()


def test_an_error_is_not_hidden_by_a_leak(allocator: TrackedAllocator) -> None:
    """Within a failing block the first error is the one to see."""
    registry = HandleRegistry(allocator)

    def misuse() -> None:
        registry.to_native(ROWS)
        registry.release(99)

    with pytest.raises(UsageError, match="never was a handle 99"), registry:
        misuse()


def test_a_batch_without_columns_has_no_handle(registry: HandleRegistry) -> None:
    """Only its number of rows is known; retain and release have nothing to count."""
    batch = registry.to_native(NO_COLUMNS)
    assert batch == NativeBatch((), 5)
    assert batch.indicator is None
    batch.retain()
    batch.release()
    batch.release()
    assert registry.counters().opened == 0


def test_c_structures_are_used_up_once(registry: HandleRegistry) -> None:
    """Moving on or releasing ends them; a second time is an error."""
    moved = registry.to_arrow_c(ROWS)
    registry.to_native(moved).release()
    released = registry.to_arrow_c(ROWS)
    assert all(released.addresses)
    assert registry.counters().structs == 1
    released.release()
    for batch in (moved, released):
        with pytest.raises(UsageError, match="released or moved"):
            batch.release()
        with pytest.raises(UsageError, match="released or moved"):
            registry.to_arrow(batch)
    assert registry.counters().structs == 0


def test_columns_that_may_not_be_null_may_be_in_native_memory(registry: HandleRegistry) -> None:
    """An off-heap column may always hold nulls, so the promise is not kept in its schema."""
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    batch = registry.to_native(pa.RecordBatch.from_arrays([pa.array([1, 2])], schema=strict))
    found = registry.to_arrow(batch)
    assert found.schema.field(0).nullable
    assert found.column(0).to_pylist() == [1, 2]
    batch.release()


def test_a_type_that_no_column_holds_is_refused(registry: HandleRegistry) -> None:
    """Nothing is opened for it."""
    with pytest.raises(RefusedError, match="uint64"):
        registry.to_native(pa.RecordBatch.from_pydict({"n": pa.array([1], pa.uint64())}))
    assert registry.counters().opened == 0


def test_a_held_batch_is_not_copied(registry: HandleRegistry, allocator: TrackedAllocator) -> None:
    """A reader's batch behind a handle is the same memory, and no step between kinds."""
    batch = registry.hold(ROWS)
    assert allocator.counters().live_blocks == 0
    held = registry.to_arrow(batch)
    assert held.column(1).buffers()[2].address == ROWS.column(1).buffers()[2].address
    assert dict(registry.counters().conversions) == {("native", "arrow"): 1}
    batch.release()
    with pytest.raises(UsageError, match="handle 1 is closed"):
        registry.to_arrow(batch)
    assert held == ROWS  # whoever took the rows keeps them


@pytest.mark.parametrize(
    "kinds", [[], ["arrow", "native"], ["native", "arrow"], ["arrow", "arrow"]], ids=str
)
def test_kinds_that_are_no_way(registry: HandleRegistry, kinds: list[BatchKind]) -> None:
    """A way begins and ends with Arrow and changes the kind with each step."""
    with pytest.raises(UsageError, match="kinds"):
        through_kinds(registry, ROWS, kinds)


def test_a_way_through_kinds_releases_what_it_opened(registry: HandleRegistry) -> None:
    """Every step is counted and every handle closed, whatever the rows are."""
    way: list[BatchKind] = ["arrow", "native", "arrow-c", "native", "arrow"]
    for rows in (ROWS, NO_ROWS, NO_COLUMNS):
        assert through_kinds(registry, rows, way) == rows
    counters = registry.counters()
    assert (counters.opened, counters.closed, counters.structs) == (4, 4, 0)
    assert counters.conversions["native", "arrow-c"] == 3


def test_a_way_that_fails_leaves_nothing(
    registry: HandleRegistry, allocator: TrackedAllocator
) -> None:
    """Whichever allocation fails on the way: an error, no handle, no block, no structures."""
    way: list[BatchKind] = ["arrow", "native", "arrow-c", "native", "arrow"]
    gc.collect()
    gc.freeze()  # so that collections below only look at what the failures leave
    for n in range(1, 200):
        allocator.fail_after(n)
        failed = False
        try:
            through_kinds(registry, ROWS, way)
        except NativeMemoryError:
            failed = True
        if not failed:
            break
        gc.collect()  # batches that the caught exception held
        assert allocator.counters().live_blocks == 0
        assert registry.counters().live == registry.counters().structs == 0
    else:
        pytest.fail("every allocation fails")
    assert n > 1
