"""Java's garbage collector and Python's run each by itself in a JVM that was started here."""

import gc

import pytest

from seamkit.jvm.machine import start
from seamkit_tests.samples.lacking import OrSkipped

pytestmark = pytest.mark.jvm


def test_jpype_ties_the_collectors_no_longer() -> None:
    """JPype had each of Java's collections start one of Python's, which all threads wait for."""
    with OrSkipped():
        start()
    assert "_jpype" not in [getattr(one, "__module__", "") for one in gc.callbacks]
