"""The verdict is the writer's: it follows from rows, digests and counts."""

from __future__ import annotations

import decimal
from collections.abc import Iterator
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError, SeambenchError, UnavailableError
from seambench.contracts.registry import resolve_suite
from seambench.data.tpch import TABLES, generate_single_process
from seambench.engines.digest import digest_reader, digest_table
from seambench.records.model import Floor, Moved, Rows, Step
from seambench.records.verdicts import Arrived, ExpectedAnswer, ExpectedRows, Finding, failure
from seambench.records.writer import Measurement, Sample, answered, failures, moved
from seambench_tests.records.test_bars import record, timing

TABLE = pa.table({"k": pa.array([1, 2, 3], pa.int64()), "v": ["a", None, "c"]})
SQL = """SELECT * FROM (VALUES (1::BIGINT, 'a', 0.1::DOUBLE, 1.50::DECIMAL(9,2), DATE '2020-01-01'),
    (2, NULL, 1e300, NULL, NULL), (3, 'c', 'nan'::DOUBLE, 2::DECIMAL(9,2), DATE '1969-12-31'))
    AS t(k, v, d, m, day)"""
OVER = Rows(name="made up", scale=1)


def rows_expected(table: pa.Table) -> ExpectedRows:
    """An expectation of exactly these rows."""
    return ExpectedRows(digest_reader(table), table.schema)


def answer_expected(sql: str, *, ordered: bool = True) -> ExpectedAnswer:
    """An expectation of what DuckDB answers."""
    with duckdb.connect() as con:
        relation = con.sql(sql)
        columns = list(zip(relation.columns, map(str, relation.types), strict=True))
        return ExpectedAnswer(digest_table(con, f"({sql})"), columns, relation.fetchall(), ordered)


def measured(found: Any) -> Measurement:
    """Two samples beside a finding."""
    return Measurement([Sample(1.0, 1.0)], [Sample(2.0, 1.0)], found)


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (TABLE, True),
        (TABLE.take([2, 0, 1]), True),
        (TABLE.slice(1), False),
        (pa.concat_tables([TABLE, TABLE.slice(0, 1)]), False),
        (TABLE.set_column(1, "v", pa.array(["a", "", "c"])), False),
        (TABLE.set_column(0, "k", TABLE["k"].cast(pa.int32())), False),
        (TABLE.rename_columns(["k", "w"]), False),
    ],
)
def test_rows_are_compared_here(found: pa.Table, right: bool) -> None:
    """Order does not count; a row, a null, a type, a name does, and then no time is kept."""
    timing = answered("scan/all", OVER, measured(rows_expected(TABLE).judge(found)))
    assert timing.outcome == ("pass" if right else "fail")
    assert timing.hot == ([2.0] if right else [])
    assert (timing.reason is None) == right


def test_right_rows_have_no_difference() -> None:
    """Of rows without columns the number is compared; of other types these are told."""
    none = pa.table({"k": [1, 2]}).select([])
    more = pa.table({"k": [1, 2, 3]}).select([])
    others = TABLE.set_column(0, "k", TABLE["k"].cast(pa.int32()))
    assert not rows_expected(none).judge(none).wrong
    assert rows_expected(none).judge(more).difference == "2 rows expected, 3 found"
    assert "int32" in str(rows_expected(TABLE).judge(others).difference)


def test_a_run_fails_by_the_timings_that_fail() -> None:
    """Each has a line with who, what and why; what was right or refused has none."""
    wrong = timing("y", []) | {"outcome": "fail", "reason": "a row is missing"}
    made = record("a", "aaaaaaaa", [timing("x", [1.0]), wrong])
    timed = msgspec.structs.replace(made, conformance=[])
    assert failures([timed]) == ["a: y on t: a row is missing"]


def test_the_digest_of_an_answer_is_made_of_the_rows_that_came() -> None:
    """Right values give the oracle's digest; doubles within the tolerance count as the oracle's."""
    expected = answer_expected(SQL)
    near = [list(row) for row in expected.rows]
    near[0][2] = 0.1 * (1 + 1e-12)
    assert expected.judge([tuple(row) for row in near]).answer == expected.digest
    assert expected.judge([tuple(row) for row in near]).wrong is None
    far = [list(row) for row in expected.rows]
    far[0][2] = 0.1 * (1 + 1e-6)
    found = expected.judge([tuple(row) for row in far])
    assert found.answer != expected.digest
    assert "column 'd'" in str(found.wrong)


