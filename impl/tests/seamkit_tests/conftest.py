"""What every test of the implementations is held to."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import seamkit
from seamkit.core.memory import TrackedAllocator
from seamkit.files.file_cache import CACHE_BYTES

#: Modules whose tests hand out off-heap memory, by the beginnings of their names.
_WATCHED = ("test_column", "test_connector")


def pytest_collection_finish() -> None:
    """What was collected stays: no later collection of garbage looks at every test again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_live_blocks(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """After a test of columns no allocator it made has a live block, whatever the test did."""
    if not request.module.__name__.rpartition(".")[2].startswith(_WATCHED):
        yield
        return
    made: list[TrackedAllocator] = []
    make = TrackedAllocator.__init__

    def remember(self: TrackedAllocator, *args: Any, **options: Any) -> None:
        make(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(TrackedAllocator, "__init__", remember)
    yield
    if any(allocator.counters().live_blocks for allocator in made):
        seamkit.keep_at_most(0)  # what is kept of tables for later reads
        seamkit.keep_at_most(CACHE_BYTES)
        gc.collect()  # arrays that a caught exception still holds
    live = [allocator.counters().live_blocks for allocator in made]
    assert not any(live), f"blocks alive after the test, by allocator: {live}"


@pytest.fixture
def allocator() -> Iterator[TrackedAllocator]:
    """An allocator that must have everything back when the test ends."""
    found = TrackedAllocator()
    yield found
    assert found.counters().live_blocks == 0


@pytest.fixture(scope="session")
def object_store() -> Iterator[dict[str, Any]]:
    """Storage options of an S3 store on this machine with one bucket, `lake`."""
    server_module = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    options = {"key": "k", "secret": "s", "endpoint_url": f"http://{host}:{port}"}
    s3fs.S3FileSystem(**options).mkdir("lake")
    yield options
    server.stop()
