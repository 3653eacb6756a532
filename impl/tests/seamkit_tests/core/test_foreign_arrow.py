"""Arrow bytes of others: an unsound batch is an error that names it, wherever it comes in."""

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest

from seambase import foreign_arrow
from seambase.errors import InputError, RefusedError
from seambase.foreign_arrow import sound, sound_stream, stream_of
from seambase.serde import SerdeRequest
from seambase.type_fields import fields_of
from seambase.types import ZonedMillisType
from seambase.values import SortKey
from seambench_impl.peers.arrow_ipc import ArrowIpcSerde
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.logic.messages import Chunk, Request
from seamkit.exchange.logic.options import ReceiverOptions
from seamkit.exchange.sorted_senders import MergingReader, SortedMerge
from seamkit.exchange.source import ExchangeSource, SourceRegistry
from seamkit.exchange.transports.base import HELLO
from seamkit.exchange.transports.flight import FlightServer
from seamkit.exchange.transports.wire import encode_request

_FAR = 500_000_000


def _texts(*offsets: int, data: bytes = b"abc") -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _lists(*offsets: int) -> pa.Array:
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32))]
    children = [pa.array([1, 2, 3], pa.int32())]
    return pa.Array.from_buffers(pa.list_(pa.int32()), len(offsets) - 1, buffers, children=children)


_UNSOUND = {
    "an offset between that is far away": _texts(0, _FAR, 2, 3),
    "bytes that are no UTF-8": _texts(0, 1, 2, 3, data=b"a\xffc"),
    "an offset below the one before": _texts(0, 2, 1, 3),
    "an index that is no value": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, _FAR], pa.int32()), pa.array(["one", "two"]), safe=False
    ),
    "a list that leaves its elements": _lists(0, _FAR, 2, 3),
}


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _through_a_merge(batch: pa.RecordBatch) -> Any:
    """A receiver that merges, as it takes a chunk from a sender."""
    schema, key = pa.schema([("k", pa.string())]), [SortKey("k")]
    options = ReceiverOptions(keep_order=True)
    source = ExchangeSource(1, 1, chunk_format("arrow", schema), options)
    data = _stream(batch)
    source.deliver(Request(0, 0, (Chunk(data, len(data)),), True, 0), lambda _: None)
    return MergingReader(source, SortedMerge(schema, key, 1)).read(1.0)


def _as_a_serde(batch: pa.RecordBatch) -> Any:
    request = SerdeRequest("arrow", fields_of(pa.schema([("k", pa.string())]), "presto"))
    return ArrowIpcSerde().deserialize(request, _stream(batch))


_WAYS_IN: dict[str, Callable[[pa.RecordBatch], Any]] = {
    "a stream": lambda batch: sound_stream(_stream(batch), "it"),
    "a chunk": lambda batch: chunk_format("arrow", batch.schema).decode(_stream(batch)),
    "a serde": _as_a_serde,
    "a merge": _through_a_merge,
}


@pytest.mark.parametrize("way", _WAYS_IN)
@pytest.mark.parametrize("unsound", _UNSOUND)
def test_an_unsound_batch_is_refused_before_it_is_used(unsound: str, way: str) -> None:
    """Wherever it comes in: an error, and no row of it."""
    with pytest.raises(InputError):
        _WAYS_IN[way](pa.record_batch([_UNSOUND[unsound]], ["k"]))


@pytest.mark.parametrize("unsound", _UNSOUND)
def test_the_error_names_source_and_column(unsound: str) -> None:
    """Whoever wrote the batch can find what is wrong."""
    batch = pa.record_batch([pa.array([1, 2, 3]), _UNSOUND[unsound]], ["good", "bad"])
    with pytest.raises(InputError, match=r"^their file: column 'bad' is not sound: "):
        sound(batch, "their file")


