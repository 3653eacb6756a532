"""Dataclasses from parsed TOML, where an unknown, missing or mistyped key is an error."""

from __future__ import annotations

import dataclasses
import threading
import tomllib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec import inspect

from seambase.errors import UsageError
from seambase.wording import did_you_mean
from seambench.contracts.common import Level

T = TypeVar("T")

#: msgspec works out what a class holds when it meets that first; in two threads at once it ends
#: the process (seen of 0.22, with nested dataclasses).
_ONE_AT_A_TIME = threading.Lock()


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


def case_files(root: Path, id_: str, begins: Sequence[str] = ("",)) -> Iterator[tuple[str, Path]]:
    """The case files of a seam below a root, each with the id that its path is.

    Args:
        root: folder with `cases/`.
        id_: the seam, or a folder of its cases.
        begins: how the ids begin that are asked for: a file that has none of them is left out.
    """
    folder = root / "cases" / id_
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        below = f"{id_}/{file.name.removesuffix('.toml')}"
        if not may_begin(below, begins):
            continue
        if file.suffix == ".toml":
            yield below, file
        else:
            yield from case_files(root, below, begins)


def may_begin(id_: str, begins: Sequence[str]) -> bool:
    """Whether a case whose id begins so may be one of those that begin as is asked for."""
    return any(id_.startswith(begin) or begin.startswith(id_) for begin in begins)


def read_case_file(cls: type[C], file: Path) -> C:
    """A case file."""
    read = read_toml(cls, file)
    if not read.requirement.strip():
        raise UsageError(f"{file}: the requirement is empty")
    return read


def read_toml(cls: type[T], file: Path) -> T:
    """A dataclass from a TOML file; see `build`."""
    return build(cls, load_toml(file), file)


def load_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: not readable as TOML ({error})") from error


def build(cls: type[T], data: Mapping[str, Any], source: Path | str) -> T:
    """An instance of a dataclass from a mapping; so are fields that are dataclasses themselves.

    Values are checked, never converted. `source` is the file that errors name.
    """
    try:
        with _ONE_AT_A_TIME:
            _refuse_unknown(_type_info(cast("Hashable", cls)), data, source)
            return msgspec.convert(data, cls)
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: {error}") from error


def refuse_unknown(keys: Iterable[str], known: Iterable[str], source: Path | str) -> None:
    """Refuse a key that is none of those known.

    It says what may have been meant, and all that are known.
    """
    listed = sorted(known)
    for name in sorted(set(keys) - set(listed)):
        hint = did_you_mean(name, listed).removesuffix("?")
        raise UsageError(f"{source}: unknown key {name!r}{hint}; known are {listed}")


@cache
def _type_info(cls: Hashable) -> inspect.Type:
    """Types of a dataclass's fields; working them out takes longer than all else here."""
    return inspect.type_info(cls)


def _refuse_unknown(declared: inspect.Type, value: Any, source: Path | str) -> None:
    """Refuse a key that a dataclass lacks, at any depth: msgspec passes over these."""
    if isinstance(declared, inspect.UnionType):
        for choice in declared.types:
            _refuse_unknown(choice, value, source)
    elif isinstance(declared, inspect.CollectionType) and isinstance(value, list):
        for item in value:
            _refuse_unknown(declared.item_type, item, source)
    elif isinstance(declared, inspect.DataclassType) and isinstance(value, Mapping):
        fields = {one.name: one.type for one in declared.fields}
        refuse_unknown(value, fields, source)
        for name in sorted(value):
            _refuse_unknown(fields[name], value[name], source)
