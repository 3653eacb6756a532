"""Seams, implementations and suites by name: the harness imports none of them itself.

A name of an implementation is one of

- a short name, announced by an installed package as entry point `<seam>.<name>` of the group
  `seambench.impl`, e.g. `auto` for `scan.auto`;
- `NAME@VERSION`, a peer of the catalogue (`seambench.contracts.peers`) in its own environment;
- `package.module:Class`, any class with the seam's methods;
- `package.module:function`, a function with arguments, where the seam takes functions;
- `cmd:./reader --flag`, a command, `lib:./reader.so`, a shared library, and
  `http://127.0.0.1:8080`, a service (docs/doors.md), where the seam has such a door;
- `java:com.example.MyScanner`, or another word before the colon for which an installed package has
  a door: an entry point `<seam>.<word>` of the group `seambench.door`, a function of what follows;
- `A -> B`, a pair of two such names, where the seam pairs implementations;
- `A + B`, two that do the same at once, where the seam has such questions.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError, SeambenchError, UnavailableError, UsageError
from seambase.extras import how_to_install
from seambase.wording import nearest
from seambench.contracts.peers.catalogue import Peer, peer_of
from seambench.contracts.peers.environments import is_inside
from seambench.contracts.seam import Seam

_SEAMS = "seambench.seam"
_IMPLEMENTATIONS = "seambench.impl"
_DOORS = "seambench.door"
_SUITES = "seambench.suite"
_LIBRARIES = "seambench.library"
#: Words before a colon that are no modules, whether a seam has a door of that name or not.
_NO_MODULES = ("cmd", "lib", "http", "https")

#: Between the two names of a pair.
PAIR = " -> "
#: Between the names of two that are asked at once.
BESIDE = " + "


def seams() -> list[str]:
    """Names of the installed seams, in alphabetical order."""
    return sorted(grouped(_SEAMS))


def find_seam(name: str) -> Seam:
    """The seam of a name."""
    known = grouped(_SEAMS)
    if name not in known:
        raise UsageError(f"unknown seam {name!r}; the seams are {', '.join(sorted(known))}")
    found = load(pick(known, name, "seam"), name)
    if not isinstance(found, Seam):
        raise UsageError(f"the entry point of seam {name!r} is no seambench.contracts.seam.Seam")
    return found


def names(seam: str, *, without: tuple[str | None, ...] = ()) -> list[str]:
    """Short names of the installed implementations of a seam, in alphabetical order.

    Kinds may be left out; None is that of one which cannot be made here.
    """
    find_seam(seam)
    known = sorted(_announced(seam))
    return [n for n in known if not without or _kind(seam, n, without) not in without]


def _kind(seam: str, name: str, without: tuple[str | None, ...]) -> str | None:
    """The kind; a class that states one that is left out is not made, which may start a JVM."""
    try:
        stated = getattr(load(pick(_announced(seam), name, "implementation"), name), "kind", None)
        return stated if stated in without else str(resolve(seam, name).kind)
    except UnavailableError:
        return None


def resolve(seam: str, name: str) -> Any:
    """A fresh instance of the implementation that a name stands for; see the module's text."""
    known = find_seam(seam)
    first, arrow, second = name.partition(PAIR)
    if arrow:
        return known.pair(resolve(seam, first), resolve(known.reader or seam, second))
    first, plus, second = name.partition(BESIDE)
    if plus and type(known).beside is not Seam.beside:  # elsewhere a command may have that word
        return known.beside(resolve(seam, first), resolve(seam, second))
    versioned = peer_of(seam, name)
    kind, colon, rest = name.partition(":")
    if versioned is not None:
        made = _of_version(known, *versioned)
    elif colon and kind in known.doors:
        made = known.doors[kind](rest)
    elif colon and kind in _NO_MODULES:
        raise RefusedError(f"{name}: the {seam} seam has no door `{kind}`")
    elif colon and (door := grouped(_DOORS).get(f"{seam}.{kind}")):
        made = load(door[0], name)(rest)
    elif colon:
        made = _instance(known, name, load(EntryPoint(name, name, _IMPLEMENTATIONS), name))
    else:
        point = pick(_announced(seam), name, f"implementation of the {seam} seam")
        made = _instance(known, name, load(point, name))
    known.require_words(made.capabilities, name)
    return made


def module_file(seam: str, name: str) -> Path | None:
    """The file of the module of a name that is `module:name`; None for other names."""
    module, colon, _ = name.partition(":")
    if not colon or module in (*_NO_MODULES, *find_seam(seam).doors):
        return None
    return None if f"{seam}.{module}" in grouped(_DOORS) else file_of_module(module)


def file_of_module(name: str) -> Path | None:
    """The file of a module, if there is such a one; it is not imported for that."""
    try:
        spec = find_spec(name)
    except (Exception, SystemExit):  # as in `load`: the package around it is imported
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _of_version(seam: Seam, peer: Peer, version: str) -> Any:
    """A peer in a version: itself within its environment, elsewhere a program that runs there."""
    if not is_inside(peer, version):
        served = seam.served(peer, version)
        point = pick(_announced(seam.name), peer.name, f"implementation of the {seam.name} seam")
        served.xfails = getattr(load(point, peer.name), "xfails", None)
        return served
    made = resolve(seam.name, peer.name)
    if str(made.version) != version:
        raise UnavailableError(f"{peer.name}@{version}: version {made.version} came instead")
    return made


