"""Expected failures: they live with the implementation, each with its reason, and may not go stale.

A file is given on the command line, or named by the implementation's attribute `xfails`:

    implementation = "its-name"

    [[xfail]]
    id = "scan/its-format/folder/case"
    reason = "logs are not applied"
    link = "https://..."
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from seambase.errors import UsageError
from seambench.conformance.strict import build
from seambench.contracts.outcomes import Outcome

__all__ = ["Xfail", "Xfails", "load_xfails"]

_EXCUSED = frozenset({"fail", "error", "timeout", "crash"})


@dataclass(frozen=True)
class Xfail:
    """One case that is known to fail, and why."""

    id: str
    reason: str
    link: str = ""


@dataclass(frozen=True)
class Xfails:
    """The known failures of one implementation."""

    implementation: str
    source: Path
    entries: Mapping[str, Xfail]

    def judge(self, outcome: Outcome) -> Outcome:
        """The outcome in the light of what was expected."""
        entry = self.entries.get(outcome.case)
        if entry is None or outcome.implementation != self.implementation:
            return outcome
        if outcome.outcome in _EXCUSED:
            reason = f"{entry.reason} ({outcome.outcome}: {outcome.reason})"
            return replace(outcome, outcome="xfail", reason=reason)
        if outcome.outcome == "pass":
            reason = f"passes, but {self.source.name} expects a failure: {entry.reason}"
            return replace(outcome, outcome="xpass", reason=reason)
        return outcome

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


def load_xfails(file: Path) -> Xfails:
    """Read an xfails file.

    Raises:
        UsageError: no such file, an unknown or missing key, an empty reason, or a doubled id.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: not readable as an xfails file ({error})") from error
    entries = [build(Xfail, entry, file) for entry in data.pop("xfail", [])]
    name = data.pop("implementation", None)
    if data or not isinstance(name, str):
        raise UsageError(f"{file}: an xfails file holds `implementation` and `xfail` entries only")
    if empty := [entry.id for entry in entries if not entry.reason.strip()]:
        raise UsageError(f"{file}: {empty[0]} has no reason")
    by_id = {entry.id: entry for entry in entries}
    if len(by_id) != len(entries):
        raise UsageError(f"{file}: an id occurs twice")
    return Xfails(name, file, by_id)