def test_a_batch_of_another_schema_is_refused_first() -> None:
    """Types come before content: nobody looks into a batch that is not meant."""
    batch = pa.record_batch([_UNSOUND["an offset between that is far away"]], ["k"])
    with pytest.raises(InputError, match=r"a batch of \(k string\) came, not of \(k int64\)"):
        sound(batch, "it", pa.schema([("k", pa.int64())]))


_WHOLE = _stream(pa.record_batch({"n": [1, 2, 3]}))
_AS_A_MARK = _stream(pa.record_batch({"n": pa.array([2**32 - 1] * 3, pa.uint64())}))


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (_WHOLE, None),
        (_WHOLE[:-8], "no whole Arrow stream"),
        (_WHOLE[:-4], "no whole Arrow stream"),
        (_AS_A_MARK[:-8], "no whole Arrow stream"),
        (_WHOLE + b"junk" * 3, "more bytes follow"),
        (_WHOLE + _WHOLE, "more bytes follow"),
        (b"", "no Arrow IPC stream"),
    ],
)
def test_a_marked_stream_is_just_one_whole_stream(written: bytes, says: str | None) -> None:
    """The end mark stands at the very end; values that look like one do not stand for it."""
    assert _AS_A_MARK[:-8].endswith(b"\xff\xff\xff\xff\0\0\0\0" * 3)
    if says is None:
        assert sum(one.num_rows for one in sound_stream(written, "it", marked=True)) == 3
        return
    with pytest.raises(InputError, match=says):
        sound_stream(written, "it", marked=True)


@pytest.mark.parametrize("more", [b"junk" * 3, bytes(8), _WHOLE])
def test_nothing_follows_a_stream_without_a_mark(more: bytes) -> None:
    """Its end mark may be left out; rows behind it would be lost without a word."""
    assert sum(one.num_rows for one in sound_stream(_WHOLE[:-8], "it")) == 3
    with pytest.raises(InputError, match="more bytes follow"):
        sound_stream(_WHOLE + more, "it")


