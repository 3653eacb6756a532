"""The oracle of plans finds rows that are lost, doubled, changed, or at two workers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import UsageError
from seambench.bench.exchange.host import packed, spent_by_all
from seambench.bench.exchange.oracle import Oracle
from seambench.bench.exchange.plans import PLANS, plan_named, query
from seambench.contracts.registry import resolve_suite
from seambench.engines.digest import digest_reader, union


def _table(folder: Path, name: str) -> pa.Table:
    return pa.ipc.open_file(folder / f"{name}.arrow").read_all()


def _skewed(folder: Path) -> pa.Table:
    return PLANS["zipf"].derive["lineitem"](_table(folder, "lineitem"))


def _told(parts: list[pa.Table]) -> list[dict[str, Any]]:
    """What workers with these rows would say."""
    return [
        {"digests": [digest_reader(part)], "keys": {"lineitem": len(part["skewed"].unique())}}
        for part in parts
    ]


def _by_key(table: pa.Table) -> list[pa.Table]:
    odd = pa.array(table["skewed"].to_numpy() % 2 == 1)
    return [table.filter(odd), table.filter(pa.compute.invert(odd))]


def _changed(table: pa.Table) -> pa.Table:
    comments = table["l_comment"].to_pylist()
    comments[7] += "!"
    return table.set_column(
        table.schema.get_field_index("l_comment"), "l_comment", pa.array(comments)
    )


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda odd, even: [odd, even], None),
        (lambda odd, even: [odd, even.slice(1)], "were received"),
        (lambda odd, even: [odd, pa.concat_tables([even, even.slice(0, 1)])], "were received"),
        (lambda odd, even: [odd, _changed(even)], "were received"),
        (lambda odd, even: [pa.concat_tables([odd, even.slice(0, 1)]), even.slice(1)], "at two"),
    ],
    ids=["right", "lost", "doubled", "changed", "at two workers"],
)
def test_wrong_outcomes_are_found(
    folder: Path, spoil: Callable[[pa.Table, pa.Table], list[pa.Table]], reason: str | None
) -> None:
    """Only the right rows, each once and those of a key together, pass."""
    whole = _skewed(folder)
    odd, even = _by_key(whole)
    problem = Oracle(PLANS["zipf"], folder).judge(_told(spoil(odd, even))).wrong
    assert problem is None if reason is None else reason in (problem or "")


def test_copies_must_all_be_there(folder: Path) -> None:
    """A broadcast gives every worker every row: one without them is found."""
    oracle = Oracle(PLANS["broadcast"], folder)
    digests = [digest_reader(_table(folder, name)) for name in PLANS["broadcast"].tables]
    whole = {"digests": digests, "keys": {}}
    assert oracle.judge([whole, whole]).wrong is None
    nothing = union([])
    assert "were received" in (
        oracle.judge([whole, whole | {"digests": [nothing] * 3}]).wrong or ""
    )
    twice = [union([digest, digest]) for digest in digests]
    exchanged = [whole | {"digests": twice}, whole | {"digests": [nothing] * 3}]
    assert oracle.judge(exchanged).wrong == "workers that must have the same rows do not"


def test_a_wrong_answer_is_found(folder: Path) -> None:
    """The first worker's answer is compared row by row with the query over all rows.

    It is handed over as a worker does it.
    """
    oracle = Oracle(PLANS["q01"], folder)
    right = query(resolve_suite("tpch").queries[1], lineitem=_table(folder, "lineitem"))
    found = oracle.judge([{"answer": packed(right)}])
    assert found.answer == found.expected == digest_reader(right)
    assert found.wrong is None
    wrong = oracle.judge([{"answer": packed(right.slice(1))}]).wrong
    assert wrong is not None
    assert "row 1, column 'l_returnflag'" in wrong


def test_zipf_keys_are_skewed_and_follow_from_the_row(folder: Path) -> None:
    """About 1 - 2^-1/2 of the rows have the first rank; a part of a table has the whole's ranks."""
    table = _table(folder, "lineitem")
    ranks = _skewed(folder)["skewed"].to_numpy()
    share = float(np.mean(ranks == 1))
    assert abs(share - (1 - 2**-0.5)) < 0.03
    part = PLANS["zipf"].derive["lineitem"](table.slice(100, 50))["skewed"].to_numpy()
    assert part.tolist() == ranks[100:150].tolist()


def test_an_unknown_plan_is_a_usage_error() -> None:
    """The message says which there are."""
    with pytest.raises(UsageError, match="unknown plan 'q99'; there are shuffle, broadcast"):
        plan_named("q99")


def test_seconds_of_all_sides_are_summed_but_for_the_longest() -> None:
    """What sides do at once, the wire's time and the whole, is as long as that of the slowest."""
    sides = [
        {"serialize": 1.0, "network": 4.0, "overall": 8.0},
        {"serialize": 2.0, "network": 3.0, "overall": 9.0, "decompress": 0.5},
    ]
    assert spent_by_all(sides) == {
        "serialize": 3.0,
        "network": 4.0,
        "overall": 9.0,
        "decompress": 0.5,
    }
