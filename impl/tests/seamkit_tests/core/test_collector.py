"""Python's collector of cycles while plans are made."""

import gc
from collections.abc import Iterator

import pytest

from seamkit.core.tasks import gc_paused


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """It works, whatever a test has made of it."""
    gc.enable()
    yield
    gc.enable()


def test_it_works_again_when_the_last_one_leaves() -> None:
    """Threads may overlap, and leave in any order."""
    one, other = gc_paused(), gc_paused()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert not gc.isenabled()
    other.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_works_again_after_an_error() -> None:
    """Whatever a plan fails by."""
    with pytest.raises(ValueError, match="broken"), gc_paused():
        raise ValueError("broken")
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    """A program that has switched it off has its reasons."""
    gc.disable()
    with gc_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
