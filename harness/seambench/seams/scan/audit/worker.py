"""The process in which another reader reads a table: `python -m ...worker scan IMPLEMENTATION`.

It speaks as `seambench.conformance.worker` does. A request has `table`, `columns`,
`storage_options`, `allow`, and either `schema` (whose types the digest is of, as Arrow's IPC in
base64) or `out`, a file for rows.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambench.conformance.worker import serve
from seambench.contracts.scan import ScanRequest
from seambench.contracts.seam import Seam
from seambench.seams.scan.audit.rows import digest, write_rows

_FIELDS = ("table", "columns", "storage_options", "allow")


def main() -> None:
    """Answer requests until standard input ends."""
    serve(_answer)


def packed(schema: pa.Schema) -> str:
    """A schema as requests have it."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _answer(_seam: Seam, scanner: Any, request: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        fields = {name: request[name] for name in _FIELDS}
        scan = scanner.open(ScanRequest(**fields))
        if "out" in request:
            write_rows(scan, Path(request["out"]))
            return {"outcome": "pass"}
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(request["schema"])))
        return {"outcome": "pass", "digest": digest(scan, schema)}
    except RefusedError as error:
        return {"outcome": "refused", "reason": str(error)}
    except UnavailableError as error:
        return {"outcome": "unavailable", "reason": str(error)}
    except SeambenchError as error:
        return {"outcome": "error", "reason": str(error)}
    except Exception as error:  # whatever foreign readers raise
        return {"outcome": "error", "reason": f"{type(error).__name__}: {error}"[:500]}


if __name__ == "__main__":
    main()
