"""Implementations are found by name, and a wrong name is told with the known ones."""

from __future__ import annotations

import inspect
import sys
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from seambase.errors import UnavailableError, UsageError
from seambench.contracts import registry
from seambench.contracts.seam import Late, Seam
from seambench_tests.samples.fakes import EmptyScanner

FAKE = "seambench_tests.samples.fakes:EmptyScanner"


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points that stand in for those of installed packages."""
    made = [
        *entry_points(group="seambench.seam"),
        *entry_points(group="seambench.format"),
        EntryPoint("scan.empty", FAKE, "seambench.impl"),
        EntryPoint("scan.lonely", "seambench_absent_package.reader:Reader", "seambench.impl"),
        EntryPoint("column.empty", FAKE, "seambench.impl"),
        EntryPoint("numbers", "seambench_tests.samples.fakes:SUITE", "seambench.suite"),
    ]
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [p for p in made if p.group == group]
    )
    return made


@pytest.mark.usefixtures("points")
def test_names_are_those_of_the_seam() -> None:
    """Each seam lists its own implementations."""
    assert registry.names("scan") == ["empty", "lonely"]
    assert registry.names("column") == ["empty"]
    assert registry.names("exchange") == []


def _library(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "seambench.library")


@pytest.mark.parametrize(
    ("value", "reader"), [(FAKE, "empty"), ("lake.reader:Reader", "lake.reader:Reader")]
)
def test_the_library_is_announced(points: list[EntryPoint], value: str, reader: str) -> None:
    """Its reader is meant where none is named, by its short name if it has one."""
    points.append(_library("lake", value))
    assert (registry.library_name(), registry.default_reader()) == ("lake", reader)


@pytest.mark.parametrize(("names", "found"), [([], "none"), (["pond", "lake"], "lake, pond")])
def test_nobody_is_meant_by_chance(points: list[EntryPoint], names: list[str], found: str) -> None:
    """Where no library is announced, or several, a reader has to be named."""
    points += [_library(name, FAKE) for name in names]
    assert registry.library_name() == "the library"
    with pytest.raises(UsageError, match=f"name a reader: .* found are {found}$"):
        registry.default_reader()


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize("name", ["empty", FAKE])
def test_short_and_long_names_give_an_instance(name: str) -> None:
    """An entry point's name and `module:Class` both give a fresh instance."""
    first, second = registry.resolve("scan", name), registry.resolve("scan", name)
    assert isinstance(first, EmptyScanner)
    assert first is not second


@pytest.mark.usefixtures("points")
@pytest.mark.parametrize(
    ("seam", "name", "reason"),
    [
        ("scan", "emty", r"unknown implementation .*'emty'; did you mean 'empty'; known are empty"),
        ("scan", "textwrap", "did you mean textwrap:FUNCTION or textwrap:CLASS of the module"),
        ("scan", "./textwrap.py", "did you mean textwrap:FUNCTION or textwrap:CLASS of the module"),
        ("scan", "zzz", "known are empty, lonely"),
        ("scam", "empty", "unknown seam 'scam'; the seams are column, exchange, scan, serde"),
        ("scan", "seambench_absent.x:Y", "there is no module 'seambench_absent'"),
        ("scan", "seambench_tests.samples.fakes:Absent", "has no 'Absent'"),
        ("scan", "seambench_tests.samples.fakes:SUITE", "not a class"),
        ("scan", "seambench_tests.samples.fakes:MemoryScanner", "without arguments"),
        ("scan", "collections:OrderedDict", "OrderedDict is no implementation .*: it lacks 'name'"),
        (
            "scan",
            "locale:localeconv",
            "takes no argument, and what it returns is no .*lacks 'name'",
        ),
        ("column", "empty", "no implementation of the column seam: it lacks 'chunks'"),
        ("scan", "cmd:", "there is no program"),
        ("scan", "cmd:./absent-reader --fast", "there is no program './absent-reader'"),
        ("scan", "cmd:'", "No closing quotation"),
        ("scan", "lib:./absent.so", r"lib:\./absent\.so"),
    ],
)
def test_wrong_names_are_usage_errors(seam: str, name: str, reason: str) -> None:
    """A name that stands for nothing is told in a sentence."""
    with pytest.raises(UsageError, match=reason):
        registry.resolve(seam, name)


def test_two_packages_may_not_share_a_name(points: list[EntryPoint]) -> None:
    """A name announced twice with different classes is refused, not chosen by chance."""
    points.append(EntryPoint("scan.empty", "elsewhere:Reader", "seambench.impl"))
    with pytest.raises(UsageError, match="more than once: elsewhere:Reader"):
        registry.resolve("scan", "empty")


def test_missing_package_is_unavailable(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that is there but needs an absent package is `unavailable`, which names it."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "needs_more.py").write_text("import seambench_absent_package\n")
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(UnavailableError, match="needs the package 'seambench_absent_package'"):
        registry.resolve("scan", "needs_more:Reader")


@pytest.mark.usefixtures("points")
def test_suites_come_by_name_too() -> None:
    """A suite is the object that its entry point names."""
    assert registry.suites() == ["numbers"]
    assert registry.resolve_suite("numbers").queries == {1: "SELECT 1 AS one"}
    with pytest.raises(UsageError, match="unknown suite 'letters'; known are numbers"):
        registry.resolve_suite("letters")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('boom')", r"importing 'breaks' fails: RuntimeError\('boom'\)"),
        ("import sys; sys.exit(0)", r"importing 'breaks' fails: SystemExit\(0\)"),
        ("class Reader:\n  def __init__(self): 1 / 0", "cannot be made: ZeroDivisionError"),
    ],
)
def test_code_that_fails_when_it_is_loaded_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    """It is told once, before any case, and never ends the process by itself."""
    (tmp_path / "breaks.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "breaks", raising=False)
    with pytest.raises(UsageError, match=reason):
        registry.resolve("scan", "breaks:Reader")


@pytest.mark.parametrize("seam", registry.seams())
def test_what_a_seam_names_takes_what_it_is_given(seam: str) -> None:
    """A function that stands for a method is there and is called as the method is."""
    found = registry.find_seam(seam)
    for name, named in vars(type(found)).items():
        if isinstance(named, Late):
            given = list(inspect.signature(getattr(Seam, name)).parameters)[1:]
            inspect.signature(named.imported).bind(*given)
    for called, given in ((found.requests, ["case", "it", "more"]), (found.passes, ["run"])):
        for named in called.values():
            inspect.signature(named.imported if isinstance(named, Late) else named).bind(*given)
    for door in found.doors.values():
        named, *given = (door.func, *door.args) if isinstance(door, partial) else (door,)
        assert isinstance(named, Late)
        inspect.signature(named.imported).bind(*given, "what follows the colon")
