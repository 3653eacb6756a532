"""Implementations and suites by name: the harness imports none of them itself.

A name is one of

- a short name, announced by an installed package as entry point `<seam>.<name>` of the group
  `seambench.impl`, e.g. `auto` for `scan.auto`;
- `package.module:Class`, any class with the seam's methods;
- `cmd:./reader --flag`, a command (`seambench.conformance.doors.command`);
- `lib:./reader.so`, a shared library (`seambench.conformance.doors.library`);
- of the exchange seam `A -> B`, the senders of one such name facing the receivers of another
  (`seambench.seams.exchange.pairs`).
"""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from seambase.errors import RefusedError, SeambenchError, UnavailableError, UsageError

__all__ = ["SEAMS", "grouped", "load", "names", "pick", "resolve", "resolve_suite", "suites"]

_IMPLEMENTATIONS = "seambench.impl"
_SUITES = "seambench.suite"

#: Seams, and the method that every implementation of one must have.
SEAMS = {"scan": "open", "column": "chunks", "serde": "serialize", "exchange": "open"}


def names(seam: str) -> list[str]:
    """Short names of the installed implementations of a seam, in alphabetical order."""
    _require_seam(seam)
    return sorted(_announced(seam))


def resolve(seam: str, name: str) -> Any:
    """Make the implementation that a name stands for.

    Args:
        seam: `scan`, `column`, `serde` or `exchange`.
        name: see the module's text.

    Returns:
        A fresh instance (for `scan` a `seambench.contracts.scan.Scanner`).

    Raises:
        UsageError: unknown name, module or class, or a class that is no implementation.
        RefusedError: this seam takes no commands or libraries.
        UnavailableError: the implementation needs a package that is not installed.
    """
    _require_seam(seam)
    sender, arrow, receiver = name.partition(" -> ")
    if arrow and seam == "exchange":
        from seambench.seams.exchange.pairs import Pair

        return Pair(resolve(seam, sender), resolve(seam, receiver))
    kind, colon, rest = name.partition(":")
    if colon and kind in ("cmd", "lib"):
        return _open_door(seam, kind, rest)
    if colon:
        loaded = load(EntryPoint(name, name, _IMPLEMENTATIONS), name)
    else:
        loaded = load(pick(_announced(seam), name, f"implementation of the {seam} seam"), name)
    return _instance(seam, name, loaded)


def suites() -> list[str]:
    """Names of the installed suites of queries."""
    return sorted(grouped(_SUITES))


def resolve_suite(name: str) -> Any:
    """Load a suite of queries, e.g. `tpch`: an object with `queries` and `published_answers`.

    Raises:
        UsageError: unknown name.
        UnavailableError: it needs a package that is not installed.
    """
    return load(pick(grouped(_SUITES), name, "suite"), name)


def _require_seam(seam: str) -> None:
    if seam not in SEAMS:
        raise UsageError(f"unknown seam {seam!r}; the seams are {', '.join(SEAMS)}")


def grouped(group: str) -> dict[str, list[EntryPoint]]:
    """The different entry points of a group, by name."""
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        same = found.setdefault(point.name, [])
        # A checkout and a wheel of one package may both be on the path; they say the same.
        if all(point.value != other.value for other in same):
            same.append(point)
    return found


def _announced(seam: str) -> dict[str, list[EntryPoint]]:
    prefix = f"{seam}."
    return {
        name.removeprefix(prefix): points
        for name, points in grouped(_IMPLEMENTATIONS).items()
        if name.startswith(prefix)
    }


def pick(known: dict[str, list[EntryPoint]], name: str, what: str) -> EntryPoint:
    """The one entry point of a name.

    Raises:
        UsageError: there is none, or more than one.
    """
    points = known.get(name, [])
    if len(points) == 1:
        return points[0]
    if points:
        values = ", ".join(sorted(point.value for point in points))
        raise UsageError(
            f"{what} {name!r} is announced more than once: {values}; name one of these"
        )
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}" if close else ""
    ways = ", besides package.module:Class, cmd:./reader and lib:./reader.so"
    besides = ways if what.startswith("implementation") else ""
    raise UsageError(
        f"unknown {what} {name!r}{hint}; known are {', '.join(sorted(known)) or 'none'}{besides}"
    )


def load(point: EntryPoint, name: str) -> Any:
    """What an entry point stands for.

    Raises:
        UsageError: there is no such module or attribute.
        UnavailableError: it needs a package that is not installed.
    """
    module_name = point.value.partition(":")[0]
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise UsageError(f"{name}: there is no module {missing!r}") from error
        raise UnavailableError(
            f"{name} needs the package {missing!r}, which is not installed"
        ) from error
    except ImportError as error:
        raise UnavailableError(f"{name} cannot be loaded here: {error}") from error
    loaded: Any = module
    for attribute in filter(None, point.value.partition(":")[2].split(".")):
        if not hasattr(loaded, attribute):
            raise UsageError(f"{name}: module {module_name!r} has no {attribute!r}")
        loaded = getattr(loaded, attribute)
    return loaded


def _instance(seam: str, name: str, loaded: Any) -> Any:
    if not callable(loaded):
        raise UsageError(f"{name} is a {type(loaded).__name__}, not a class")
    try:
        made = loaded()
    except SeambenchError:
        raise
    except TypeError as error:
        raise UsageError(f"{name} cannot be made without arguments: {error}") from error
    wanted = ("name", "version", "kind", "capabilities", SEAMS[seam])
    missing = [attribute for attribute in wanted if not hasattr(made, attribute)]
    if missing:
        raise UsageError(f"{name} is no implementation of the {seam} seam: it lacks {missing[0]!r}")
    return made


def _open_door(seam: str, kind: str, rest: str) -> Any:
    if seam == "scan" and kind == "cmd":
        from seambench.conformance.doors.command import CommandScanner

        return CommandScanner(rest)
    if seam == "scan":
        from seambench.conformance.doors.library import LibraryScanner

        return LibraryScanner(rest)
    if seam == "serde":
        from seambench.seams.serde.door import CommandSerde, LibrarySerde

        return CommandSerde(rest) if kind == "cmd" else LibrarySerde(rest)
    if seam == "exchange" and kind == "cmd":
        from seambench.seams.exchange.door import CommandExchange

        return CommandExchange(rest)
    raise RefusedError(f"{kind}:{rest}: the {seam} seam takes Python classes only, so far")
