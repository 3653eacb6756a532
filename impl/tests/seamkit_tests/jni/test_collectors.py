"""Java's garbage collector and Python's run each by itself in a JVM that was started here."""

from __future__ import annotations

import gc

import pytest

from seambase.errors import UnavailableError
from seamkit.jvm.machine import start

pytestmark = pytest.mark.jvm


def test_jpype_ties_the_collectors_no_longer() -> None:
    """JPype had each of Java's collections start one of Python's, which all threads wait for."""
    try:
        start()
    except UnavailableError as error:
        pytest.skip(f"unavailable: {error}")
    assert "_jpype" not in [getattr(one, "__module__", "") for one in gc.callbacks]
