"""Tests that a machine cannot run: counted by what it lacks, named in one line, or failures.

The environment variable `SEAMBENCH_MAY_LACK` says that whoever runs the tests wants all of them run
but for what its patterns name, parted by semicolons; empty, nothing may be lacking. Where it is not
set, as on people's own machines, nothing fails.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MAY_LACK = "SEAMBENCH_MAY_LACK"
_LACKS = re.compile(
    r"unavailable: (?P<told>.+)|could not import '(?P<module>[^']+)'|(?P<no>no .+) on this machine"
)


def lack(reason: str) -> str:
    """What a machine lacks, by the reason of a skip; empty where that is another one."""
    line = " ".join(reason.removeprefix("Skipped: ").split())
    found = _LACKS.match(line)
    return next((part for part in found.groups() if part), "") if found else ""


class Lacking:
    """A plugin that looks at the skips of a whole run, of all its processes."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that is skipped."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that is."""
        self._note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that should have run them."""
        if self.not_allowed() and session.exitstatus == 0:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name them in one line, and in another what is a failure."""
        if self.found:
            terminalreporter.write_line(f"not run, for lack of {_listed(self.found)}")
        if wrong := self.not_allowed():
            told = _listed(wrong)
            terminalreporter.write_line(f"FAILED: this machine must not lack {told} ({MAY_LACK})")

    def not_allowed(self) -> Counter[str]:
        """What must not be lacking."""
        allowed = os.environ.get(MAY_LACK)
        patterns = [part.strip() for part in (allowed or "").split(";")]
        return Counter(
            {
                what: count
                for what, count in self.found.items()
                if allowed is not None and not any(fnmatch.fnmatch(what, one) for one in patterns)
            }
        )

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # An expected failure is a skip, too, with a text in place of a place.
        if not report.skipped or not isinstance(report.longrepr, tuple):
            return
        if what := lack(report.longrepr[2]):
            self.found[what] += 1


def _listed(found: Counter[str]) -> str:
    return "; ".join(f"{what} ({count})" for what, count in found.most_common())
