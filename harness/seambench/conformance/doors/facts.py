"""What readers that are no Python classes say of themselves: their facts.

Beside a reader `reader`, `reader.py` or `reader.so` may lie `reader.seambench.json`:
`{"name": "...", "version": "...", "capabilities": {"query.snapshot": true}}`. Without it the reader
states no capability, and conformance cases are `not-offered` rather than failed. A service says the
same of itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seambase.errors import UsageError
from seambench.contracts.common import Kind

#: Member `version` of every request.
REQUEST_VERSION = 1
_ENDING = ".seambench.json"
_KNOWN = {"name", "version", "capabilities"}


@dataclass(frozen=True)
class Facts:
    """What a reader says of itself."""

    name: str
    version: str = "unknown"
    capabilities: Mapping[str, bool] = field(default_factory=dict)


class WithFacts:
    """An implementation that is no Python object: what it is called, and can, its facts say."""

    kind: Kind = "peer"

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.name, self.version = facts.name, facts.version
        self.capabilities = facts.capabilities


def read_facts(reader: Path, *arguments: str) -> Facts:
    """Read the facts beside a reader, if there are any.

    `python reader.py`, `java -jar reader.jar` and `java Reader` have their facts beside what they
    name; the first word beside which there are some counts.
    """
    for word in (reader, *(Path(word) for word in arguments if Path(word).name)):
        for name in dict.fromkeys((word.name, word.stem)):
            file = word.with_name(f"{name}{_ENDING}")
            if os.path.isfile(file):  # noqa: PTH113 - whatever an argument holds is no error
                return parse_facts(_read(file), reader.name, str(file))
    return Facts(reader.name)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: no readable JSON: {error}") from error


def parse_facts(text: str, name: str, file: str) -> Facts:
    """Facts from JSON."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{file}: no readable JSON: {error}") from error
    if not isinstance(content, dict) or set(content) - _KNOWN:
        raise UsageError(f"{file}: an object with {sorted(_KNOWN)} is expected, nothing else")
    capabilities = content.get("capabilities", {})
    if not isinstance(capabilities, dict) or not all(
        isinstance(value, bool) for value in capabilities.values()
    ):
        raise UsageError(f"{file}: capabilities must map words to true or false")
    return Facts(
        str(content.get("name", name)), str(content.get("version", "unknown")), capabilities
    )
