"""Merging sorted senders, against a plain stable sort of all rows."""

import math
import threading
from collections import deque
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.encodings import plain_type
from seambase.errors import InputError, RefusedError, UsageError
from seambase.foreign_arrow import stream_of
from seambase.values import SortKey
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.logic.messages import Bound
from seamkit.exchange.logic.options import ReceiverOptions, SinkOptions
from seamkit.exchange.partition import PartitionRule, Routing
from seamkit.exchange.sink import ExchangeSink
from seamkit.exchange.sorted_senders import MergingReader, SortedMerge
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.local import LocalChannel

_VALUES: dict[Any, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-(2**7), 2**7 - 1),
    pa.int64(): st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.bool_(): st.booleans(),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats() | st.sampled_from([0.0, -0.0, math.nan]),
    pa.string(): st.text(alphabet="a\0\x01é中😀", max_size=4),
    pa.binary(): st.binary(max_size=3),
    pa.large_string(): st.text(max_size=2),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.date32(): st.dates(),
    pa.decimal128(5, 2): st.integers(-(10**4), 10**4).map(lambda n: Decimal(n) / 100),
}


def _rank(value: Any) -> Any:
    """Numbers with NaN greatest and -0 as 0; texts by their UTF-8 bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def _ordered(rows: Sequence[tuple[Any, ...]], keys: Sequence[SortKey]) -> list[tuple[Any, ...]]:
    """A stable sort by each key, the last one first."""
    found = list(rows)
    for at in reversed(range(len(keys))):
        there = [row for row in found if row[at] is not None]
        nulls = [row for row in found if row[at] is None]
        there.sort(key=lambda row, at=at: _rank(row[at]), reverse=keys[at].descending)  # type: ignore[misc]
        found = nulls + there if keys[at].nulls_first else there + nulls
    return found


def _merged(
    merge: SortedMerge, inputs: Sequence[Sequence[pa.RecordBatch]], bounded: Sequence[SortKey] = ()
) -> list[pa.RecordBatch]:
    """Everything that a merge of inputs gives; each batch's first keys may be told before it."""
    waiting = [deque(batches) for batches in inputs]
    told = [len(batches) + 1 for batches in waiting]
    found = []
    while True:
        while (wanted := merge.wants) is not None:
            batches = waiting[wanted]
            if not batches:
                merge.end(wanted)
            elif bounded and len(batches) < told[wanted]:
                told[wanted] = len(batches)
                merge.bound(wanted, _bound(batches[0], [key.column for key in bounded]))
            else:
                merge.add(wanted, batches.popleft())
        found += list(merge.chunks())
        if merge.wants is None:
            return found


def _bound(batch: pa.RecordBatch, keys: Sequence[str]) -> Bound:
    first = batch.select(keys).slice(0, 1)
    return Bound(stream_of([first], first.schema).to_pybytes())


@st.composite
def _merges(draw: st.DrawFn) -> tuple[pa.Schema, list[SortKey], list[list[tuple[Any, ...]]], int]:
    types = draw(st.lists(st.sampled_from(list(_VALUES)), min_size=1, max_size=3))
    keys = [SortKey(f"k{at}", draw(st.booleans()), draw(st.booleans())) for at in range(len(types))]
    row = st.tuples(*(st.none() | _VALUES[type_] for type_ in types))
    inputs = draw(st.lists(st.lists(row, max_size=12), min_size=1, max_size=5))
    schema = pa.schema(
        [*(pa.field(f"k{at}", t) for at, t in enumerate(types)), ("input", pa.int32())]
    )
    numbered = [
        [(*one, number) for one in _ordered(rows, keys)] for number, rows in enumerate(inputs)
    ]
    return schema, keys, numbered, draw(st.integers(1, 7))


def _batches(schema: pa.Schema, rows: list[tuple[Any, ...]], size: int) -> list[pa.RecordBatch]:
    return [
        pa.RecordBatch.from_arrays(
            [
                pa.array(column, field.type)
                for column, field in zip(
                    zip(*rows[at : at + size], strict=True), schema, strict=True
                )
            ],
            schema=schema,
        )
        for at in range(0, len(rows), size)
    ]


def _same(a: Any, b: Any) -> bool:
    return bool(a == b or (isinstance(a, float) and isinstance(b, float) and a != a and b != b))


