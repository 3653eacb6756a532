"""Metadata that is JSON: read whole, its fields taken by name and type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, overload

from seambase.errors import InputError
from seamkit.files.storage import Storage

_T = TypeVar("_T")
_D = TypeVar("_D")
_REQUIRED = object()


def read_json(storage: Storage, path: str) -> Mapping[str, Any]:
    """A JSON object."""
    where = storage.full(path)
    try:
        content = json.loads(storage.read(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"{where}: no JSON object")
    return content


@overload
def field(content: Mapping[str, Any], name: str, kind: type[_T], where: str) -> _T: ...


@overload
def field(
    content: Mapping[str, Any], name: str, kind: type[_T], where: str, default: _D
) -> _T | _D: ...


def field(
    content: Mapping[str, Any], name: str, kind: type[_T], where: str, default: Any = _REQUIRED
) -> Any:
    """A field of a JSON object.

    Args:
        content: the object.
        name: of the field.
        kind: its Python type.
        where: the file, for messages.
        default: what stands for one that is missing or null; without it that is an error.

    Raises:
        InputError: it is missing, or of another type.
    """
    value = content.get(name)
    if value is None and default is not _REQUIRED:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InputError(f"{where}: its field {name!r} is {value!r:.60}, no {kind.__name__}")
    return value
