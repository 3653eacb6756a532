"""What several tests of scans begin with."""

from collections.abc import Iterator

import pytest

import seamkit
from seamkit.files import file_cache
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit_tests.samples.calls import Call, calls_of


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins with nothing kept, and files count as settled once they are written."""
    monkeypatch.setattr(file_cache, "_SETTLED_NS", -(1 << 62))
    seamkit.keep_at_most(0)
    seamkit.keep_at_most(1 << 28)
    yield
    seamkit.keep_at_most(0)
    seamkit.keep_at_most(file_cache.CACHE_BYTES)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Each decoding of logs."""
    return calls_of(monkeypatch, SliceChanges, "load", "further")