@pytest.mark.parametrize(
    ("found", "own_types", "right"),
    [
        (decimal.Decimal("0.333333"), True, True),
        (decimal.Decimal("0.333332"), True, False),
        (decimal.Decimal("0.333334"), True, True),
        (decimal.Decimal("0.333333"), False, False),
        (1 / 3, True, True),
        ("0.333333", True, False),
        (None, True, False),
    ],
)
def test_an_engine_may_divide_into_decimals(found: object, own_types: bool, right: bool) -> None:
    """Where it types its answer itself, a decimal within one unit of its last digit is right."""
    expected = answer_expected("SELECT 1::DOUBLE / 3 AS share")
    finding = expected.judge([(found,)], own_types=own_types)
    assert (finding.wrong is None) == right
    assert (finding.answer == expected.digest) == right


def test_an_answer_in_any_order_has_one_digest() -> None:
    """Where the query has no order, rows may come in any; where it has one they may not."""
    turned = answer_expected(SQL).rows[::-1]
    assert answer_expected(SQL, ordered=False).judge(turned).wrong is None
    assert answer_expected(SQL).judge(turned).wrong is not None


@pytest.mark.parametrize("value", ["1", 1.0, decimal.Decimal("1.001"), None, b"x", 2**70])
def test_values_of_other_types_are_wrong(value: object) -> None:
    """They have a digest too, and it is another."""
    expected = answer_expected("SELECT 1::BIGINT AS n")
    timing = answered("tpch/q01", OVER, measured(expected.judge([(value,)])))
    assert timing.outcome == "fail"
    assert timing.answer != timing.expected


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The eight tables at a tiny scale."""
    made = tmp_path_factory.mktemp("tpch")
    generate_single_process(0.001, made, tuple(TABLES))
    with duckdb.connect() as con:
        for name, facts in TABLES.items():
            con.register(name, pq.read_table(made / f"{name}.parquet").cast(facts.schema))
        yield con


@pytest.mark.parametrize("number", range(1, 23))
def test_right_answers_of_the_queries_have_the_oracles_digest(
    tpch: duckdb.DuckDBPyConnection, number: int
) -> None:
    """All types of the 22 queries go through Python values and come back to one digest."""
    sql = resolve_suite("tpch").queries[number].rstrip().rstrip(";")
    relation = tpch.sql(sql)
    columns = list(zip(relation.columns, map(str, relation.types), strict=True))
    rows = relation.fetchall()
    expected = ExpectedAnswer(digest_table(tpch, f"({sql})"), columns, rows, ordered=True)
    found = expected.judge(rows)
    assert found.answer == expected.digest
    assert found.wrong is None


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (UnavailableError("no Java"), "unavailable"),
        (RefusedError("no such block"), "not-offered"),
        (SeambenchError("broken"), "error"),
        (ZeroDivisionError("a fault\nmore"), "error"),
    ],
)
def test_an_exception_is_a_word_and_a_line(error: Exception, word: str) -> None:
    """It takes the times of the runs before it along, and the answer."""
    result = measured(Finding("x", "x"))
    result.error = error
    timing = answered("tpch/q01", OVER, result)
    assert (timing.outcome, timing.answer, timing.hot) == (word, None, [])
    assert "\n" not in str(timing.reason)


@pytest.mark.parametrize(("arrived", "word"), [(10, "pass"), (9, "fail")])
@pytest.mark.parametrize("kind", [Step, Floor])
def test_what_decodes_nothing_counts(kind: Any, arrived: int, word: str) -> None:
    """A step and a floor have no answer; they pass when all arrived."""
    found = Arrived(Moved(unit="bytes", sent=10, arrived=arrived))
    timing = moved(kind, "copy", OVER, measured(found))
    assert timing.outcome == word
    assert bool(timing.hot) == (word == "pass")


def test_the_two_kinds_cannot_be_swapped() -> None:
    """Who gave rows is judged by them, and who gave none has no answer."""
    counted = Arrived(Moved(unit="bytes", sent=1, arrived=1))
    with pytest.raises(TypeError):
        answered("x", OVER, measured(counted))
    with pytest.raises(TypeError):
        moved(Floor, "x", OVER, measured(Finding("x", "x")))


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (UnavailableError("no Java"), ("unavailable", "no Java")),
        (RefusedError("no maps\nbecause"), ("not-offered", "no maps")),
        (SeambenchError("broken"), ("error", "broken")),
        (ValueError("a bug"), ("error", "ValueError: a bug")),
        (TimeoutError("60 s"), ("timeout", "TimeoutError: 60 s")),
        (ValueError("\x1b[31ma\x1b[0m bug"), ("error", "ValueError: a bug")),
    ],
)
def test_what_came_instead_of_an_answer_has_its_word(
    error: Exception, found: tuple[str, str]
) -> None:
    """Errors of foreign code bear the name of their class; ours speak for themselves."""
    assert failure(error) == found
