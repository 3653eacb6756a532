"""The process that reads mutated tables, so that a crash or a hang takes nothing else with it.

It is asked as `seambench.conformance.worker` is. A request names a table and how it is read; of the
answer `outcome` is `read` with a digest of schema and rows
and the number of warnings, `named` for one of the errors that readers are to raise, or `raw`.
"""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from seambase.errors import SeambenchError
from seambench.conformance.worker import serve
from seambench.contracts.scan import Scanner, ScanRequest

#: Address space of the process; a table of the suites takes a thousandth of it.
_MEMORY_BYTES = 12 << 30


def main() -> None:
    """Answer requests until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    serve(_answer)


def _answer(_: object, scanner: Scanner, request: Mapping[str, Any]) -> Mapping[str, Any]:
    options = {word: value for word, value in request.items() if word != "number"}
    try:
        scan = scanner.open(ScanRequest(**options, threads=1))
        with scan.to_reader() as reader:
            read = reader.read_all()
        rows = sorted(map(repr, _with_numbers(read).to_pylist()))
        text = "\n".join([*map(str, read.schema), *rows])
        warnings = [warning.reason for warning in scan.report().warnings]
    except SeambenchError as error:
        return {"outcome": "named" if str(error) else "raw", "reason": str(error)}
    except Exception as error:  # what a reader raises is what is asked for here
        return {"outcome": "raw", "reason": f"{type(error).__name__}: {error}"}
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"outcome": "read", "digest": digest, "rows": len(rows), "warnings": warnings}


def _with_numbers(table: pa.Table) -> pa.Table:
    """The columns of dates and moments as numbers: Python has none beyond the year 9999."""
    fields = [
        field.with_type(pa.int32() if pa.types.is_date32(field.type) else pa.int64())
        if pa.types.is_date32(field.type) or pa.types.is_timestamp(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


if __name__ == "__main__":
    main()
