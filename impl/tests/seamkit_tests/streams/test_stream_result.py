"""A result that is read into again: right rows, and no fresh memory."""

import io
from random import Random
from typing import Any

import pytest

from seambase.serde import SerdeField, SerdeRequest
from seambase.types import schema_of
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.stream.byte_stream import ByteInputStream
from seamkit.serde.stream.registry import serde_named
from seamkit.serde.stream.result import VectorResult
from seamkit_tests.samples.stream_samples import PRESTO_FLAT, SPARK_FLAT, random_batch, random_type

NAMES = ("Presto", "UnsafeRow", "CompactRow")


def _written(name: str, seed: int, options: dict[str, Any]) -> tuple[Any, Any, bytes]:
    rng = Random(seed)
    flat = PRESTO_FLAT if name == "Presto" else SPARK_FLAT
    fields = [SerdeField(f"c{i}", random_type(rng, flat, 3)) for i in range(4)]
    request = SerdeRequest(name.lower(), fields, {})
    batch = random_batch(rng, schema_of(request), 50, encodings=name == "Presto")
    out = io.BytesIO()
    serde_named(name).batch(fields, options).serialize(batch, out)
    return fields, batch, out.getvalue()


@pytest.mark.parametrize("options", [{}, {"codec": "lz4"}])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_reading_again_allocates_nothing(name: str, options: dict[str, Any], seed: int) -> None:
    """The second page of the same shape takes the buffers of the first, which nobody holds."""
    fields, _, page = _written(name, seed, options)
    serde, result, inputs = serde_named(name), VectorResult(), TrackedAllocator()
    known, fresh = [], []
    for _ in range(4):
        result.clear()
        serde.deserialize(ByteInputStream([page], inputs), fields, options, result)
        known.append(result.batch().to_pylist())
        fresh.append(result.allocator.counters().total_blocks)
    assert str(known[1:]) == str(known[:1] * 3)  # NaNs are what they are
    assert fresh[0] > 0
    assert fresh[1:] == fresh[:1] * 3


@pytest.mark.parametrize("name", NAMES)
def test_what_somebody_holds_is_not_written_over(name: str) -> None:
    """A batch that was taken out stays as it is when the result is read into again."""
    fields, _, first = _written(name, 3, {})
    serde, result, inputs = serde_named(name), VectorResult(), TrackedAllocator()
    serde.deserialize(ByteInputStream([first], inputs), fields, {}, result)
    held = result.batch()
    before = str(held.to_pylist())
    other = first[: len(first)]
    fresh = result.allocator.counters().total_blocks
    result.clear()
    serde.deserialize(ByteInputStream([other], inputs), fields, {}, result)
    assert result.allocator.counters().total_blocks > fresh
    assert str(held.to_pylist()) == before == str(result.batch().to_pylist())
    addresses = {b.address for column in held.columns for b in column.buffers() if b}
    fresh_ones = {b.address for c in result.batch().columns for b in c.buffers() if b and b.size}
    assert not addresses & fresh_ones
