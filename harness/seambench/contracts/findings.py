"""Defects of other systems that suites report: what is wrong, in which releases, by which case.

A package announces a TOML file of them as an entry point of the group `seambench.findings`;
`seambench check --finding NAME` shows one again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

from seambase.errors import UsageError
from seambase.wording import did_you_mean
from seambench.contracts.data_files import read_toml
from seambench.contracts.peers.catalogue import AT, catalogue

Label = Literal[
    "violates the specification", "differs from the reference implementation", "hardening"
]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A defect of a peer.

    Attributes:
        name: of its report.
        title: one sentence.
        peer: name in the catalogue of peers; of a recorded one, of the engine.
        case: the smallest case that shows it.
        shows: versions of the catalogue in which it comes out; none of a recorded one.
        passes: versions of the catalogue in which it does not.
        label: what kind of a defect it is.
        rule: the sentence of the specification, word for word, or what the reference does.
        link: where the rule stands.
        text: what is wrong, and what follows.
        script: a program that shows it with the peer and `requires` alone. It may unpack
            `NAME.zip`, the case's table, from the folder in which it runs; `{version}` stands for
            the release.
        requires: what pip installs for it, `{version}` likewise.
        right: what it prints where the defect is mended; empty where it ends with an error.
        since, until: first and last release in which the script was seen to show it.
        before, after: releases next to these in which it was not; empty where there is none, or
            the script cannot run there.
        upstream: issues and pull requests about it.
        mended: the change on the peer's main branch that is not released.
        workaround: what its users can do until then.
        recorded: what the engine made of the case's bytes or steps when it was asked, for one that
            no peer can ask again: there is no script, and `until` says which build it was.
        right_by: of a recorded one, an implementation that does what must come.
    """

    name: str
    title: str
    peer: str
    case: str
    shows: Sequence[str] = ()
    label: Label
    rule: str
    link: str
    text: str
    script: str = ""
    requires: Sequence[str] = ()
    passes: Sequence[str] = ()
    right: str = ""
    since: str = ""
    until: str = ""
    before: str = ""
    after: str = ""
    upstream: Sequence[str] = ()
    mended: str = ""
    workaround: str = ""
    recorded: str = ""
    right_by: str = ""

    @property
    def seam(self) -> str:
        """The seam of its case."""
        return self.case.partition("/")[0]

    @property
    def implementation(self) -> str:
        """The newest version of the catalogue that has it, as `--impl` takes it.

        Of a recorded one what does it right.
        """
        return self.right_by if self.recorded else f"{self.peer}{AT}{self.shows[-1]}"

    @property
    def status(self) -> Literal["open", "mended on main", "history"]:
        """Whether the newest release has it, and whether its main branch still does."""
        if not self.recorded and catalogue()[self.seam, self.peer].versions[-1] not in self.shows:
            return "history"
        return "mended on main" if self.mended else "open"

    @property
    def attaches(self) -> bool:
        """Whether its script reads the case's table from a file beside it."""
        return f"{self.name}.zip" in self.script


@dataclass(frozen=True)
class _File:
    finding: Sequence[Finding]


def read_findings() -> list[Finding]:
    """All findings that installed packages announce, in the order of their files."""
    files = sorted({Path(point.load()) for point in entry_points(group="seambench.findings")})
    return [finding for file in files for finding in read_toml(_File, file).finding]


def find_finding(name: str) -> Finding:
    """The finding of a name."""
    known = {finding.name: finding for finding in read_findings()}
    if name not in known:
        raise UsageError(f"there is no finding {name!r}{did_you_mean(name, known)}")
    return known[name]
