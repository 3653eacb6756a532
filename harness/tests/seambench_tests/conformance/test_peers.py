"""Peers in versions: what the catalogue says, names with versions, environments of their own."""

import dataclasses
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seambase.errors import RefusedError, UnavailableError, UsageError
from seambench.bench.readers import reader_of
from seambench.conformance.run import Run
from seambench.conformance.xfails import Xfail, Xfails
from seambench.contracts import registry
from seambench.contracts.outcomes import Outcome
from seambench.contracts.peers import environments
from seambench.contracts.peers.catalogue import (
    Peer,
    Statement,
    catalogue,
    packages_of_peers,
    peer_of,
    versions_of,
    within,
)
from seambench.contracts.registry import find_seam

PEER = Peer(
    "some",
    "scan",
    ["1.0", "2.0"],
    [Statement(["a"], "https://x"), Statement(["b"], "https://y", since="2.0")],
    "some-package",
)


def test_each_peer_states_words_of_its_seam_with_a_document() -> None:
    """A peer's capabilities are words that its seam knows, and each has a link."""
    assert catalogue()
    for peer in catalogue().values():
        for version in peer.versions:
            find_seam(peer.seam).require_words(peer.capabilities(version), peer.name)
        assert all(one.link.startswith("https://") for one in peer.states), peer.name
        assert peer.name in registry.names(peer.seam)


def test_one_name_may_be_a_peer_of_two_seams() -> None:
    """Each has its words, its versions and its environment; a package names its peer once."""
    reads, writes = (catalogue()[seam, "deltalake"] for seam in ("scan", "table-writer"))
    assert (reads.capabilities("1.6.6").get("query.snapshot"), reads.seam) == (True, "scan")
    assert writes.capabilities("1.6.6").get("steps.append")
    assert environments.environment(reads, "1.6.6") != environments.environment(writes, "1.6.6")
    assert packages_of_peers()["deltalake"] == ["deltalake"]
    # A pair is none of them: its sides are looked up one by one.
    assert peer_of("table-writer", "deltalake -> chdb-delta@4.4.0") is None


@pytest.mark.parametrize("peer", catalogue().values(), ids=lambda peer: peer.name)
def test_an_environment_has_one_version_of_each_package(peer: Peer) -> None:
    """What the peer is, or brings, is not also asked for in the version that the judge has."""
    asked = environments._requirements(peer, peer.versions[-1])
    exact = [one.partition("==")[0] for one in asked if "==" in one]

    assert len(set(exact)) == len(exact)


def test_versions_state_what_holds_for_them() -> None:
    """A statement counts from its first version to its last."""
    assert set(PEER.capabilities("1.9.9")) == {"a"}
    assert set(PEER.capabilities("2.0")) == {"a", "b"}


@pytest.mark.parametrize(
    ("version", "since", "until", "held"),
    [
        ("1.10.0", "1.9.0", "", True),
        ("1.10.0", "", "1.9.0", False),
        ("1.0.0", "1.0.0", "1.0.0", True),
        ("0.9", "1.0", "2.0", False),
    ],
)
def test_versions_are_compared_as_numbers(version: str, since: str, until: str, held: bool) -> None:
    """1.10 comes after 1.9, and bounds belong to what they bound."""
    assert within(version, since, until) == held


def test_names_with_versions() -> None:
    """`NAME@VERSION` is of the catalogue; classes and commands are no such names."""
    found = peer_of("scan", "hudi-rs@0.4.0")
    assert found is not None
    assert (found[0].package, found[1]) == ("hudi", "0.4.0")
    assert peer_of("scan", "hudi-rs") is None
    assert peer_of("scan", "cmd:./reader@2") is None
    assert versions_of("scan", "hudi-rs@all")[0] == "hudi-rs@0.2.0"
    assert versions_of("scan", "auto") == ["auto"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nobody@1.0", "no 'nobody' can be had in versions; of this seam can: .*hudi-rs"),
        ("hudi-rs@newest", "write hudi-rs@0.5.0, for example"),
        ("hudi-rs@../x", "write hudi-rs@0.5.0, for example"),
    ],
)
def test_wrong_names_with_versions_are_refused(name: str, says: str) -> None:
    """A sentence that names what there is."""
    with pytest.raises(UsageError, match=says):
        registry.resolve("scan", name)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and environments into which nothing is installed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = environments._commands

    def commands(work: Path, _: object) -> list[list[str]]:
        return made(work, [])[:1]

    monkeypatch.setattr(environments, "_commands", commands)
    return tmp_path / "seambench" / "peers"


def test_an_environment_has_our_packages_and_no_others(bare: Path) -> None:
    """Ours are linked, what else is installed beside them is not seen; it is made once."""
    python = environments.python_of(PEER, "1.0")
    seen = "import seambase.errors, importlib.metadata as m; print(m.version('seambench'))"
    done = subprocess.run([python, "-c", seen], capture_output=True, text=True, check=True)
    lacks = subprocess.run([python, "-c", "import pyarrow"], capture_output=True, check=False)
    assert done.stdout.strip()
    assert lacks.returncode == 1
    assert list(environments.made_environments(PEER)) == ["1.0"]
    assert [folder.name for folder in bare.iterdir()] == [python.parents[1].name]
    assert environments.python_of(PEER, "1.0") == python


