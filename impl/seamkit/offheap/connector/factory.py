"""Scanners by name, as an engine asks for them."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points

from seambase.errors import UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.offheap.connector.parameters import Parameters
from seamkit.offheap.connector.scanner import ConnectorScanner

ENTRY_POINTS = "seamkit.connector"
"""Group of the entry points by which packages bring scanners of their own."""

_CLASSES: dict[str, str] = {
    "default": "seamkit.offheap.connector.rows:RowScanner",
    "rows": "seamkit.offheap.connector.rows:RowScanner",
    "parquet": "seamkit.offheap.connector.batches:ParquetScanner",
    "generator": "seamkit.offheap.connector.generator:GeneratorScanner",
}


def register(name: str, target: str) -> None:
    """Call the scanner `target` (`package.module:Class`) `name`; it is imported when used."""
    _CLASSES[name] = target


def scanner_class(name: str = "default") -> type[ConnectorScanner]:
    """The scanner called `name` (Java: `ScannerFactory.getScannerClass`)."""
    target = _CLASSES.get(name) or _brought().get(name)
    if target is None:
        known = ", ".join([*_CLASSES, *_brought()])
        raise UsageError(f"there is no connector scanner '{name}'; known: {known}")
    module, _, attribute = target.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, ConnectorScanner)):
        raise UsageError(f"connector scanner '{name}': {target} is no ConnectorScanner")
    return found


def _brought() -> dict[str, str]:
    """Scanners of other packages by name; none of them is imported."""
    return {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}


def connector_scanner(
    name: str,
    fetch_size: int,
    parameters: Parameters,
    allocator: TrackedAllocator | None = None,
) -> ConnectorScanner:
    """A scanner from texts (Java: the constructor with `int` and `Map<String, String>`).

    Args:
        name: of the scanner.
        fetch_size: rows for which each table has room before anything grows.
        parameters: what to scan; the class's `from_parameters` says which there are.
        allocator: where all memory comes from; a new one without limit by default.

    Raises:
        seambase.errors.UsageError: no such scanner, one that is not made from texts, an unknown
            or missing parameter.
    """
    made = getattr(scanner_class(name), "from_parameters", None)
    if made is None:
        raise UsageError(f"connector scanner '{name}' is not made from parameters")
    scanner: ConnectorScanner = made(fetch_size, parameters, allocator)
    return scanner
