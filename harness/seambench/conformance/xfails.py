"""Expected failures: they live with the implementation, each with its reason, and may not go stale.

A file is given on the command line, or named by the implementation's attribute `xfails`:

    implementation = "its-name"

    [[xfail]]
    id = "scan/its-format/folder/case"
    reason = "logs are not applied"
    link = "https://..."
    since = "0.4.0"                 # first version of it that was seen to fail; absent: any
    until = "0.5.0"                 # last one
    without = ["0.4.1"]             # versions between these that pass
    outcomes = ["fail", "crash"]    # words that it ends with; absent: a wrong answer or a refusal;
                                    # "pass" among them: by chance it is right
    digests = ["0123456789ab"]      # what comes, in one version or another: `refusal`, or a digest
                                    # of the wrong answer; absent: any

`seambench check --write-digests` fills the last in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from seambase.errors import UsageError
from seambench.contracts.data_files import read_toml
from seambench.contracts.outcomes import Outcome
from seambench.contracts.peers.catalogue import AT, within


@dataclass(frozen=True)
class Xfail:
    """One case that is known to fail, and why."""

    id: str
    reason: str
    link: str = ""
    since: str = ""  # first version that was seen to fail; empty for any
    until: str = ""  # last version that was
    without: Sequence[str] = ()  # versions between these that were not
    # words that it ends with: a wrong answer excuses no crash. `pass` is one where it depends on
    # chance, as the order of threads, whether the answer is right.
    outcomes: Sequence[Literal["pass", "fail", "error", "timeout", "crash"]] = ("fail",)
    # of what comes (`Outcome.digest`), in one version or another; none where it differs from run to
    # run
    digests: Sequence[str] = ()

    def holds_for(self, version: str) -> bool:
        """Whether it is about a version."""
        return within(version, self.since, self.until) and version not in self.without


@dataclass(frozen=True)
class _File:
    implementation: str
    xfail: Sequence[Xfail] = ()


@dataclass(frozen=True)
class Xfails:
    """The known failures of one implementation."""

    implementation: str
    source: Path
    entries: Mapping[str, Xfail]

    def judge(self, outcome: Outcome) -> Outcome:
        """The outcome in the light of what was expected."""
        entry = self.entry_of(outcome)
        if entry is None:
            return outcome
        if outcome.outcome == "pass" and "pass" not in entry.outcomes:
            reason = f"passes, but {self.source.name} expects a failure: {entry.reason}"
            return replace(outcome, outcome="xpass", reason=reason, known=entry.reason)
        if not outcome.failed and outcome.outcome != "fail":
            return outcome
        if other := _other_than(entry, outcome):
            return replace(outcome, known=f"it is known to fail ({entry.reason}), but {other}")
        return replace(outcome, outcome="xfail", known=entry.reason, came=outcome.outcome)

    def entry_of(self, outcome: Outcome) -> Xfail | None:
        """The entry about an outcome's implementation, version and case."""
        entry = self.entries.get(outcome.case)
        name = outcome.implementation.partition(AT)[0]
        if entry is None or name != self.implementation or not entry.holds_for(outcome.version):
            return None
        return entry

    def stale(self, seam: str, known: Iterable[str]) -> list[Outcome]:
        """An error for each entry of a seam that names no case."""
        gone = sorted(id_ for id_ in set(self.entries) - set(known) if id_.startswith(f"{seam}/"))
        return [
            Outcome(
                seam,
                self.implementation,
                id_,
                "error",
                reason=f"{self.source.name} names this case, which does not exist",
            )
            for id_ in gone
        ]


def _other_than(entry: Xfail, outcome: Outcome) -> str:
    """How an outcome is another than the one that is known; empty where it is that one."""
    if outcome.outcome not in entry.outcomes:
        return f"with {' or '.join(entry.outcomes)}, not with {outcome.outcome}"
    digest = outcome.digest
    if digest and entry.digests and digest not in entry.digests:
        return f"in another way (digest {digest}, not {' or '.join(entry.digests)})"
    return ""


def write_digests(file: Xfails, outcomes: Iterable[Outcome]) -> int:
    """Write what came of known failures into their file, in place of what it has of these cases.

    The outcomes are of one run over all the versions that its entries are about. Gives how many
    entries are others now.
    """
    digests: dict[str, set[str]] = {}
    for one in outcomes:
        entry = file.entry_of(one)
        if entry and one.digest and (one.came or one.outcome) in entry.outcomes:
            digests.setdefault(one.case, set()).add(one.digest)
    text = file.source.read_text(encoding="utf-8")
    head, *blocks = re.split(r"(?m)^(?=\[\[xfail\]\]$)", text)
    changed = 0
    for at, block in enumerate(blocks):
        [id_] = re.findall(r'(?m)^id = "([^"]*)"$', block)
        if new := sorted(digests.get(id_, ())):
            listed = ", ".join(f'"{one}"' for one in new)
            kept = re.sub(r"(?m)^digests = .*\n", "", block).rstrip("\n")
            ending = "\n" if block is blocks[-1] else "\n\n"
            blocks[at] = f"{kept}\ndigests = [{listed}]{ending}"
            changed += blocks[at] != block
    if changed:
        file.source.write_text(head + "".join(blocks), encoding="utf-8")
        load_xfails.cache_clear()
    return changed


@cache
def load_xfails(file: Path) -> Xfails:
    """Read an xfails file."""
    read = read_toml(_File, file)
    if empty := [entry.id for entry in read.xfail if not entry.reason.strip()]:
        raise UsageError(f"{file}: {empty[0]} has no reason")
    by_id = {entry.id: entry for entry in read.xfail}
    if len(by_id) != len(read.xfail):
        raise UsageError(f"{file}: an id occurs twice")
    return Xfails(read.implementation, file, by_id)


def judge(outcome: Outcome, files: Sequence[Xfails]) -> Outcome:
    """The outcome in the light of all files of known failures."""
    for file in files:
        outcome = file.judge(outcome)
    return outcome