def test_an_extension_stored_as_something_else_is_no_stream() -> None:
    """Whose class says no to it, while Arrow reads the schema."""
    said = {"ARROW:extension:name": ZonedMillisType.extension, "ARROW:extension:metadata": ""}
    schema = pa.schema([pa.field("z", pa.int32(), metadata=said)])
    with pytest.raises(InputError, match="is stored as int64, not as int32"):
        sound_stream(stream_of([], schema), "it")


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_what_unpacks_to_too_much_is_refused_before(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Buffers of dictionaries and of batches count, all together, by what they say they become."""
    numbers = pa.array(np.zeros(1000, np.int64))
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(50, np.int8)), numbers)
    batch = pa.record_batch({"n": numbers[:50], "w": words})
    packed = stream_of([batch, batch], batch.schema, pa.ipc.IpcWriteOptions(compression=codec))
    becomes = 8 * 1000 + 2 * (8 * 50 + 50)
    monkeypatch.setattr(foreign_arrow, "MOST_UNPACKED_BYTES", becomes)
    assert sound_stream(packed, "it")[1].equals(batch)
    monkeypatch.setattr(foreign_arrow, "MOST_UNPACKED_BYTES", becomes - 1)
    with pytest.raises(RefusedError, match=f"it becomes {becomes:,} bytes"):
        sound_stream(packed, "it")
    assert len(sound_stream(stream_of([batch, batch], batch.schema), "it")) == 2


def test_damaged_streams_never_give_unsound_batches() -> None:
    """Whatever bytes change: an error, or batches that Arrow itself finds sound."""
    batch = pa.record_batch(
        {
            "n": pa.array([1, None, 3]),
            "t": ["one", None, "three"],
            "w": pa.array(["x", "y", "x"]).dictionary_encode(),
            "l": [["a"], [], None],
            "v": pa.array(["short", None, "longer than twelve bytes"], pa.string_view()),
        }
    )
    whole, dice = _stream(batch), random.Random(11)
    for _ in range(3000):
        damaged = bytearray(whole[: dice.choice([len(whole), dice.randrange(len(whole))])])
        for _ in range(dice.randrange(4)):
            if damaged:
                damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            found = sound_stream(bytes(damaged), "it")
        except InputError:
            continue
        for one in found:
            one.validate(full=True)
            one.to_pylist()


def _payloads(*views: bytes) -> pa.RecordBatch:
    buffers = [None, pa.py_buffer(b"".join(views)), pa.py_buffer(b"x" * 20)]
    array = pa.Array.from_buffers(pa.binary_view(), len(views), buffers)
    return pa.RecordBatch.from_arrays(
        [array], schema=pa.schema([pa.field("payload", pa.binary_view(), nullable=False)])
    )


_VIEWS = (
    struct.pack("<i4sii", 20, b"xxxx", 9_999, 0),
    struct.pack("<i4sii", 20, b"xxxx", 0, _FAR),
    struct.pack("<i4sii", -20, b"xxxx", 0, 0),
)


@pytest.mark.parametrize(
    ("batch", "request_", "says"),
    [
        *((_payloads(view), Request(0, 0, (Chunk(b"", 20),), False, 0), "is not sound")
          for view in _VIEWS),
        # Told by its types: its content is never looked at.
        (pa.record_batch([_UNSOUND["a list that leaves its elements"]], ["payload"]),
         Request(0, 0, (), True, 0), "came, not of"),
    ],
    ids=["a buffer that is not there", "a place beyond its buffer", "a size below 0", "columns"],
)  # fmt: skip
def test_a_flight_server_survives_an_unsound_request(
    batch: pa.RecordBatch, request_: Request, says: str, tmp_path: Path
) -> None:
    """The stream ends with a reason; the server goes on, and serves the next one."""
    server = FlightServer(SourceRegistry(), f"unix:{tmp_path / 's'}")
    message, _ = encode_request(1, request_, inline=False)
    for _ in range(2):
        with flight.connect(f"grpc+unix://{tmp_path / 's'}") as client:
            writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(HELLO))
            writer.begin(batch.schema)
            writer.write_with_metadata(batch, message)
            with pytest.raises(pa.ArrowException, match=says):
                list(reader)
    server.close()


class _Foreign(pa.ExtensionType):  # type: ignore[misc] # pyarrow has no types
    def __init__(self) -> None:
        super().__init__(pa.int64(), "tests.foreign")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_extension_types_are_looked_through() -> None:
    """Extension types cannot be hashed in pyarrow; columns of them are as good as any."""
    column = pa.ExtensionArray.from_storage(_Foreign(), pa.array([1, None]))
    batch = pa.record_batch({"x": column, "text": ["a", "b"]})
    assert sound(batch, "a test") is batch


def test_texts_without_rows_may_have_no_offsets() -> None:
    """A column of no rows may come with an empty buffer in place of its first offset."""
    none = pa.py_buffer(b"")
    column = pa.Array.from_buffers(pa.string(), 0, [None, none, none])
    batch = pa.RecordBatch.from_arrays([column], ["text"])
    assert sound(batch, "a test").num_rows == 0


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_a_stream_with_any_byte_changed_is_read_or_refused(codec: str | None) -> None:
    """Arrow lets metadata pass whose offsets lead elsewhere: they are not believed."""
    batch = pa.record_batch(
        {"d": pa.array(["p", "q", None] * 3).dictionary_encode(), "n": pa.array(range(9))}
    )
    good = bytes(stream_of([batch], batch.schema, pa.ipc.IpcWriteOptions(compression=codec)))
    refused = 0
    for at in range(len(good)):
        for value in (0, 16):
            broken = good[:at] + bytes([value]) + good[at + 1 :]
            try:
                sound_stream(broken, "a chunk", batch.schema)
            except (InputError, RefusedError):
                refused += 1
    assert refused > len(good) // 2
