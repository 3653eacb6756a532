"""Conformance under pytest: every implementation named meets every case of a seam.

    pytest --pyargs seambench_suites.conformance --impl scan=mypackage.reader:MyReader

A test that is marked with `seam("scan")`, or `seam()` for every installed seam, and takes the
fixture `outcome` is run once per implementation and case; the id is
`auto:scan/its-format/folder/case`. Without `--impl`, every
installed implementation that is no peer and no variant is run. Heavy modules are imported only when
such a test is collected, since pytest loads this plugin wherever the package is installed.

Tests that a machine cannot run are counted by what it lacks. `SEAMBENCH_MAY_LACK` says that whoever
runs the tests wants all of them run but for what its patterns name, parted by semicolons; empty,
nothing may be lacking. Where it is not set, as on people's own machines, nothing fails.
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from seambench.conformance.isolate import Isolated
    from seambench.conformance.xfails import Xfails
    from seambench.contracts.outcomes import Outcome
    from seambench.contracts.seam import Case

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
        self.lacking: Counter[str] = Counter()

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
        if self.lacking:
            terminalreporter.write_line(f"not run, for lack of {_listed(self.lacking)}")
        if wrong := self.not_allowed():
            names = _listed(wrong)
            terminalreporter.write_line(f"FAILED: this machine must not lack {names} ({MAY_LACK})")

    def not_allowed(self) -> Counter[str]:
        """What must not be lacking."""
        allowed = os.environ.get(MAY_LACK)
        patterns = [part.strip() for part in (allowed or "").split(";")]
        return Counter(
            {
                what: count
                for what, count in self.lacking.items()
                if allowed is not None and not any(fnmatch.fnmatch(what, one) for one in patterns)
            }
        )

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        # An expected failure is a skip, too, with a text in place of a place.
        if not report.skipped or not isinstance(report.longrepr, tuple):
            return
        if what := lack(report.longrepr[2]):
            self.lacking[what] += 1


def _listed(counts: Counter[str]) -> str:
    return "; ".join(f"{what} ({count})" for what, count in counts.most_common())


_MARKER = "seam(name): runs per implementation and case of that seam, or of all without a name"


class _Pair(NamedTuple):
    """What one test is about."""

    seam: str
    implementation: str
    case: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a conformance run."""
    group = parser.getgroup("seambench", "conformance of implementations (seambench)")
    group.addoption(
        "--impl",
        action="append",
        default=[],
        metavar="SEAM=NAME",
        help="implementation to check: scan=auto, scan=package.module:Class, scan=cmd:./reader",
    )
    group.addoption(
        "--xfails",
        action="append",
        default=[],
        metavar="FILE",
        help="TOML file of known failures of one implementation (id, reason, link)",
    )
    group.addoption("--case", action="append", default=[], metavar="PATTERN", help="ids to run")
    group.addoption(
        "--case-timeout", type=float, default=60.0, metavar="SECONDS", help="limit of one case"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, look at skips, and refuse options that mean nothing at once."""
    from seambench.conformance.pytest_plugin import Lacking

    config.addinivalue_line("markers", _MARKER)
    if not hasattr(config, "workerinput"):  # the process that hears of all tests
        config.pluginmanager.register(Lacking())
    for text in config.getoption("--impl"):
        _split(text)
        # As for the command line: `--impl scan=reader:read` may lie in the folder where one stands.
        if (here := str(config.invocation_params.dir)) not in sys.path:
            sys.path.append(here)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the implementations asked for, with their versions."""
    lines = []
    for text in config.getoption("--impl"):
        seam, name = _split(text)
        lines.append(f"seambench: {seam} {name} {_version(seam, name)}")
    return lines


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make the product of implementations and cases."""
    marker = metafunc.definition.get_closest_marker("seam")
    if marker is None or "outcome" not in metafunc.fixturenames:
        return
    patterns = metafunc.config.getoption("--case")
    pairs = [
        _Pair(seam, name, case)
        for seam in ([marker.args[0]] if marker.args else _seams())
        for name in _implementations(seam, tuple(metafunc.config.getoption("--impl")))
        for case in _cases(seam)
        if not patterns or any(fnmatch.fnmatchcase(case, pattern) for pattern in patterns)
    ]
    ids = [f"{pair.implementation}:{pair.case}" for pair in pairs]
    metafunc.parametrize("outcome", pairs, ids=ids, indirect=True)


@pytest.fixture(scope="session")
def xfails(pytestconfig: pytest.Config) -> list[Xfails]:
    """The known failures given by `--xfails`, and those that implementations themselves name.

    These are the ones asked for; without `--impl` all that are installed but peers.
    """
    from seambase.errors import UnavailableError
    from seambench.conformance.xfails import load_xfails
    from seambench.contracts import registry

    given = tuple(pytestconfig.getoption("--impl"))
    files = dict.fromkeys(_xfails_files(pytestconfig))
    for seam in _seams():
        names = (
            _implementations(seam, given) if given else registry.names(seam, without=("peer", None))
        )
        for name in names:
            with suppress(UnavailableError):
                named = getattr(registry.resolve(seam, name), "xfails", None)
                files |= dict.fromkeys([Path(named)] if named else [])
    return [load_xfails(file) for file in files]


@pytest.fixture(scope="session")
def _processes() -> Iterator[dict[tuple[str, str], Isolated]]:
    """One process per implementation, ended with the session."""
    running: dict[tuple[str, str], Isolated] = {}
    yield running
    for process in running.values():
        process.close()


@pytest.fixture
def outcome(request: pytest.FixtureRequest, _processes: dict[tuple[str, str], Isolated]) -> Outcome:
    """What became of the case that the test's id names."""
    from seambench.conformance.isolate import Isolated, Limits
    from seambench.conformance.run import Run

    pair: _Pair = request.param
    limits = Limits(seconds=request.config.getoption("--case-timeout"))
    key = (pair.seam, pair.implementation)
    if key not in _processes:
        _processes[key] = Isolated(pair.seam, pair.implementation, limits)
    run = Run(pair.seam, [pair.implementation], xfails=_xfails_files(request.config))
    found = run.check_one(_processes[key], _cases(pair.seam)[pair.case])
    request.node.user_properties.append(("outcome", found.outcome))
    return found


def _xfails_files(config: pytest.Config) -> list[Path]:
    return [Path(file) for file in config.getoption("--xfails")]


def assert_conforms(outcome: Outcome) -> None:
    """Tell pytest an outcome: failing words fail, the others skip or are expected to fail."""
    said = f"{outcome.outcome}: {outcome.said}"
    if outcome.failed:
        pytest.fail(said, pytrace=False)
    if outcome.outcome in ("xfail", "fail"):
        # A `should` that is not met fails no run.
        pytest.xfail(said)
    if outcome.outcome != "pass":
        pytest.skip(said)


def _split(text: str) -> tuple[str, str]:
    """`scan=auto` as its two parts."""
    seam, equals, name = text.partition("=")
    if not equals or not name:
        raise pytest.UsageError(f"--impl {text}: write SEAM=NAME, for example scan=auto")
    return seam, name


def _seams() -> list[str]:
    from seambench.contracts import registry

    return registry.seams()


@cache
def _cases(seam: str) -> dict[str, Case]:
    from seambench.conformance.load import load_cases

    return {case.id: case for case in load_cases(seam)}


@cache
def _implementations(seam: str, given: tuple[str, ...]) -> list[str]:
    """Implementations of a seam: those given, or all installed ones but peers and variants."""
    if given:
        return [name for its_seam, name in map(_split, given) if its_seam == seam]
    from seambench.contracts import registry

    return registry.names(seam, without=("peer", "variant", None))


def _version(seam: str, name: str) -> str:
    from seambase.errors import SeambenchError
    from seambench.contracts import registry

    try:
        return str(registry.resolve(seam, name).version)
    except SeambenchError as error:
        return f"({error})"
