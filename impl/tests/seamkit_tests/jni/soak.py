"""Scans by a scanner in Java that fail or are left at random steps, in several threads at once.

    PYTHONPATH=impl/tests python -m seamkit_tests.jni.soak --minutes 10

Each scan throws at some step, runs into its limit of memory, misses a block, is left in mid stream,
or comes to its end. A whole one must have all rows, any other must fail with a typed error, and
none may keep a block. The process must live.
"""

import argparse
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from seambase.errors import SeambenchError
from seamkit.core.memory import TrackedAllocator
from seamkit.jvm.sources import compiled_package
from seamkit.offheap.jni.scanner import JniLoader, JniScanner, connector_classes

_STEPS = ("constructor", "open", "next", "close")
_THROWN = ("io", "refused", "error", "argument")
_ENDS = ("whole", "thrown", "limit", "block", "left")


def one_scan(loader: JniLoader, chance: random.Random) -> str:
    """One scan with an end of its own; tells which."""
    end = chance.choice(_ENDS)
    rows = chance.randrange(1, 3000)
    parameters = {"rows": str(rows), "text": "x" * chance.randrange(20)}
    if end == "thrown":
        parameters |= {"step": chance.choice(_STEPS), "throws": chance.choice(_THROWN)}
    allocator = TrackedAllocator(chance.randrange(64, 200_000) if end == "limit" else 0)
    if end == "block":
        allocator.fail_after(chance.randrange(1, 400))
    found = 0
    try:
        chunk = chance.choice((1, 7, 100, 4096))
        with JniScanner(loader, "tests.FaultyScanner", chunk, parameters, allocator) as scanner:
            scanner.open()
            for batch in scanner.batches(scanner.schema()):
                found += batch.num_rows
                del batch
                if end == "left" and chance.random() < 0.3:
                    break
            else:
                # A row and a chunk may not be there for a step, a limit or a block to matter.
                assert found == rows, (end, found, rows)
    except SeambenchError as error:
        if end in ("whole", "left"):
            raise AssertionError(end) from error
        end = f"{end}: {type(error).__name__}"
    live = allocator.counters().live_blocks
    assert live == 0, (end, live)
    return end


def main(arguments: Sequence[str] | None = None) -> int:
    """Scan until the time is over; print how often each end came."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    sources = Path(__file__).with_name("java")
    loader = JniLoader(compiled_package("tests", sources, connector_classes()))
    until = time.monotonic() + 60 * asked.minutes
    ends: Counter[str] = Counter()
    failures: list[str] = []
    lock = threading.Lock()

    def work(number: int) -> None:
        chance = random.Random(f"{asked.seed}-{number}")
        while time.monotonic() < until and not failures:
            try:
                end = one_scan(loader, chance)
            except BaseException as error:
                with lock:
                    failures.append(f"thread {number}: {error!r}")
                return
            with lock:
                ends[end] += 1

    threads = [threading.Thread(target=work, args=(n,)) for n in range(asked.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for end, count in sorted(ends.items()):
        sys.stdout.write(f"{count:8} {end}\n")
    sys.stdout.write(f"{sum(ends.values())} scans, {len(failures)} failures\n")
    sys.stdout.writelines(f"{failure}\n" for failure in failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