def test_two_that_ask_at_once_get_the_environment_of_one(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made once: the second would take away the one in which the first is at work."""
    made, began = environments._commands, []

    def slow(work: Path, asked: Sequence[str]) -> list[list[str]]:
        began.append(work)
        return [*made(work, asked), ["sleep", "0.5"]]

    monkeypatch.setattr(environments, "_commands", slow)
    with ThreadPoolExecutor(2) as threads:
        pythons = {*threads.map(lambda _: environments.python_of(PEER, "1.0"), range(2))}
    assert len(began) == len(pythons) == 1
    assert [*bare.iterdir()] == [python.parents[1] for python in pythons]


@pytest.mark.usefixtures("bare")
def test_two_threads_that_link_at_once_each_use_a_name_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both have made their new link before either puts it in place."""
    python = environments.python_of(PEER, "1.0")
    [ours] = (python.parents[1] / "lib").glob("python3*/site-packages/seambase")
    ours.unlink()
    both, replace = threading.Barrier(2, timeout=10), Path.replace

    def together(fresh: Path, target: Path) -> Path:
        both.wait()
        return replace(fresh, target)

    monkeypatch.setattr(Path, "replace", together)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: environments.python_of(PEER, "1.0"), range(2)))
    assert (ours / "errors.py").exists()
    assert not [*ours.parent.glob(".seambase*")]


def test_an_environment_tells_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that no package of PyPI brings learns its version from the environment it runs in."""
    assert environments.version_inside("some") == ""
    monkeypatch.setenv(environments.MARK, "some@1.0")
    assert environments.version_inside("some") == "1.0"
    assert environments.version_inside("another") == ""


def test_no_package_is_installed_for_a_peer_without_one() -> None:
    """What is installed for it is what its adapter needs, and nothing by the peer's version."""
    peer = dataclasses.replace(PEER, package="", requires=["some-compiler"])
    commands = environments._commands(Path("work"), environments._requirements(peer, "1.0"))
    assert "some-compiler" in commands[-1]
    assert not [word for word in commands[-1] if word.endswith("==1.0")]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("no such version", "no such version"),
        ("WARNING: after 'NewConnectionError(...)'\nERROR: no a (from versions: none)",
         "the index of packages cannot be reached"),
        ("cause: failed to lookup address information", "the index of packages cannot be reached"),
        ("WARNING: after 'NewConnectionError(...)'\nERROR: no a (from versions: 1.0)",
         r"WARNING.*from versions: 1\.0"),
        (f"requirement a==9.9 (from versions: {', '.join(f'0.{n}' for n in range(200))})",
         r"the index has no a==9\.9; the last of its versions: 0\.197, 0\.198, 0\.199$"),
    ],
)  # fmt: skip
def test_what_cannot_be_installed_is_unavailable(
    bare: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    """The installer's words are told, or that it met no index; nothing half-made is left."""
    failing = [["sh", "-c", 'echo "$0" >&2; exit 1', said]]
    monkeypatch.setattr(environments, "_commands", lambda *_: failing)
    with pytest.raises(UnavailableError, match=rf"some@1\.0 cannot be installed: {told}"):
        environments.python_of(PEER, "1.0")
    assert list(bare.iterdir()) == []


@pytest.fixture
def none_made(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Environments that cannot be made."""
    monkeypatch.setattr(environments, "_commands", lambda *_: [["sh", "-c", "exit 1"]])
    return bare


@pytest.mark.parametrize(
    ("name", "pattern", "outcome", "says"),
    [
        ("hudi-rs@0.4.0", "scan/hudi/event-v9/*", "not-offered", "no table-version.9; whether it"),
        ("deltalake@1.6.6", "scan/hudi/event-v9/*", "not-offered", "no formats.hudi"),
        ("hudi-rs@0.4.0", "scan/hudi/event-v6/*", "unavailable", "cannot be installed"),
    ],
)
def test_nothing_is_installed_for_what_a_version_does_not_state(
    none_made: Path, name: str, pattern: str, outcome: str, says: str
) -> None:
    """The catalogue answers where no case would be put; else the version has to be there."""
    found = list(Run("scan", [name], patterns=[pattern]).check())
    assert {one.outcome for one in found} == {outcome}
    assert all(says in one.reason for one in found)
    assert none_made.exists() == (outcome == "unavailable")


@pytest.mark.parametrize(
    ("formats", "kind", "says"),
    [
        (["delta"], RefusedError, "does not state formats.delta"),
        (["hudi"], UnavailableError, "cannot be installed"),
    ],
)
@pytest.mark.usefixtures("none_made")
def test_a_version_is_installed_before_it_is_timed(
    formats: Sequence[str], kind: type[Exception], says: str
) -> None:
    """And for tables alone whose format it states."""
    scanner = registry.resolve("scan", "hudi-rs@0.4.0")
    reader = reader_of(
        "hudi-rs@0.4.0", scanner, cast("Any", SimpleNamespace(formats=formats)), None
    )
    assert isinstance(reader.problem, kind)
    assert says in str(reader.problem)


@pytest.mark.parametrize(
    ("version", "word"), [("1.0", "fail"), ("2.0", "xfail"), ("3.0", "xfail"), ("4.0", "fail")]
)
def test_known_failures_are_those_of_versions(version: str, word: str) -> None:
    """An entry counts for the versions in which the failure was seen."""
    entry = Xfail("c", "why", since="2.0", until="3.0")
    known = Xfails("some", Path("some.toml"), {"c": entry})
    outcome = Outcome("scan", f"some@{version}", "c", "fail", version=version)
    assert known.judge(outcome).outcome == word
