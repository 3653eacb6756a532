"""Recorded answers of engines to exchanges are what their cases state; each is about a case."""

import pytest

from seambench.conformance.answered import Answered, answers_of, digest_of, engine_of
from seambench.conformance.load import load_cases
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
