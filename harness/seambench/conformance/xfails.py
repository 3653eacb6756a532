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
    outcomes = ["fail", "crash"]    # words that it ends with; absent: a wrong answer or a refusal
    digest = "0123456789ab"         # of the rows that differ, as a failed check says it
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from seambase.errors import UsageError
from seambench.contracts.data_files import read_toml
from seambench.contracts.outcomes import Difference, Outcome
from seambench.contracts.peers.catalogue import AT, within

__all__ = ["Xfail", "Xfails", "digest_of", "judge", "load_xfails"]


@dataclass(frozen=True)
class Xfail:
    """One case that is known to fail, and why.

    Attributes:
        since: first version that was seen to fail; empty for any.
        until: last version that was.
        without: versions between these that were not.
        outcomes: words that it ends with: a wrong answer excuses no crash.
        digest: of the rows that differ (`digest_of`); empty where they differ from run to run, or
            the answer is no rows.
    """

    id: str
    reason: str
    link: str = ""
    since: str = ""
    until: str = ""
    without: Sequence[str] = ()
    outcomes: Sequence[Literal["fail", "error", "timeout", "crash"]] = ("fail",)
    digest: str = ""

    def holds_for(self, version: str) -> bool:
        """Whether it is about a version."""
        return within(version, self.since, self.until) and version not in self.without


@dataclass(frozen=True)
class _File:
    """The keys of a file."""

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
        entry = self.entries.get(outcome.case)
        name = outcome.implementation.partition(AT)[0]
        if entry is None or name != self.implementation or not entry.holds_for(outcome.version):
            return outcome
        if outcome.outcome == "pass":
            reason = f"passes, but {self.source.name} expects a failure: {entry.reason}"
            return replace(outcome, outcome="xpass", reason=reason, known=entry.reason)
        if not outcome.failed and outcome.outcome != "fail":
            return outcome
        if other := _other_than(entry, outcome):
            reason = f"{outcome.reason}; it is known to fail ({entry.reason}), but {other}"
            return replace(outcome, reason=reason)
        return replace(outcome, outcome="xfail", known=entry.reason, came=outcome.outcome)

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
    found = digest_of(outcome.difference) if outcome.difference else ""
    if entry.digest and found != entry.digest:
        return f"by other rows (digest {found or 'none'}, not {entry.digest})"
    return ""


def digest_of(difference: Difference) -> str:
    """A short digest of the rows in which an answer differs, whatever their order."""
    sides = (difference.missing, difference.unexpected)
    counts = (difference.missing_rows, difference.unexpected_rows)
    said = [list(difference.columns), *(sorted(map(list, side)) for side in sides)]
    text = json.dumps([*said, *counts], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


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
