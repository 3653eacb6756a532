"""What commands and libraries are told and what they tell: requests as JSON, facts as a file.

Beside a command or library `reader` may lie `reader.seambench.json`:
`{"name": "...", "version": "...", "capabilities": {"query.snapshot": true}}`. Without it the reader
states no capability, and conformance cases are `not-offered` rather than failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import RefusedError, SeambenchError, UsageError
from seambench.contracts.scan import ScanRequest

__all__ = ["REQUEST_VERSION", "Facts", "read_facts", "require_columns", "scan_request"]

REQUEST_VERSION = 1
_KNOWN = {"name", "version", "capabilities"}


@dataclass(frozen=True)
class Facts:
    """What a reader says of itself."""

    name: str
    version: str = "unknown"
    capabilities: Mapping[str, bool] = field(default_factory=dict)


def scan_request(request: ScanRequest, facts: Facts) -> str:
    """The request as one JSON object; absent members mean null.

    Raises:
        RefusedError: it has a filter, and the reader does not say that it applies filters.
    """
    if request.where is not None and not facts.capabilities.get("where"):
        raise RefusedError(f"{facts.name}: it does not state that it applies filters (`where`)")
    query = {
        "type": request.query,
        "begin": request.begin,
        "end": request.end,
        "as_of": request.as_of,
        "changes_alone": request.changes_alone or None,
    }
    content: dict[str, Any] = {
        "version": REQUEST_VERSION,
        "seam": "scan",
        "table": request.table,
        "query": {key: value for key, value in query.items() if value is not None},
        "columns": None if request.columns is None else list(request.columns),
        "where": request.where,
        "batch_size": request.batch_rows,
        "threads": request.threads,
        "memory_limit": request.memory_limit_bytes,
        "strict": request.strict or None,
        "storage_options": dict(request.storage_options) or None,
    }
    return json.dumps({key: value for key, value in content.items() if value is not None})


def read_facts(reader: Path) -> Facts:
    """Read the facts beside a reader, if there are any.

    Raises:
        UsageError: the file is no JSON object of the documented members.
    """
    file = reader.with_name(f"{reader.name}.seambench.json")
    if not file.exists():
        return Facts(reader.name)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: no readable JSON: {error}") from error
    if not isinstance(content, dict) or set(content) - _KNOWN:
        raise UsageError(f"{file}: an object with {sorted(_KNOWN)} is expected, nothing else")
    capabilities = content.get("capabilities", {})
    if not isinstance(capabilities, dict) or not all(
        isinstance(value, bool) for value in capabilities.values()
    ):
        raise UsageError(f"{file}: capabilities must map words to true or false")
    name, version = content.get("name", reader.name), content.get("version", "unknown")
    return Facts(str(name), str(version), capabilities)


def require_columns(schema: pa.Schema, request: ScanRequest, reader: str) -> None:
    """Check that a stream has the columns asked for, in their order.

    Raises:
        SeambenchError: it has others.
    """
    if request.columns is not None and schema.names != list(request.columns):
        raise SeambenchError(
            f"{reader}: asked for columns {list(request.columns)}, a stream of {schema.names} came"
        )
