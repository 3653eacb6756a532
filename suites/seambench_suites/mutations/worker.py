"""The process that reads mutated tables, so that a crash or a hang takes nothing else with it.

`python -m seambench_suites.mutations.worker scan IMPLEMENTATION` says whether it is ready, then
answers each line of JSON, a request, with one: `outcome` is `read` with a digest of schema and rows
and the number of warnings, `named` for one of the errors that readers are to raise, or `raw`.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
from collections.abc import Mapping
from typing import Any

from seambase.errors import SeambenchError, UnavailableError
from seambench.contracts import registry
from seambench.contracts.scan import Scanner, ScanRequest

__all__ = ["main"]

#: Address space of the process; a table of the suites takes a thousandth of it.
_MEMORY_BYTES = 12 << 30


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    try:
        scanner: Scanner = registry.resolve(*sys.argv[1:3])
    except UnavailableError as error:
        ready: dict[str, Any] = {"ready": False, "outcome": "unavailable", "reason": str(error)}
    else:
        ready = {"ready": True, "version": str(scanner.version), "xfails": None}
    answers.write(json.dumps(ready) + "\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(scanner, json.loads(line))) + "\n")
        answers.flush()


def _answer(scanner: Scanner, request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        scan = scanner.open(ScanRequest(**request, threads=1))
        with scan.to_reader() as reader:
            read = reader.read_all()
        rows = sorted(map(repr, read.to_pylist()))
        text = "\n".join([*map(str, read.schema), *rows])
        warnings = [warning.reason for warning in scan.report().warnings]
    except SeambenchError as error:
        return {"outcome": "named" if str(error) else "raw", "reason": str(error)}
    except Exception as error:  # what a reader raises is what is asked for here
        return {"outcome": "raw", "reason": f"{type(error).__name__}: {error}"}
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"outcome": "read", "digest": digest, "rows": len(rows), "warnings": warnings}


if __name__ == "__main__":
    main()
