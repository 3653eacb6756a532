"""Streams of rows: framings, groups, options, and the buffers of converters."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.gluten.rows import columns_to_rows, rows_to_columns
from seamkit.serde.compression import CODECS
from seamkit.serde.rows.codec import UnsafeRows
from seamkit.serde.rows.serde import deserialize, serialize
from seamkit.serde.rows.stream import read_rows
from seamkit_tests.samples.row_samples import fields_of

FIELDS = fields_of(a="bigint", b="string")
FORMATS = ["unsaferow", "compactrow"]


def _batch(rows: int, width: int = 20) -> pa.RecordBatch:
    texts = [None if i % 5 == 4 else "t" * (i % width) for i in range(rows)]
    columns = {"a": pa.array(range(rows), pa.int64()), "b": pa.array(texts, pa.string())}
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("codec", CODECS)
def test_groups_come_back_whatever_compressed_them(format_: str, codec: str) -> None:
    """Velox: a stream is any number of groups, each plain or compressed as it pays."""
    batches = [_batch(500), _batch(0), _batch(1), _batch(300)]
    options = {"framing": "velox-group", "codec": codec}
    data = serialize(format_, batches, FIELDS, options)
    plain = serialize(format_, batches, FIELDS, {"framing": "velox-group"})
    assert (len(data) < len(plain)) == (codec != "none")
    back = deserialize(format_, data, FIELDS, options)
    assert back.to_pylist() == [row for batch in batches for row in batch.to_pylist()]


def test_a_group_is_a_header_and_rows_with_lengths() -> None:
    """Velox: two little-endian sizes and a flag, then big-endian lengths before the rows."""
    data = bytes(serialize("compactrow", [_batch(1)], FIELDS, {"framing": "velox-group"}))
    row = b"\0" + struct.pack("<qi", 0, 0)
    assert data == struct.pack("<iiB", 17, 17, 0) + struct.pack(">i", 13) + row


@pytest.mark.parametrize("format_", FORMATS)
def test_every_truncation_of_groups_is_an_error(format_: str) -> None:
    """A stream of groups may end between two groups, nowhere else."""
    options = {"framing": "velox-group"}
    one = len(serialize(format_, [_batch(7)], FIELDS, options))
    data = serialize(format_, [_batch(7), _batch(7)], FIELDS, options)
    for size in range(len(data)):
        if size in (0, one):
            assert deserialize(format_, data[:size], FIELDS, options).num_rows == 7 * bool(size)
            continue
        with pytest.raises(InputError, match="at byte"):
            deserialize(format_, data[:size], FIELDS, options)


@pytest.mark.parametrize(
    ("header", "codec", "error", "reason"),
    [
        ((4, 4, 2), "none", InputError, "neither plain nor compressed: 2 .at byte 8"),
        ((-1, -1, 0), "none", InputError, "cannot have -1"),
        ((5, 4, 0), "none", InputError, "cannot have 4"),
        ((9, 9, 0), "none", InputError, "9 bytes is announced where 4"),
        ((4, 4, 1), "none", InputError, "no codec was named"),
        ((4, 4, 1), "lz4", InputError, "not lz4 of 4"),
        ((2**31 - 1, 4, 1), "lz4", RefusedError, "beyond the size limit"),
        ((4, 4, 0), "none", InputError, "a row of 16909060 bytes.*at byte 9"),
    ],
)
def test_broken_headers_are_named(header: Any, codec: str, error: Any, reason: str) -> None:
    """A header that cannot be is refused before anything is set aside for it."""
    data = struct.pack("<iiB", *header) + b"\1\2\3\4"
    with pytest.raises(error, match=reason):
        deserialize("unsaferow", data, FIELDS, {"framing": "velox-group", "codec": codec})


def test_offsets_in_later_groups_count_from_the_stream() -> None:
    """The byte that an error names is one of the stream, not of the group."""
    options = {"framing": "velox-group"}
    first = bytes(serialize("unsaferow", [_batch(2)], FIELDS, options))
    second = bytearray(serialize("unsaferow", [_batch(1)], FIELDS, options))
    second[13 + 8 + 8 + 4] = 0xFF  # where the string of the row begins
    with pytest.raises(InputError, match=f"beyond the end.*at byte {len(first) + 13 + 16}"):
        deserialize("unsaferow", first + second, FIELDS, options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"writer": "presto"}, "writer = 'presto'"),
        ({"framing": "be64"}, "framing = 'be64'"),
        ({"codec": "lzo", "framing": "velox-group"}, "codec = 'lzo'"),
        ({"codec": "lz4"}, "only a velox-group"),
        ({"speed": 1}, "no option 'speed'"),
        ({"size_limit": -1}, "size_limit = -1"),
        ({"framing": "packed"}, "need their lengths"),
        ({"lengths": [1]}, "has its own lengths"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], reason: str) -> None:
    """What would not have been heeded is refused."""
    with pytest.raises(UsageError, match=reason):
        deserialize("unsaferow", b"", FIELDS, options)


def test_formats_and_their_own_options() -> None:
    """A name that is no format, and Velox's CompactRow by Spark's other writer, are refused."""
    with pytest.raises(UsageError, match="format 'csv'"):
        deserialize("csv", b"", FIELDS)
    with pytest.raises(UsageError, match="option writer is of UnsafeRows"):
        deserialize("compactrow", b"", FIELDS, {"writer": "velox"})


def test_limits_hold() -> None:
    """What is read takes no more than its limit, and nests no deeper."""
    data = serialize("unsaferow", [_batch(10_000)], FIELDS)
    with pytest.raises(RefusedError, match="raise the option size_limit"):
        deserialize("unsaferow", data, FIELDS, {"size_limit": 100_000})
    assert deserialize("unsaferow", data, FIELDS, {"size_limit": 1_000_000}).num_rows == 10_000
    with pytest.raises(RefusedError, match="nested 3 levels deep, the limit is 2"):
        deserialize("unsaferow", b"", fields_of(a="array<array<int>>"), {"depth_limit": 2})
    deep = "array<" * 70 + "int" + ">" * 70
    with pytest.raises(RefusedError, match="71 levels deep, the limit is 63"):
        deserialize("unsaferow", b"", fields_of(a=deep), {"depth_limit": 100})


@pytest.mark.parametrize("threshold", [1, 100, 1000, 10**9])
def test_converters_hand_out_rows_by_bytes(threshold: int) -> None:
    """Gluten: a call converts what fits the threshold, at least one row, into one buffer."""
    batch = _batch(100)
    with TrackedAllocator() as allocator:
        codec = UnsafeRows(FIELDS, "velox", allocator)
        copies, lengths = b"", []
        for rows in columns_to_rows(codec, batch, threshold):
            assert len(rows.data) <= threshold or len(rows.lengths) == 1
            assert rows.offsets.dtype == rows.lengths.dtype == np.int32
            assert rows.offsets.tolist() == [0, *np.cumsum(rows.lengths)[:-1]]
            copies += rows.data  # the rows die with the next call
            lengths += rows.lengths.tolist()
            assert allocator.counters().live_blocks == 1
        del rows
    assert copies == codec.serialize(batch, framing="packed").data
    for batch_rows, batch_bytes in ((7, 10**9), (10**9, 500), (10**9, 1)):
        limits = {"batch_rows": batch_rows, "batch_bytes": batch_bytes}
        parts = list(rows_to_columns(codec, copies, lengths, **limits))
        assert pa.Table.from_batches(parts).combine_chunks().to_batches() == [batch]
        assert all(part.num_rows <= batch_rows for part in parts)


def test_batches_without_rows_or_columns() -> None:
    """Gluten: a batch without rows takes no call; one without columns has rows of no bytes."""
    codec = UnsafeRows(FIELDS, "velox")
    assert list(columns_to_rows(codec, _batch(0))) == []
    empty = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    (rows,) = columns_to_rows(UnsafeRows([]), empty)
    assert (len(rows.data), rows.lengths.tolist()) == (0, [0, 0, 0])
    (back,) = rows_to_columns(UnsafeRows([]), b"", rows.lengths)
    assert back.num_rows == 3


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("framing", ["be32", "velox-group"])
@pytest.mark.parametrize(("piece", "batch_bytes"), [(1, 1), (1, 300), (7, 100), (10**6, 10**6)])
def test_streams_may_come_in_any_pieces(
    format_: str, framing: str, piece: int, batch_bytes: int
) -> None:
    """gluten#9056: what counts is the stream, not the piece of it that a buffer holds now."""
    batches = [_batch(60), _batch(0), _batch(3)]
    data = bytes(serialize(format_, batches, FIELDS, {"framing": framing}))
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    options = {"framing": framing}
    found = list(read_rows(format_, pieces, FIELDS, options, batch_bytes=batch_bytes))
    rows = [row for batch in found for row in batch.to_pylist()]
    assert rows == [row for batch in batches for row in batch.to_pylist()]
    assert len(found) > 1 or batch_bytes > 1000


