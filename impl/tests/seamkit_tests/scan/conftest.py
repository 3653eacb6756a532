"""What several tests of scans begin with."""

from collections.abc import Iterator, Sequence

import pytest

import seamkit
from seamkit.files import file_cache
from seamkit_tests.samples.hudi_scans import counted_loads


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
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The columns of each decoding of logs."""
    return counted_loads(monkeypatch)
