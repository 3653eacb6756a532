"""What linters of all formats share: rules by name, and findings that become faults.

Bytes and JSON of a table may be anything: a linter names what it cannot read as a fault, too.
"""

from __future__ import annotations

import json
import struct
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from fastavro.schema import SchemaParseException

from seambase.errors import SeambenchError
from seambench.contracts.common import Level
from seambench.contracts.formats import Fault

Finding = tuple[str, str, str]
"""A rule without the format's name, the place, and what stands there."""
Wrong = tuple[str, str]
"""A rule, or the end of its name, and what stands at a place that is known."""

DAMAGE: tuple[type[Exception], ...] = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(EOFError, MemoryError, OSError, RecursionError, StopIteration, struct.error, zlib.error),
    *(pa.ArrowException, SchemaParseException, SeambenchError),
)
"""What comes of bytes that are cut or turned, and of values of other types than are meant.

Whatever else is raised, an assertion, an unknown name, is the linter's own mistake, and ends it.
"""


class UnreadError(Exception):
    """What cannot be read, so that nothing behind it can be judged, as a finding."""

    def __init__(self, rule: str, place: str, says: str) -> None:
        super().__init__(says)
        self.finding: Finding = (rule, place, says)


class Rules:
    """The rules of a format.

    Attributes:
        known: of each its source and its level.
    """

    def __init__(self, name: str, document: str, file: Path) -> None:
        """Rules of a file in TOML: a table for each section of a document, in it names by level."""
        self._name, self.known = name, dict[str, tuple[str, Level]]()
        for section, levels in tomllib.loads(file.read_text(encoding="utf-8")).items():
            for level, rules in levels.items():
                for rule in rules:
                    self.known[f"{name}.{rule}"] = f"{document}, {section}", level

    def fault(self, finding: Finding) -> Fault:
        """A finding as a fault."""
        rule, place, says = finding
        source, level = self.known[f"{self._name}.{rule}"]
        return Fault(f"{self._name}.{rule}", source, place, says, level)

    def faults(
        self, check: Callable[[], Iterable[Finding]], rule: str, place: str
    ) -> Iterator[Fault]:
        """Findings as faults; one of the rule in place of all behind what cannot be judged."""
        return map(self.fault, guarded(check, rule, place))


def guarded(check: Callable[[], Iterable[Finding]], rule: str, place: str) -> Iterator[Finding]:
    """Findings; one of the rule in place of all that stand behind what cannot be judged."""
    try:
        yield from check()
    except UnreadError as unread:
        yield unread.finding
    except DAMAGE as error:
        yield rule, place, f"the rest is not judged: {reason(error)}"


def reason(error: Exception) -> str:
    """Why bytes or JSON cannot be read, in words."""
    match error:
        case KeyError(args=[name]):
            return f"there is no {name!r}"
        case struct.error() | IndexError() | EOFError() | StopIteration():
            return "it ends too soon"
        case RecursionError():
            return "it is nested too deeply"
        case MemoryError():
            return "it says that it is larger than the memory"
        case TypeError() | AttributeError():
            return "a value is of another type than the specification has it"
    return str(error)[:200] or type(error).__name__


def read_json(data: str | bytes, **options: Any) -> Any:
    """What JSON says.

    Raises:
        ValueError: it is none, or nested too deeply.
    """
    try:
        return json.loads(data, **options)
    except RecursionError as error:
        raise ValueError(reason(error)) from error


def fitting(said: Mapping[str, Any], shape: Mapping[str, tuple[type, ...]]) -> list[str]:
    """Names of members that are there and of another type than the shape has."""
    return [
        name
        for name, kinds in shape.items()
        if said.get(name) is not None and type(said[name]) not in kinds
    ]


def gaps(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """What is missing between numbers, from the first to the last of each gap."""
    return [
        (before + 1, after - 1) for before, after in pairwise(sorted(numbers)) if after > before + 1
    ]


def size_of(file: Path) -> int | None:
    """Bytes of a file; None where there is none that can be opened."""
    try:
        return file.stat().st_size if file.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None
