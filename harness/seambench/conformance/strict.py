"""Dataclasses from parsed TOML, where an unknown, missing or mistyped key is an error."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from seambase.errors import UsageError

__all__ = ["build"]

T = TypeVar("T")


def build(cls: type[T], data: Mapping[str, Any], source: Path | str) -> T:
    """An instance of a dataclass from a mapping.

    Nested dataclasses must have been built before; values are checked, never converted.

    Args:
        cls: the dataclass.
        data: its fields by name.
        source: file that errors name.

    Raises:
        UsageError: unknown key, missing key, or a value of another type than declared.
    """
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - set(fields)):
        raise UsageError(f"{source}: unknown key {unknown[0]!r}; known are {sorted(fields)}")
    required = {
        name
        for name, f in fields.items()
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    if missing := sorted(required - set(data)):
        raise UsageError(f"{source}: the key {missing[0]!r} is missing")
    hints = _hints(typing.cast("typing.Hashable", cls))
    for name, value in data.items():
        if not _fits(value, hints[name]):
            raise UsageError(f"{source}: {name} = {value!r} is not {fields[name].type}")
    return cls(**data)


@cache
def _hints(cls: typing.Hashable) -> Mapping[str, Any]:
    """Types of a dataclass's fields; working them out takes longer than all else here."""
    return typing.get_type_hints(cls)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value has the type that a (simple) annotation tells."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin is typing.Literal:
        return value in args
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, arg) for arg in args)
    if origin is Sequence:
        return isinstance(value, (list, tuple)) and all(_fits(v, args[0]) for v in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(
            _fits(k, args[0]) and _fits(v, args[1]) for k, v in value.items()
        )
    if isinstance(value, bool) and hint in (int, float):
        return False
    return isinstance(value, origin or hint)
