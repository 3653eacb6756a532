"""The format arrow-batch: record batch messages without a schema, from peers nobody trusts."""

import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.payloads import size_of
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.partition import Partitioner, PartitionRule

_BATCH = pa.record_batch(
    {
        "i": pa.array([1, None, 3], pa.int64()),
        "t": pa.array(["one", None, "three"]),
        "large": pa.array(["", "b", "c"], pa.large_string()),
        "d": pa.array([Decimal("1.25"), None, Decimal("-3.50")], pa.decimal128(15, 2)),
        "l": pa.array([["x"], [], None], pa.list_(pa.string())),
    }
)


def test_the_bytes_are_a_message_that_arrow_reads() -> None:
    """Arrow's own reader, given the schema, has the same rows: slices too."""
    bound = chunk_format("arrow-batch", _BATCH.schema)
    for batch in (_BATCH, _BATCH.slice(1, 2), _BATCH.slice(0, 0)):
        sent = bound.encode(batch)
        assert pa.ipc.read_record_batch(sent, _BATCH.schema).equals(batch)
        message = pa.ipc.read_message(batch.serialize())
        assert bound.decode(memoryview(message.serialize())).equals(batch)


_DEALT = pa.record_batch(
    {
        "i": pa.array([1, None, 3, 4], pa.int64()),
        "b": pa.array([True, False, None, True]),
        "t": pa.array(["one", None, "", "three"]),
        "large": pa.array(["", "b", "c", "d"], pa.large_string()),
        "d": pa.array([Decimal("1.25"), None, Decimal("-3.50"), Decimal(0)], pa.decimal128(15, 2)),
        "f": pa.array([b"abc", None, b"def", b"ghi"], pa.binary(3)),
        "n": pa.nulls(4),
        "l": pa.array([["x"], [], None, ["y", None]], pa.list_(pa.string())),
        "ll": pa.array([[[1], None], [], None, [[]]], pa.large_list(pa.list_(pa.int32()))),
        "s": pa.array([{"a": 1, "b": ["z"]}, None, {"a": None, "b": None}, {"a": 4, "b": []}]),
        "m": pa.array([[("k", 1)], [], None, [("p", None)]], pa.map_(pa.string(), pa.int8())),
        "w": pa.array(["p", "p", None, "q"]).dictionary_encode(),
    }
)


@pytest.mark.parametrize("rows", [[], [0], [1, 2], [2, 0, 3, 1], list(range(4)) * 300])
@pytest.mark.parametrize("column", [*_DEALT.schema.names, None])
def test_a_dealt_chunk_is_a_message_that_arrow_reads(column: str | None, rows: list[int]) -> None:
    """The pieces, one behind the other, are a message in which Arrow's reader finds the rows."""
    sent = pa.Table.from_batches([_DEALT]).take(pa.array(rows, pa.int64())).combine_chunks()
    sent = sent if column is None else sent.select([column])
    partitioner = Partitioner(sent.schema, PartitionRule([], 1, chunk_rows=5000))
    chunks = [*partitioner.deal(sent.to_batches()[0])] if rows else []
    chunks += partitioner.rest()
    assert len(chunks) == (1 if rows else 0)
    for chunk in chunks:
        schema = chunk.schema
        pieces = chunk.pieces()
        message = pieces.joined()
        assert len(message) == pieces.nbytes == size_of(pieces)
        assert pieces.nbytes % 64 == 0
        found = pa.ipc.read_record_batch(pa.py_buffer(message), schema)
        found.validate(full=True)
        assert found.to_pylist() == sent.to_pylist()
        assert chunk_format("arrow-batch", schema).decode(message).equals(found)


def test_a_chunk_of_another_schema_is_refused() -> None:
    """A reader would take the bytes of one column for those of another."""
    partitioner = Partitioner(_BATCH.schema, PartitionRule([], 1))
    [*_, chunk] = [*partitioner.deal(_BATCH), *partitioner.rest()]
    bound = chunk_format("arrow-batch", _BATCH.select(["t", "i"]).schema)
    assert bound.encode_dealt is not None
    with pytest.raises(InputError, match="a chunk of"):
        bound.encode_dealt(chunk)


@pytest.mark.parametrize("column", ["t", "large"])
def test_offsets_beyond_their_bytes_are_refused(column: str) -> None:
    """An offset that points outside of the column's bytes would be read out of bounds."""
    kind = _BATCH.schema.field(column).type
    width = np.int64 if pa.types.is_large_string(kind) else np.int32
    offsets = pa.py_buffer(np.array([0, 1 << 20, 1, 2], width))
    array = pa.Array.from_buffers(kind, 3, [None, offsets, pa.py_buffer(b"ab")])
    hostile = pa.RecordBatch.from_arrays([array], names=[column])
    # Arrow's writer trusts the first and the last offset and writes the one between as it is.
    with pytest.raises(InputError, match=f"column '{column}' is not sound"):
        chunk_format("arrow-batch", hostile.schema).decode(memoryview(hostile.serialize()))


def test_damaged_messages_never_give_unsound_batches() -> None:
    """Whatever bytes change: an error, or a batch whose structure is sound."""
    bound = chunk_format("arrow-batch", _BATCH.schema)
    whole = bytes(bound.encode(_BATCH))
    dice = random.Random(7)
    for _ in range(2000):
        damaged = bytearray(whole[: dice.choice([len(whole), dice.randrange(len(whole))])])
        for _ in range(dice.randrange(3)):
            if damaged:
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            found = bound.decode(memoryview(bytes(damaged)))
        except InputError:
            continue
        found.validate()


def test_what_it_cannot_carry_is_refused() -> None:
    """Dictionaries travel in messages of their own, at any depth; and it has no options."""
    for kind in (
        pa.dictionary(pa.int32(), pa.string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
    ):
        with pytest.raises(RefusedError, match="column c"):
            chunk_format("arrow-batch", pa.schema([("c", kind)]))
    with pytest.raises(UsageError, match="no option"):
        chunk_format("arrow-batch", _BATCH.schema, {"codec": "lz4"})


def test_a_batch_of_another_schema_is_refused() -> None:
    """Both sides go by the exchange's schema: other columns would be misread."""
    bound = chunk_format("arrow-batch", _BATCH.schema)
    with pytest.raises(InputError, match="a chunk of"):
        bound.encode(pa.record_batch({"i": [1]}))
