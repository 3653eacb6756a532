"""Which peers can be had in which versions: files that packages bring, one a peer.

A package announces a folder of them as an entry point of the group `seambench.peers`; folders in it
part peers of one name. A file `NAME.toml` says

    seam = "scan"                      # NAME@VERSION is an implementation of this seam
    package = "lake"                   # of PyPI; absent: the adapter fetches the version itself
    versions = ["0.4.0", "0.5.0"]
    requires = ["pandas"]              # what else its adapter needs, besides pyarrow
    pyarrow = ">=20,<22"               # where the newest will not do
    floor = true                       # it reads files, and knows nothing of the tables' format
    superseded = "0.7.0"               # a release of its project of which the peer cannot be had

    [[states]]                         # what it says it can do, by its own documents
    words = ["query.snapshot", "as-of"]
    since = "0.4.0"                    # absent: from the first version on; `until` likewise
    link = "https://..."
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from seambase.errors import UsageError

#: Between the name of a peer and its version.
AT = "@"

_KEYS = {"seam", "package", "versions", "requires", "pyarrow", "floor", "superseded", "states"}
_STATED = {"words", "since", "until", "link"}


@dataclass(frozen=True)
class Statement:
    """Capabilities that a peer's own documents state.

    Attributes:
        words: of the seam.
        link: the document.
        since: first version that has them; empty for all.
        until: last version that has them; empty for all.
    """

    words: Sequence[str]
    link: str
    since: str = ""
    until: str = ""

    def holds_for(self, version: str) -> bool:
        """Whether it is about a version."""
        return within(version, self.since, self.until)


@dataclass(frozen=True)
class Peer:
    """A peer that can be installed in versions; see the module's text."""

    name: str
    seam: str
    versions: Sequence[str]
    states: Sequence[Statement]
    package: str = ""
    requires: Sequence[str] = ()
    pyarrow: str = ""
    floor: bool = False
    superseded: str = ""

    @property
    def others(self) -> list[str]:
        """Names of the packages that its adapter needs besides its own and pyarrow."""
        words = (re.match(r"[\w.-]+", one) for one in self.requires)
        return [word.group() for word in words if word]

    def newer(self, version: str) -> str:
        """The release of its project that a version is behind of; empty if the catalogue has it."""
        is_behind = self.superseded and numbers(version) < numbers(self.superseded)
        return self.superseded if is_behind else ""

    def capabilities(self, version: str) -> Mapping[str, bool]:
        """What a version states."""
        lists = (one.words for one in self.states if one.holds_for(version))
        return {word: True for words in lists for word in words}


def numbers(version: str) -> tuple[int, ...]:
    """A version as what it is compared by; what is no number counts as 0."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def within(version: str, since: str, until: str) -> bool:
    """Whether a version lies between two, both inclusive; an empty one is no bound."""
    return (not since or numbers(since) <= numbers(version)) and (
        not until or numbers(version) <= numbers(until)
    )


def catalogue() -> dict[tuple[str, str], Peer]:
    """All peers that can be had in versions, by seam and name."""
    folders = {Path(point.load()) for point in entry_points(group="seambench.peers")}
    found = [_read(file) for folder in sorted(folders) for file in sorted(folder.rglob("*.toml"))]
    return {(peer.seam, peer.name): peer for peer in found}


def packages_of_peers() -> dict[str, list[str]]:
    """Packages of PyPI that peers need, each with the names of these peers."""
    found: dict[str, list[str]] = {}
    for name, package in sorted({(one.name, one.package) for one in catalogue().values()}):
        if package:
            found.setdefault(package, []).append(name)
    return found


def peer_of(seam: str, name: str) -> tuple[Peer, str] | None:
    """The peer and the version that a name `PEER@VERSION` stands for; None for other names."""
    base, at, version = name.partition(AT)
    if not at or ":" in base or " -> " in base:  # a pair: of its sides each is looked up
        return None
    known = catalogue()
    peer = known.get((seam, base))
    if peer is None:
        names = ", ".join(sorted(name for its_seam, name in known if its_seam == seam)) or "none"
        raise UsageError(f"{name}: no {base!r} can be had in versions; of this seam can: {names}")
    if not all(part.isdigit() for part in version.split(".")):
        raise UsageError(f"{name}: write {base}@{peer.versions[-1]}, for example")
    return peer, version


def versions_of(seam: str, name: str) -> list[str]:
    """`PEER@all` as the names of all versions that the catalogue has; other names as they are."""
    base, at, version = name.partition(AT)
    if not at or version != "all" or ":" in base:
        return [name]
    known = catalogue()
    if (seam, base) not in known:
        raise UsageError(f"{name}: the catalogue of peers has no {base!r} of the {seam} seam")
    return [f"{base}{AT}{each}" for each in known[seam, base].versions]


def stated(seam: str, name: str, version: str) -> Mapping[str, bool]:
    """What a peer's documents state of a version; see `known_peer`."""
    return known_peer(seam, name).capabilities(version)


def known_peer(seam: str, name: str) -> Peer:
    """A peer of the catalogue."""
    known = catalogue()
    if (seam, name) not in known:
        raise UsageError(f"the catalogue of peers has no {name!r} of the {seam} seam")
    return known[seam, name]


def _read(file: Path) -> Peer:
    try:
        data: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        strange = set(data) - _KEYS | {k for one in data["states"] for k in set(one) - _STATED}
        if strange:
            raise UsageError(f"{file}: unknown key {min(strange)!r}")
        states = [Statement(**one) for one in data.pop("states")]
        return Peer(name=file.stem, states=states, **data)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: no peer is described there ({error})") from error
