"""AUTO compression: when it pays, and that chunks are read whatever was chosen."""

import pyarrow as pa
import pytest

from seamkit.exchange.formats.adaptive import CompressStrategy
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.formats.protobuf import CHUNK


@pytest.mark.parametrize(
    ("raw", "packed", "nanoseconds", "exact", "whole"),
    [
        # ratio 4, 800 MB/s: (4 / 2.1) * (800 / 600) > 1; whole bytes a nanosecond are 0.
        (800_000, 200_000, 1_000_000, True, False),
        # ratio 4, 2 GB/s; both ways of counting agree.
        (2_000_000, 500_000, 1_000_000, True, True),
        # ratio 1.9 at 2 GB/s: whole, the ratio is 1: (1 / 2.1) * (2000 / 600) > 1 all the same.
        (1_900_000, 1_000_000, 950_000, True, True),
        # ratio 1.05 at 600 MB/s pays nothing.
        (630_000, 600_000, 1_050_000, False, False),
        # ratio 1.9, 1.5 GB/s: (1.9 / 2.1) * (1500 / 600) > 1; whole: (1 / 2.1) * (1000 / 600) < 1.
        (1_900_000, 1_000_000, 1_266_667, True, False),
    ],
)
def test_what_counts_as_paid(
    raw: int, packed: int, nanoseconds: int, exact: bool, whole: bool
) -> None:
    """Ratio over 2.1 times megabytes a second over 600, above 1; or with whole divisions."""
    for rewards, paid in (("exact", exact), ("whole", whole)):
        strategy = CompressStrategy(rewards)  # type: ignore[arg-type]
        strategy.feed(raw, packed, nanoseconds)
        assert (strategy.successes, strategy.failures) == (4, 1) if paid else (3, 2)


@pytest.mark.parametrize(("packed", "often"), [(1000, True), (1_000_000, False)])
def test_it_learns(packed: int, often: bool) -> None:
    """After a hundred good chunks it nearly always compresses, after bad ones nearly never."""
    strategy = CompressStrategy(seed=1)
    for _ in range(100):
        strategy.feed(1_000_000, packed, 1_000_000)
    assert sum(strategy.choose() for _ in range(100)) == (100 if often else 0)


def test_it_begins_by_compressing_mostly() -> None:
    """Beta(3, 1) is above one half in seven of eight draws."""
    strategy = CompressStrategy(seed=2)
    assert 840 <= sum(strategy.choose() for _ in range(1000)) <= 910


def test_chunks_are_read_whatever_was_chosen() -> None:
    """Of many chunks some are compressed and some may not be; each says so, and all come back."""
    batch = pa.record_batch({"k": pa.array([n % 3 for n in range(5000)], pa.int64())})
    bound = chunk_format("starrocks", batch.schema, {"codec": "auto", "encode_level": 0})
    seen = set()
    for _ in range(30):
        content = bound.encode(batch)
        seen.add(CHUNK.FromString(content).compress_type)
        assert bound.decode(content).equals(batch)
    assert seen <= {2, 4}  # NO_COMPRESSION, LZ4
    assert 4 in seen
