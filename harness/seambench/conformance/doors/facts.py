"""What commands and libraries say of themselves: a file of facts beside them.

Beside a command or library `reader` may lie `reader.seambench.json`:
`{"name": "...", "version": "...", "capabilities": {"query.snapshot": true}}`. Without it the reader
states no capability, and conformance cases are `not-offered` rather than failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seambase.errors import UsageError

__all__ = ["REQUEST_VERSION", "Facts", "read_facts"]

#: Member `version` of every request.
REQUEST_VERSION = 1
_KNOWN = {"name", "version", "capabilities"}


@dataclass(frozen=True)
class Facts:
    """What a reader says of itself."""

    name: str
    version: str = "unknown"
    capabilities: Mapping[str, bool] = field(default_factory=dict)


def read_facts(reader: Path) -> Facts:
    """Read the facts beside a reader, if there are any."""
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
