"""The process that runs cases of one implementation, so that a crash takes nothing else with it.

`python -m seambench.conformance.worker SEAM IMPLEMENTATION` reads one JSON object per line (`case`,
`root`, `golden`) and answers each with one (`outcome`, `seconds`, `reason`); first it says `ready`.
Whatever the implementation itself prints goes to standard error.

For the matrix of serdes the request holds `do`: `produce` (the answer holds `bytes`, in base64) or
`consume` (the request does); the answer then tells the memory of the process too. With
`do` = `invariants` a scan case is read in every way, and the answer holds a `digest` of its rows.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import psutil

from seambase.errors import UnavailableError
from seambench.conformance.cases import Case, load_cases
from seambench.contracts import registry
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.seams.column.cases import ColumnCase
from seambench.seams.column.check import check_column
from seambench.seams.exchange.cases import ExchangeCase
from seambench.seams.exchange.check import check_exchange
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import check_scan
from seambench.seams.scan.invariants import hold_invariants
from seambench.seams.serde.cases import SerdeCase
from seambench.seams.serde.check import check_serde, consume_serde, produce_serde

__all__ = ["main", "run_one"]


def run_one(case: Case, implementation: Any) -> tuple[str, str]:
    """Run a case: its word and the reason."""
    if isinstance(case, ScanCase):
        return _told(partial(check_scan, case, implementation))
    if isinstance(case, ColumnCase):
        return _told(partial(check_column, case, implementation))
    if isinstance(case, ExchangeCase):
        return _told(partial(check_exchange, case, implementation))
    return _told(partial(check_serde, case, implementation))


def _told(check: Callable[[], None]) -> tuple[str, str]:
    """Run a check: its word and the reason."""
    try:
        check()
    except NotOffered as reason:
        return "not-offered", str(reason)
    except Mismatch as reason:
        return "fail", str(reason)
    except UnavailableError as reason:
        return "unavailable", str(reason)
    except Exception as error:  # whatever a foreign implementation raises
        return "error", f"{type(error).__name__}: {error}"
    return "pass", ""


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    seam, name = sys.argv[1:3]
    try:
        implementation = registry.resolve(seam, name)
    except UnavailableError as error:
        _say(answers, {"ready": False, "outcome": "unavailable", "reason": str(error)})
        return
    except Exception as error:  # importing foreign code may raise anything
        _say(
            answers,
            {"ready": False, "outcome": "error", "reason": f"{type(error).__name__}: {error}"},
        )
        return
    xfails = getattr(implementation, "xfails", None)
    ready = {"ready": True, "version": str(implementation.version)}
    _say(answers, {**ready, "xfails": str(xfails) if xfails else None})
    known: dict[tuple[str, str], Mapping[str, Case]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        where = (asked["root"] or "", asked["golden"] or "")
        if where not in known:
            root, golden = (Path(part) if part else None for part in where)
            known[where] = {case.id: case for case in load_cases(seam, root, golden)}
        case = known[where][asked["case"]]
        begin = time.perf_counter()
        if asked.get("do") == "invariants":
            assert isinstance(case, ScanCase)
            answer = _invariants(case, implementation)
        elif "do" in asked:
            assert isinstance(case, SerdeCase)
            answer = _exchange(case, implementation, asked)
        else:
            word, reason = run_one(case, implementation)
            answer = {"outcome": word, "reason": reason}
        _say(answers, {**answer, "seconds": time.perf_counter() - begin})


def _invariants(case: ScanCase, scanner: Any) -> dict[str, Any]:
    """Hold a case's invariants."""
    answer: dict[str, Any] = {}

    def hold() -> None:
        answer["digest"] = hold_invariants(case, scanner)

    word, reason = _told(hold)
    return {"outcome": word, "reason": reason, **answer}


def _exchange(case: SerdeCase, serde: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Write a case's values, or read what another wrote of them."""
    answer: dict[str, Any] = {}

    def produce() -> None:
        answer["bytes"] = base64.b64encode(produce_serde(case, serde)).decode()

    def consume() -> None:
        consume_serde(case, serde, base64.b64decode(asked["bytes"]))

    word, reason = _told(produce if asked["do"] == "produce" else consume)
    count = getattr(serde, "live_blocks", None)
    memory = {
        "blocks": None if count is None else int(count()),
        "rss_kib": psutil.Process().memory_info().rss >> 10,
    }
    return {"outcome": word, "reason": reason, **answer, **memory}


def _say(answers: IO[str], message: Mapping[str, Any]) -> None:
    """Write one line at once."""
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
