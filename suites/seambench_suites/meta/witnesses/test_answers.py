"""Recorded answers of engines are what cases state; damage that engines read is disputed."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from seambench.conformance.answered import Answered, answers_of, digest_of, engine_of
from seambench.conformance.load import load_cases
from seambench.conformance.xfails import Xfail, load_xfails
from seambench.contracts.common import Level
from seambench.contracts.peers.catalogue import catalogue
from seambench.seams.exchange.cases import ExchangeCase
from seambench_suites.cases import ROOT

_CASES = {case.id: case for seam in ("column", "exchange") for case in load_cases(seam)}


@pytest.mark.parametrize("engine", answers_of(ROOT), ids=lambda engine: engine.engine)
def test_parts_are_those_that_the_engine_gave(engine: Answered) -> None:
    """Spark's own shuffle and Presto's own functions dealt the rows as the case files say."""
    for id_, digest in engine.answers.items():
        case = _CASES[id_]
        if isinstance(case, ExchangeCase):
            assert case.expect.parts is not None
            assert digest_of(list(case.expect.parts)) == digest, id_
            assert digest_of([*case.expect.parts[1:], -1]) != digest


def test_a_case_names_the_engines_that_answered_it() -> None:
    """Nobody vouches where nobody was asked."""
    assert _CASES["exchange/partition/spark"].witness == "Spark 3.5.9"
    assert engine_of(ROOT, "exchange/partition/velox") == ""
    about = {id_ for engine in answers_of(ROOT) for id_ in engine.answers}
    assert {id_ for id_, case in _CASES.items() if case.witness} >= about


#: The peers that are a format's own engine, with its name; their known failures are what they gave.
ENGINES = {"spark-hudi": "Hudi", "paimon-java": "Paimon"}


def undisputed(known: dict[str, Xfail], version: str, levels: dict[str, Level]) -> list[str]:
    """Cases of damage in which an engine fails in a version, and which are a `must`."""
    return [
        id_
        for id_, entry in known.items()
        if "/damage/" in id_ and entry.holds_for(version) and levels.get(id_) == "must"
    ]


@pytest.mark.parametrize("peer", sorted(ENGINES))
def test_damage_that_the_own_engine_reads_is_disputed_and_says_so(peer: str) -> None:
    """Where the newest version answers otherwise, a case is a `should`, and says why."""
    version = catalogue()["scan", peer].versions[-1]
    known = dict(load_xfails(_file(peer)).entries)
    cases = {case.id: case for case in load_cases("scan")}
    levels = {id_: case.level for id_, case in cases.items()}
    about = [id_ for id_ in known if "/damage/" in id_ and known[id_].holds_for(version)]
    assert undisputed(known, version, levels) == []
    assert about
    for id_ in about:
        text = (ROOT / "cases" / f"{id_}.toml").read_text(encoding="utf-8")
        assert f"# {ENGINES[peer]} {version} answers otherwise: " in text, id_


def test_a_must_that_the_engine_breaks_is_found() -> None:
    """One that holds for older versions alone, or is about no damage, is not."""
    known = {
        "scan/x/damage/a": Xfail("scan/x/damage/a", "why"),
        "scan/x/damage/old": Xfail("scan/x/damage/old", "why", until="1.0"),
        "scan/x/rows/b": Xfail("scan/x/rows/b", "why"),
    }
    assert undisputed(known, "1.1", dict.fromkeys(known, "must")) == ["scan/x/damage/a"]


def _file(peer: str) -> Path:
    [point] = [one for one in entry_points(group="seambench.impl") if one.name == f"scan.{peer}"]
    return Path(point.load().xfails)
