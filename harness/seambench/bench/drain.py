"""Stream one scan and say what it cost: `python -m seambench.bench.drain JSON`.

A process of its own, because the peak memory of a process never goes down again.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from seambase.errors import SeambenchError
from seambench.bench.memory import peak_of_own_process
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest


def drain(reader: str, request: dict[str, Any]) -> dict[str, Any]:
    """Read all batches, keeping none; tell rows, seconds and peak memory."""
    scanner = registry.resolve("scan", reader)
    begin = time.perf_counter()
    rows = 0
    with scanner.open(ScanRequest(**request)).to_reader() as stream:
        for batch in stream:
            rows += batch.num_rows
            del batch
    return {
        "rows": rows,
        "seconds": time.perf_counter() - begin,
        "peak_bytes": peak_of_own_process(),
    }


def main() -> None:
    """Answer the request given as the only argument."""
    given = json.loads(sys.argv[1])
    try:
        drained = drain(given["reader"], given["request"])
    except SeambenchError as error:
        sys.exit(str(error))
    sys.stdout.write(json.dumps(drained) + "\n")


if __name__ == "__main__":
    main()
