"""What every test of the implementations is held to."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from seamkit.core.memory import TrackedAllocator

#: Modules whose tests hand out off-heap memory, by the beginnings of their names.
_WATCHED = ("test_column", "test_connector")


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
        gc.collect()  # arrays that a caught exception still holds
    live = [allocator.counters().live_blocks for allocator in made]
    assert not any(live), f"blocks alive after the test, by allocator: {live}"