@settings(max_examples=150, deadline=None)
@given(_merges(), st.integers(1, 5), st.booleans())
def test_a_merge_is_a_stable_sort(
    case: tuple[pa.Schema, list[SortKey], list[list[tuple[Any, ...]]], int],
    size: int,
    bounded: bool,
) -> None:
    """Rows come as a stable sort of the inputs one after the other has them; chunks are full."""
    schema, keys, inputs, chunk_rows = case
    with TrackedAllocator() as allocator:
        merge = SortedMerge(schema, keys, len(inputs), chunk_rows, allocator)
        batches = [_batches(schema, rows, size) for rows in inputs]
        chunks = _merged(merge, batches, keys if bounded else ())
        del merge
        want = _ordered([row for rows in inputs for row in rows], keys)
        have = [tuple(row.values()) for chunk in chunks for row in chunk.to_pylist()]
        assert len(want) == len(have)
        for a, b in zip(want, have, strict=True):
            assert all(_same(x, y) for x, y in zip(a, b, strict=True))
        assert all(chunk.num_rows == chunk_rows for chunk in chunks[:-1])
        del chunks


@pytest.mark.parametrize("encoding", ["dictionary", "run", "view", "sliced"])
def test_encoded_keys_and_nested_rows_are_merged(encoding: str) -> None:
    """A key's encoding does not show in the order; nested columns follow their keys."""
    keys = pa.array(["a", "b", None] if encoding != "run" else ["a", "b", "c"])
    lists = pa.array([[1], None, [2, 3]])
    if encoding == "dictionary":
        keys = keys.dictionary_encode()
    elif encoding == "run":
        keys = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), keys)
    elif encoding == "view":
        keys = keys.cast(pa.string_view())
    batch = pa.RecordBatch.from_arrays([keys, lists], ["k", "l"])
    if encoding == "sliced":
        batch = pa.concat_batches([batch, batch]).slice(3)
    merge = SortedMerge(batch.schema, [SortKey("k")], 2)
    [chunk] = _merged(merge, [[batch], [batch]])
    third = "c" if encoding == "run" else None
    assert chunk["k"].to_pylist() == ["a", "a", "b", "b", third, third]
    assert chunk["l"].to_pylist() == [[1], [1], None, None, [2, 3], [2, 3]]


def test_only_the_input_that_is_wanted_is_read() -> None:
    """Nothing comes before every input told its first rows; then one is wanted at a time."""
    schema = pa.schema([("k", pa.int32())])
    merge = SortedMerge(schema, [SortKey("k")], 2, 10)
    one = pa.record_batch([pa.array([1, 2], pa.int32())], schema=schema)
    two = pa.record_batch([pa.array([5, 6], pa.int32())], schema=schema)
    wanted = [merge.wants]
    merge.add(0, one)
    wanted.append(merge.wants)
    assert list(merge.chunks()) == []
    merge.add(1, two)
    wanted.append(merge.wants)
    assert list(merge.chunks()) == []  # the chunk is not full, and input 0 may have more
    wanted.append(merge.wants)
    assert wanted == [0, 1, None, 0]
    with pytest.raises(UsageError, match="nothing is wanted of input 1"):
        merge.add(1, two)
    merge.end(0)
    assert list(merge.chunks()) == []
    merge.end(1)
    assert [chunk["k"].to_pylist() for chunk in merge.chunks()] == [[1, 2, 5, 6]]
    assert list(merge.chunks()) == []


@pytest.mark.parametrize("batches", [[[2, 1]], [[1, 2], [1]], [[None, 1]]])
def test_unsorted_inputs_are_refused(batches: list[list[Any]]) -> None:
    """A row that belongs before the one above it, in its batch or the one before, is an error."""
    schema = pa.schema([("k", pa.int32())])
    merge = SortedMerge(schema, [SortKey("k")], 1)
    made = [pa.record_batch([pa.array(values, pa.int32())], schema=schema) for values in batches]
    with pytest.raises(InputError, match="input 0 is not sorted"):
        _merged(merge, [made])


