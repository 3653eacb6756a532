"""Scanners by name, as an engine asks for them."""

from __future__ import annotations

import importlib

from seambench.errors import UsageError
from seambench_impl.connector.parameters import Parameters
from seambench_impl.connector.scanner import ConnectorScanner
from seambench_impl.memory import TrackedAllocator

__all__ = ["create", "register", "scanner_class"]

_CLASSES: dict[str, str] = {
    "default": "seambench_impl.connector.rows:RowScanner",
    "rows": "seambench_impl.connector.rows:RowScanner",
    "hudi": "seambench_impl.connector.hudi_slice:HudiSliceScanner",
    "parquet": "seambench_impl.connector.parquet:ParquetScanner",
    "generator": "seambench_impl.connector.generator:GeneratorScanner",
}


def register(name: str, target: str) -> None:
    """Call the scanner `target` (`package.module:Class`) `name`; it is imported when used."""
    _CLASSES[name] = target


def scanner_class(name: str = "default") -> type[ConnectorScanner]:
    """The scanner called `name` (Java: `ScannerFactory.getScannerClass`).

    Raises:
        seambench.errors.UsageError: there is none of that name, or it is no scanner.
    """
    if name not in _CLASSES:
        raise UsageError(f"there is no connector scanner '{name}'; known: {', '.join(_CLASSES)}")
    module, _, attribute = _CLASSES[name].partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, ConnectorScanner)):
        raise UsageError(f"connector scanner '{name}': {_CLASSES[name]} is no ConnectorScanner")
    return found


def create(
    name: str,
    fetch_size: int,
    parameters: Parameters,
    allocator: TrackedAllocator | None = None,
) -> ConnectorScanner:
    """A scanner from texts (Java: the constructor with `int` and `Map<String, String>`).

    Args:
        name: of the scanner.
        fetch_size: rows for which each table has room before anything grows.
        parameters: what to scan; which there are is told by the class's `from_parameters`.
        allocator: where all memory comes from; a new one without limit by default.

    Raises:
        seambench.errors.UsageError: no such scanner, one that is not made from texts, an unknown
            or missing parameter.
    """
    made = getattr(scanner_class(name), "from_parameters", None)
    if made is None:
        raise UsageError(f"connector scanner '{name}' is not made from parameters")
    scanner: ConnectorScanner = made(fetch_size, parameters, allocator)
    return scanner
