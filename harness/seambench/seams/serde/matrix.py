"""Every producer's bytes read by every consumer, over the vectors of the serde cases.

A round trip within one implementation cancels out what it gets wrong twice; the bytes of one read
by another do not. Each implementation runs in a process of its own; the memory that it still holds
after all vectors is compared with what it held after the first.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.contracts.outcomes import Outcome
from seambench.contracts.registry import PAIR
from seambench.contracts.seam import PassRun
from seambench.contracts.serde import Serde
from seambench.seams.serde.cases import SerdeCase
from seambench.seams.serde.check import consume_serde, produce_serde


def produce(case: SerdeCase, serde: Serde, _: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write a case's values; the answer holds the `bytes`, in base64."""
    return {"bytes": base64.b64encode(produce_serde(case, serde)).decode()}


def consume(case: SerdeCase, serde: Serde, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Read the `bytes` that another wrote of a case's values."""
    consume_serde(case, serde, base64.b64decode(request["bytes"]))
    return {}


def memory(_: SerdeCase, serde: Serde, __: Mapping[str, Any]) -> Mapping[str, Any]:
    """Blocks that an implementation holds (None where it does not count); KiB of its process."""
    count = getattr(serde, "live_blocks", None)
    blocks = None if count is None else int(count())
    # psutil would say it too, but peers have no psutil in the environments of their versions.
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {"blocks": blocks, "rss_kib": resident >> 10}


def exchange_bytes(run: PassRun) -> Iterator[Outcome]:
    """Let every implementation read what every other wrote.

    There is one for each vector and pair, under the name `PRODUCER -> CONSUMER`; then one for each
    implementation, which fails where blocks of memory are left.
    """
    cases = [case for case in run.cases if case.operation == "encode" and not case.refused]
    if not cases:
        raise UsageError("none of the cases chosen has values that can be written")
    first: dict[str, Mapping[str, Any]] = {}
    for case in cases:
        for producer in run.implementations:
            made = run.ask(producer, "produce", case, {})
            for consumer in run.implementations:
                answer = made
                if made["outcome"] == "pass":
                    answer = run.ask(consumer, "consume", case, {"bytes": made["bytes"]})
                else:
                    reason = f"not written: {made.get('reason', '')}"
                    answer = {**made, "reason": reason}
                yield run.outcome(f"{producer}{PAIR}{consumer}", case, answer)
        for name in run.implementations:
            if name not in first:
                first[name] = run.ask(name, "memory", case, {})
    for name, before in first.items():
        after = run.ask(name, "memory", cases[-1], {})
        yield run.outcome(name, cases[-1], _judge_memory(before, after))


def _judge_memory(before: Mapping[str, Any], after: Mapping[str, Any]) -> Mapping[str, Any]:
    for answer in (before, after):
        if answer["outcome"] != "pass":
            return answer
    change = f"memory {before['rss_kib'] >> 10} MiB to {after['rss_kib'] >> 10} MiB"
    if after["blocks"] is not None and after["blocks"] > before["blocks"]:
        reason = (
            f"{counted(after['blocks'] - before['blocks'], 'block')} of memory still held; {change}"
        )
        return {"outcome": "fail", "reason": reason}
    return {"outcome": "pass", "reason": change}