def test_keys_that_cannot_be_are_refused() -> None:
    """An unknown column, no key at all and a nested key are refused by name."""
    schema = pa.schema([("l", pa.list_(pa.int32()))])
    with pytest.raises(UsageError, match="no column 'x' to sort by"):
        SortedMerge(schema, [SortKey("x")], 1)
    with pytest.raises(UsageError, match="cannot be merged by 0 keys"):
        SortedMerge(schema, [], 1)
    merge = SortedMerge(schema, [SortKey("l")], 1)
    with pytest.raises(RefusedError, match=r"column 'l' .* is no key of an order"):
        merge.add(0, pa.record_batch([pa.array([[1]], pa.list_(pa.int32()))], schema=schema))


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (b"", "no Arrow IPC stream"),
        (_bound(pa.record_batch({"k": pa.array([1, 2], pa.int32())}), ["k"]).key[:-20], "whole"),
        (_bound(pa.record_batch({"k": pa.array([1], pa.int64())}), ["k"]).key, "a batch of"),
        (_bound(pa.record_batch({"k": pa.array([], pa.int32())}), ["k"]).key, "is not one row"),
        (_bound(pa.record_batch({"k": pa.array([4], pa.int32())}), ["k"]).key, "not sorted"),
    ],
)
def test_a_bound_that_cannot_be_is_refused(key: bytes, why: str) -> None:
    """No stream, half of one, another type, no row, or less than what came before."""
    batch = pa.record_batch({"k": pa.array([5], pa.int32())})
    merge = SortedMerge(batch.schema, [SortKey("k")], 1)
    merge.add(0, batch)
    assert list(merge.chunks()) == []
    with pytest.raises(InputError, match=why):
        merge.bound(0, Bound(key))


_TEXTS = pa.array([f"{number:02}" for number in range(12)])


@pytest.mark.parametrize(
    "keys",
    [
        _TEXTS,
        _TEXTS.dictionary_encode(),
        _TEXTS.cast(pa.string_view()),
        pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 13), pa.int32()), _TEXTS),
        pa.array(range(12), pa.timestamp("ns")),
        pa.array([None, *range(11)], pa.decimal128(30)),
    ],
    ids=lambda keys: str(keys.type),
)
def test_crossed_senders_are_merged_whatever_their_keys_are(keys: pa.Array) -> None:
    """Each sends first what its receivers cannot use before they know how far the other is."""
    rows = pa.record_batch({"k": keys, "p": pa.array([0] * 6 + [2] * 6, pa.int32())})
    crossed = rows.set_column(1, "p", pa.array([2] * 6 + [0] * 6, pa.int32()))
    schema = pa.schema([("k", plain_type(keys.type)), ("p", pa.int32())])
    order = [SortKey("k", nulls_first=True)]
    options = ReceiverOptions(keep_order=True, exchg_node_buffer_size_bytes=0)
    sources = [ExchangeSource(2, 2, options=options) for _ in range(2)]
    found: list[list[Any]] = [[], []]

    def read(number: int) -> None:
        reader = MergingReader(sources[number], SortedMerge(schema, order, 2))
        while (batch := reader.read(60)) is not None:
            found[number] += batch["k"].to_pylist()

    def write(number: int) -> None:
        ways = []
        for source in sources:
            registry = SourceRegistry()
            registry.register(0, source)
            ways.append(LocalChannel(registry, 0))
        sink = ExchangeSink(
            rows.schema,
            ways,
            Routing("hash", PartitionRule(["p"], 2, chunk_rows=1)),
            be_number=number,
            options=SinkOptions(1, 0, 0, keep_order=True),
            max_transmit_batched_bytes=0,
            sender_id=number,
            sort=["k"],
        )
        driver = sink.driver()
        driver.write((rows, crossed)[number])
        driver.finish()

    threads = [
        threading.Thread(target=work, args=(number,), daemon=True)
        for work in (read, write)
        for number in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == [keys.to_pylist(), keys.to_pylist()]


def test_a_key_that_is_too_long_to_be_told_ends_the_exchange() -> None:
    """By name: a receiver that waits would wait for ever."""
    full = ReceiverOptions(exchg_node_buffer_size_bytes=0)
    sources, ways = [ExchangeSource(1, options=full) for _ in range(2)], []
    for source in sources:
        registry = SourceRegistry()
        registry.register(0, source)
        ways.append(LocalChannel(registry, 0))
    batch = pa.record_batch({"k": ["x" * (1 << 20)]})
    options = SinkOptions(1, 0, 0, keep_order=True)
    sink = ExchangeSink(
        batch.schema,
        ways,
        Routing("random"),
        be_number=0,
        options=options,
        sort=["k"],
        max_transmit_batched_bytes=0,
    )
    driver = sink.driver()
    driver.write(batch)
    with pytest.raises(RefusedError, match=r"have 1,04\d,\d{3} bytes in one row"):
        driver.write(batch)