@pytest.mark.parametrize("framing", ["be32", "velox-group"])
def test_streams_that_end_early_are_an_error(framing: str) -> None:
    """A stream that ends within a row is refused, wherever its pieces end."""
    data = bytes(serialize("unsaferow", [_batch(9)], FIELDS, {"framing": framing}))
    for size in range(len(data) - 8, len(data)):
        pieces = [data[at : at + 5] for at in range(0, size, 5)]
        pieces[-1] = pieces[-1][: size - 5 * (len(pieces) - 1)]
        with pytest.raises(InputError, match="at byte"):
            list(read_rows("unsaferow", pieces, FIELDS, {"framing": framing}, batch_bytes=50))


@pytest.mark.parametrize(
    ("framing", "data", "error", "reason"),
    [
        ("be32", struct.pack(">i", -5), InputError, "of -5 bytes is announced .at byte 0"),
        ("be32", struct.pack(">i", 2**31 - 1), RefusedError, "beyond the size limit"),
        ("velox-group", struct.pack("<iiB", -1, 4, 1), InputError, "of -1 bytes"),
        ("velox-group", struct.pack("<iiB", 2**31 - 1, 4, 1), RefusedError, "beyond the size"),
    ],
)
def test_impossible_lengths_are_not_waited_for(
    framing: str, data: bytes, error: Any, reason: str
) -> None:
    """A length that no further bytes make right is refused where it is seen."""
    endless = (part for parts in [[data], iter(lambda: b"x", b"")] for part in parts)
    with pytest.raises(error, match=reason):
        list(read_rows("unsaferow", endless, FIELDS, {"framing": framing}, batch_bytes=1))


def test_streams_of_nothing_and_of_packed_rows() -> None:
    """An empty stream has no rows; packed rows are none."""
    (batch,) = read_rows("unsaferow", [], FIELDS)
    assert (batch.num_rows, batch.schema.names) == (0, ["a", "b"])
    with pytest.raises(UsageError, match="are no stream"):
        list(read_rows("unsaferow", [], FIELDS, {"framing": "packed", "lengths": []}))
