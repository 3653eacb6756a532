"""Scripts mean what a plain model says of them; random ones are drawn alike; writers do them."""

import zlib
from pathlib import Path

import pytest

from seambench.conformance.judge import verdict
from seambench.conformance.load import find_case, load_cases
from seambench.conformance.run import Run
from seambench.seams.table_writer.cases import WriterCase
from seambench.seams.table_writer.model import meets, steps_of
from seambench_suites.meta.writers.wrong_writers import WrongWriter

_RANDOM = "table-writer/delta/random/rows/{:02}"


def test_every_script_can_be_carried_out() -> None:
    """Each step of each case has rows and tests of the columns that there are then."""
    cases = load_cases("table-writer")
    states = [list(steps_of(case, Path("t"))) for case in cases if isinstance(case, WriterCase)]
    assert len(states) == len(cases) > 500
    assert all(model.expected() is not None for steps in states for _, model in steps[-1:])


def test_a_number_names_a_script() -> None:
    """The same number draws the same steps; others draw others."""
    cases = [find_case(_RANDOM.format(number)) for number in (3, 3, 4)]
    one, again, other = (case.script.steps for case in cases if isinstance(case, WriterCase))
    assert one == again
    assert one != other
    assert len(one) == 8


@pytest.mark.parametrize("name", ["forgets-deletes", "appends-twice", "appends-overwrites"])
def test_scripts_at_random_find_mistakes(name: str) -> None:
    """One of six scripts finds each mistake."""
    found = [verdict(find_case(_RANDOM.format(n)), WrongWriter(name)).word for n in range(6)]
    assert "fail" in found


@pytest.mark.parametrize(
    ("how", "value", "meeting"),
    [
        ("=", 2, [2]),
        ("<>", 2, [1, 3]),
        ("<", 2, [1]),
        ("<=", 2, [1, 2]),
        (">", 2, [3]),
        (">=", 2, [2, 3]),
        ("in", [1, 3], [1, 3]),
        ("null", None, [None]),
    ],
)
def test_conditions_are_those_of_sql(how: str, value: object, meeting: list[int | None]) -> None:
    """A null meets no comparison, `<>` neither."""
    rows = [{"a": a} for a in (1, 2, 3, None)]
    assert [row["a"] for row in rows if meets(row, [("a", how, value)])] == meeting


_ONE_OF = 8


@pytest.mark.parametrize("name", ["deltalake", "polars-delta", "polars-iceberg", "pyiceberg"])
def test_a_sample(name: str) -> None:
    """One script of eight: rows right after each step, metadata as the specification has it."""
    cases = [case.id for case in load_cases("table-writer") if not getattr(case, "apart", False)]
    sample = [id_ for id_ in cases if zlib.crc32(id_.encode()) % _ONE_OF == 0]
    outcomes = list(Run("table-writer", [name], patterns=sample).check())
    assert [f"{o.case}: {o.outcome}: {o.said}" for o in outcomes if o.failed] == []
    assert any(outcome.outcome == "pass" for outcome in outcomes)
