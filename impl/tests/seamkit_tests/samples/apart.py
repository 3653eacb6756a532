"""Functions in a process of their own, forked of one that has only imported what they need.

So each begins as small as a new Python, and as quickly as a function.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

APART = multiprocessing.get_context("forkserver")
APART.set_forkserver_preload(
    [
        "seamkit_tests.files.test_bombs",
        "seamkit_tests.files.test_damaged_footers",
        "seamkit_tests.files.test_orc_base",
        "seamkit_tests.samples.exchange_peer",
    ]
)


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives there; an error if the process ends of it."""
    with ProcessPoolExecutor(1, mp_context=APART) as process:
        return process.submit(function, *arguments).result()
