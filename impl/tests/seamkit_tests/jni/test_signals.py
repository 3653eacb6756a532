"""A JVM in the process keeps the signals that it works with, whoever else asks for them.

HotSpot stops its threads, and finds null references, by faults that its own handlers catch.
Python's faulthandler, switched off and on again as test runners do at their end, puts its own
handlers in their place: the next fault then ends the process.
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.jvm

_SWAP = """
import faulthandler
import threading

from seamkit.jvm.machine import start

faulthandler.enable()
jpype = start()
stream = jpype.JClass("java.util.stream.LongStream")
same = jpype.JClass("java.util.function.LongUnaryOperator").identity()


def count():
    jpype.JClass("java.lang.Thread").attachAsDaemon()
    for _ in range(20):
        stream.range(0, 10_000_000).map(same).sum()


def stop_threads_often():
    counting = threading.Thread(target=count)
    counting.start()
    while counting.is_alive():
        jpype.JClass("java.lang.System").gc()


faulthandler.disable()
faulthandler.enable()
"""


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_use_of_the_jvm_takes_its_signals_back() -> None:
    """`start` puts the JVM's handlers back, so that work goes on after others took them."""
    done = _run(_SWAP + "start()\nstop_threads_often()\nprint('done')")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_signals_are_the_jvms_when_the_process_ends() -> None:
    """What runs after the last Python line, the JVM's own end among it, meets its handlers."""
    # What atexit keeps runs last in, first out: before jpype ends the JVM, after its handlers are
    # back.
    late = "import atexit\nimport jpype\natexit.register(lambda: stop_threads_often())\n"
    done = _run(late + _SWAP)
    assert (done.returncode, done.stderr) == (0, "")
