"""The process that runs cases of one implementation, so that a crash takes nothing else with it.

`python -m seambench.worker SEAM IMPLEMENTATION` reads one JSON object per line (`case`, `root`,
`golden`) and answers each with one (`outcome`, `seconds`, `reason`); first it says `ready`.
Whatever the implementation itself prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from seambench import registry
from seambench.cases import Case, ColumnCase, ScanCase, load_cases
from seambench.column_check import check_column
from seambench.errors import UnavailableError
from seambench.outcomes import Mismatch, NotOffered
from seambench.scan_check import check_scan
from seambench.serde.check import check_serde

__all__ = ["main", "run_one"]


def run_one(case: Case, implementation: Any) -> tuple[str, str]:
    """Run a case: its word and the reason."""
    try:
        if isinstance(case, ScanCase):
            check_scan(case, implementation)
        elif isinstance(case, ColumnCase):
            check_column(case, implementation)
        else:
            check_serde(case, implementation)
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
        begin = time.perf_counter()
        word, reason = run_one(known[where][asked["case"]], implementation)
        seconds = time.perf_counter() - begin
        _say(answers, {"outcome": word, "seconds": seconds, "reason": reason})


def _say(answers: IO[str], message: Mapping[str, Any]) -> None:
    """Write one line at once."""
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
