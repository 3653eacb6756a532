"""Other implementations of Arrow: what they write they read, and what is broken is an error."""

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seambase.serde import SerdeRequest
from seambase.type_fields import fields_of
from seambench_impl.peers.arrow_ipc import Arro3Serde, ArrowIpcSerde, NanoarrowSerde
from seambench_impl.peers.polars import PolarsIpcSerde
from seamkit_tests.samples.lacking import OrSkipped

Peer = Arro3Serde | NanoarrowSerde | PolarsIpcSerde
_SCHEMA = pa.schema([("i", pa.int32()), ("s", pa.string()), ("l", pa.list_(pa.int64()))])
_BATCH = pa.record_batch([[1, None], ["x", None], [[1, None], None]], schema=_SCHEMA)
_EMPTY = _BATCH.slice(0, 0)


@pytest.fixture(params=[Arro3Serde, NanoarrowSerde, PolarsIpcSerde])
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each of them, where it is installed."""
    with OrSkipped():
        made: Peer = request.param()
    return made


def _request(**options: str) -> SerdeRequest:
    return SerdeRequest("arrow", fields_of(_SCHEMA, "spark"), {"types": "spark", **options})


def test_batches_come_back(peer: Peer) -> None:
    """Each batch is a message of its own, but for polars, whose frames are one."""
    written = peer.serialize(_request(), [_BATCH, _BATCH])
    for reader in (ArrowIpcSerde(), peer):
        found = reader.deserialize(_request(), written)
        assert [row for b in found for row in b.to_pylist()] == _BATCH.to_pylist() * 2
        assert len(found) == 2 or peer.name == "polars-ipc"


def test_a_batch_without_rows_is_a_batch(peer: Peer) -> None:
    """It is a message too: schema and batch come back, of pyarrow's bytes."""
    [found] = peer.deserialize(_request(), ArrowIpcSerde().serialize(_request(), [_EMPTY]))
    assert (found.num_rows, found.schema.names) == (0, _SCHEMA.names)


def test_no_batches_are_a_stream(peer: Peer) -> None:
    """A stream of a schema alone is whole."""
    written = peer.serialize(_request(), [])
    assert sum(b.num_rows for b in ArrowIpcSerde().deserialize(_request(), written)) == 0


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\xff\xff\xff\xff\x10\0\0\0"])
def test_what_is_no_stream_is_an_error(peer: Peer, data: bytes) -> None:
    """Broken bytes are told as such, in a sentence with the library's own word."""
    with pytest.raises(InputError, match=f"{peer.name} does not read it"):
        peer.deserialize(_request(), data)


def test_what_they_do_not_do_is_refused(peer: Peer) -> None:
    """Another format and an unknown codec; nanoarrow writes no compressed buffers."""
    with pytest.raises(RefusedError, match="is not Arrow's"):
        peer.serialize(SerdeRequest("presto", []), [])
    with pytest.raises(RefusedError, match="snappy"):
        peer.serialize(_request(codec="snappy"), [_BATCH])
    if isinstance(peer, NanoarrowSerde):
        with pytest.raises(RefusedError, match="no compressed buffers"):
            peer.serialize(_request(codec="zstd"), [_BATCH])