def library_name() -> str:
    """The library that an installed package announces, as pages name it."""
    known = sorted(grouped(_LIBRARIES))
    return known[0] if len(known) == 1 else "the library"


def default_reader() -> str:
    """The reader that is meant where none is named: the announced library's."""
    known = grouped(_LIBRARIES)
    if len(known) != 1:
        listed = ", ".join(sorted(known)) or "none"
        raise UsageError(f"name a reader: one library has to be announced, found are {listed}")
    (library,) = known
    meant = pick(known, library, "library").value
    short = (n for n, points in _announced("scan").items() if meant in (p.value for p in points))
    return min(short, default=meant)


def suites() -> list[str]:
    """Names of the installed suites of queries."""
    return sorted(grouped(_SUITES))


def resolve_suite(name: str) -> Any:
    """Load a suite of queries, e.g. `tpch`: an object with `queries` and `published_answers`."""
    return load(pick(grouped(_SUITES), name, "suite"), name)


def grouped(group: str) -> dict[str, list[EntryPoint]]:
    """The different entry points of a group, by name."""
    return _grouped(group, tuple(sys.path), entry_points)


@lru_cache
def _grouped(
    group: str, path: tuple[str, ...], find: Callable[..., Iterable[EntryPoint]]
) -> dict[str, list[EntryPoint]]:
    """The same for one path of packages; looking through all of them takes milliseconds each."""
    del path
    found: dict[str, list[EntryPoint]] = {}
    for point in find(group=group):
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
    """The one entry point of a name."""
    points = known.get(name, [])
    if len(points) == 1:
        return points[0]
    if points:
        values = ", ".join(sorted(point.value for point in points))
        raise UsageError(
            f"{what} {name!r} is announced more than once: {values}; name one of these"
        )
    meant = [repr(one) for one in nearest(name, known)]
    ways = ", besides package.module:name, cmd:./reader, lib:./reader.so and http://HOST:PORT"
    besides = ways if what.startswith("implementation") else ""
    module = name.removeprefix("./").removesuffix(".py")
    if besides and "/" not in module and file_of_module(module) is not None:
        meant = [f"{module}:FUNCTION or {module}:CLASS of the module {module}", *meant]
    hint = f"; did you mean {', or '.join(meant)}" if meant else ""
    raise UsageError(
        f"unknown {what} {name!r}{hint}; known are {', '.join(sorted(known)) or 'none'}{besides}"
    )


def load(point: EntryPoint, name: str) -> Any:
    """What an entry point stands for."""
    module_name = point.value.partition(":")[0]
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise UsageError(f"{name}: there is no module {missing!r}") from error
        raise UnavailableError(
            f"{name} needs the package {missing!r}, which is not installed{_advice(point, missing)}"
        ) from error
    except UnavailableError:  # the module itself says what it needs
        raise
    except ImportError as error:
        raise UnavailableError(f"{name} cannot be loaded here: {error}") from error
    except (Exception, SystemExit) as error:  # whatever code of others does while it is imported
        raise UsageError(f"{name}: importing {module_name!r} fails: {error!r}") from error
    loaded: Any = module
    for attribute in filter(None, point.value.partition(":")[2].split(".")):
        if not hasattr(loaded, attribute):
            raise UsageError(f"{name}: module {module_name!r} has no {attribute!r}")
        loaded = getattr(loaded, attribute)
    return loaded


def _advice(point: EntryPoint, missing: str) -> str:
    """How to install a package that an extra of the entry point's distribution is called by."""
    announced = point.dist
    extras = announced.metadata.get_all("Provides-Extra") if announced is not None else None
    if announced is None or missing not in (extras or ()):
        return ""
    return f": {how_to_install(f'{announced.name}[{missing}]')}"


def _takes_arguments(loaded: Callable[..., Any]) -> bool:
    """Whether this is a function to be asked, not a class or a function that makes something."""
    if inspect.isclass(loaded):
        return False
    try:
        parameters = inspect.signature(loaded).parameters.values()
    except ValueError:  # of a compiled function that tells nothing of itself
        return True
    return any(
        one.default is one.empty
        and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)
        for one in parameters
    )


def _instance(seam: Seam, name: str, loaded: Any) -> Any:
    if not callable(loaded):
        raise UsageError(f"{name} is a {type(loaded).__name__}, not a class or a function")
    if _takes_arguments(loaded):
        return seam.wrap(loaded, name)
    try:
        made = loaded()
    except SeambenchError:
        raise
    except TypeError as error:
        raise UsageError(f"{name} cannot be made without arguments: {error}") from error
    except (Exception, SystemExit) as error:  # as above
        raise UsageError(f"{name} cannot be made: {error!r}") from error
    required = ("name", "version", "kind", "capabilities", seam.method)
    missing = [attribute for attribute in required if not hasattr(made, attribute)]
    if missing:
        what = "" if isinstance(loaded, type) else "takes no argument, and what it returns "
        raise UsageError(
            f"{name} {what}is no implementation of the {seam.name} seam: it lacks {missing[0]!r}"
        )
    return made
