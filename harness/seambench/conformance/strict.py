"""Dataclasses from parsed TOML, where an unknown, missing or mistyped key is an error."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from seambase.errors import UsageError
from seambench.contracts.common import Level

__all__ = ["CaseFile", "build", "case_files", "load_toml", "read_case_file", "read_toml"]

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class CaseFile:
    """Keys that a case file of any seam has.

    Attributes:
        level: see `seambench.contracts.common.Level`.
        requirement: the rule in words.
        needs: capabilities besides those that follow from the case.
        threads: where engines were found to break the rule.
    """

    level: Level
    requirement: str
    needs: Sequence[str] = ()
    threads: Sequence[str] = ()


C = TypeVar("C", bound=CaseFile)


def case_files(root: Path, seam: str) -> Iterator[tuple[str, Path]]:
    """The case files of a seam below a root, each with the id that its path is."""
    folder = root / "cases"
    for file in sorted((folder / seam).rglob("*.toml")):
        yield file.relative_to(folder).with_suffix("").as_posix(), file


def read_case_file(cls: type[C], file: Path) -> C:
    """A case file.

    Raises:
        UsageError: see `read_toml`, or the requirement is empty.
    """
    read = read_toml(cls, file)
    if not read.requirement.strip():
        raise UsageError(f"{file}: the requirement is empty")
    return read


def read_toml(cls: type[T], file: Path) -> T:
    """A dataclass from a TOML file; see `build`.

    Raises:
        UsageError: no such file, no TOML, or what `build` refuses.
    """
    return build(cls, load_toml(file), file)


def load_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises:
        UsageError: no such file, or no TOML.
    """
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: not readable as TOML ({error})") from error


def build(cls: type[T], data: Mapping[str, Any], source: Path | str) -> T:
    """An instance of a dataclass from a mapping; so are fields that are dataclasses themselves.

    Values are checked, never converted.

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
    made = {name: _built(value, hints[name], source) for name, value in data.items()}
    for name, value in made.items():
        if not _fits(value, hints[name]):
            raise UsageError(f"{source}: {name} = {value!r} is not {fields[name].type}")
    return cls(**made)


def _built(value: Any, hint: Any, source: Path | str) -> Any:
    """A value, or the dataclass, or the list of dataclasses, that its annotation asks for."""
    choices = typing.get_args(hint) or (hint,)
    cls = next((c for c in choices if isinstance(c, type) and dataclasses.is_dataclass(c)), None)
    if cls is None:
        return value
    if isinstance(value, dict):
        return build(cls, value, source)
    if isinstance(value, list) and typing.get_origin(hint) is Sequence:
        return [build(cls, item, source) if isinstance(item, dict) else item for item in value]
    return value


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
