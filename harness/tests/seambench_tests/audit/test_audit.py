"""What an audit does with its time and with damage, of a table that is made of words alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from seambase.description import StoredFile, TableDescription, UnitDescription
from seambase.errors import InputError
from seambase.scan import ScanReport, ScanWarning
from seambench.cli.app import app
from seambench.contracts.common import Kind
from seambench.contracts.peers import environments
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.audit import measure, run
from seambench.seams.scan.audit.model import Audit
from seambench.seams.scan.audit.run import Plan, audit
from seambench.seams.scan.audit.words import sections

_ROWS = pa.table({"k": [1, 2]})


class _Clock:
    """Time that only reads take: a second each."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class _Scan:
    """Parts of two rows each, which are the same without changes."""

    schema = _ROWS.schema

    def __init__(self, clock: _Clock, parts: int) -> None:
        self._clock, self.n_parts = clock, parts

    def part(self, number: int, columns: Sequence[str], condition: Any) -> _Scan:
        """As the whole."""
        del number, columns, condition
        return self

    def files_alone(self) -> _Scan:
        """As with changes."""
        return self

    def to_reader(self) -> pa.RecordBatchReader:
        """A second later."""
        self._clock.now += 1
        return _ROWS.to_reader()

    def dataset(self) -> ds.Dataset:
        """Its rows."""
        return ds.dataset(_ROWS)

    def report(self) -> ScanReport:
        """Nothing to report."""
        return ScanReport()


class _Reader:
    """Describes files of 100 bytes, and may have doubts, or more when it looks strictly."""

    name, version = "toy", "1"
    kind: Kind = "reference"
    capabilities: Mapping[str, bool]

    def __init__(self, *files: str, doubt: str = "", strictly: str = "") -> None:
        self.capabilities = {"strict": bool(strictly)}
        self.clock = _Clock()
        self._files, self._doubt, self._strictly = files, doubt, strictly

    def describe(self, request: ScanRequest) -> TableDescription:
        """The files."""
        units = [
            UnitDescription(name, "", [StoredFile("data file", name, 100, 2)])
            for name in self._files
        ]
        warnings = [ScanWarning("log", -1, self._doubt)] if self._doubt else []
        return TableDescription(request.table, "toy", "1", "2", (), units, warnings=warnings)

    def open(self, request: ScanRequest) -> _Scan:
        """All files."""
        if request.strict and self._strictly:
            raise InputError(self._strictly)
        return _Scan(self.clock, len(self._files))


def _audited(
    reader: _Reader,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float = 60.0,
    most: int = 1 << 20,
    peers: Sequence[str] = (),
) -> tuple[Audit, list[str]]:
    """What an audit says at the end, and what it told meanwhile."""
    clock = SimpleNamespace(monotonic=reader.clock, perf_counter=reader.clock)
    monkeypatch.setattr(measure, "time", clock)
    told: list[str] = []
    plan = Plan(ScanRequest("t"), seconds, most, peers=peers)
    return audit(reader, plan, told.append), told


def test_what_is_read_first_takes_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sixth of it, as there are five turns more; units for which it does not do are left out."""
    found, told = _audited(_Reader("a", "b", "c", "d"), monkeypatch, 15.0)
    assert found.cost is not None
    assert found.cost.sampled_units == 2
    assert "2 of 4 units that were drawn not measured" in found.limits.reached
    assert sum(line in {f"measuring {name}" for name in "abcd"} for line in told) == 2


def test_doubts_do_not_stop_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What planning passed over is told as damage that leaves the table readable."""
    found, _ = _audited(_Reader("a", doubt="a letter is off"), monkeypatch)
    assert [(one.where, one.reason, one.stops) for one in found.damage] == [
        ("log", "a letter is off", False)
    ]
    assert found.cost is not None


@pytest.mark.parametrize(
    ("doubt", "strictly", "damage"),
    [
        ("", "", []),
        ("", "a commit is missing", ["a commit is missing"]),
        ("a commit is missing", "log: a commit is missing", ["a commit is missing"]),
    ],
)
def test_a_strict_look_adds_what_was_not_known(
    monkeypatch: pytest.MonkeyPatch, doubt: str, strictly: str, damage: list[str]
) -> None:
    """Readers that look strictly are asked to, and nothing is told twice."""
    found, _ = _audited(_Reader("a", doubt=doubt, strictly=strictly), monkeypatch)
    assert [one.reason for one in found.damage] == damage


def test_rows_are_told_as_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """All units were looked into: their rows are the table's. One that was not leaves it open."""
    whole, _ = _audited(_Reader("a", "b"), monkeypatch)
    part, _ = _audited(_Reader("a", "b"), monkeypatch, most=150)
    assert (whole.rows, part.rows) == (4, None)
    assert ["rows", "4"] in sections(whole)[0].rows
    assert ["rows", "not counted whole"] in sections(part)[0].rows


def test_a_peer_that_states_no_such_format_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its version's documents tell that it would not read the table."""
    monkeypatch.setattr(environments, "_commands", lambda *_: [["sh", "-c", "exit 1"]])
    found, _ = _audited(_Reader("a"), monkeypatch, peers=["hudi-rs@0.4.0"])
    assert [(one.version, one.outcome, one.reason) for one in found.peers] == [
        ("0.4.0", "refused", "it does not state formats.toy with query.snapshot")
    ]


@pytest.mark.parametrize(
    "address", ["../t", "~/t", "link/../../t", "{home}/t", "~nobody/t", "s3://b/../t"]
)
def test_readers_get_an_address_that_holds_in_any_folder(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is there is handed on without `~` and `..`; any other address as it is."""
    asked: list[str] = []

    def stops(_: Any, plan: Plan, *__: Any) -> None:
        asked.append(plan.request.table)
        raise InputError("far enough")

    for name in ("t", "here", "u/v"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "here/link").symlink_to(tmp_path / "u/v")
    monkeypatch.setattr(run, "audit", stops)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "here")
    address = address.format(home=tmp_path)
    CliRunner().invoke(app, ["audit", address])

    assert asked == [address if "b/" in address or "nobody" in address else str(tmp_path / "t")]
