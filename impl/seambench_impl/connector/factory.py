"""Scanners by name, as an engine asks for them."""

from __future__ import annotations

import importlib

from seambench.errors import UsageError
from seambench_impl.connector.scanner import ConnectorScanner

__all__ = ["register", "scanner_class"]

_CLASSES: dict[str, str] = {
    "default": "seambench_impl.connector.rows:RowScanner",
    "rows": "seambench_impl.connector.rows:RowScanner",
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
