"""DuckDB reads files under masks: what deletes and sorted runs leave of them, in any state."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import seamkit
from seamkit.scan.events_cache import UnitMatches
from seamkit.scan.scan import Scan
from seamkit_tests.samples.calls import Call, calls_of
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import bag

pytestmark = pytest.mark.usefixtures("nothing_kept")

_TABLES = [
    ("delta", "vectors-update"),
    ("iceberg", "equality"),
    ("iceberg", "equality-and-positions"),
    ("iceberg", "equality-sets"),
    ("iceberg", "vectors"),
    ("paimon", "pk-kinds"),
    ("paimon", "pk-partitions"),
    ("paimon", "pk-sequence-several"),
    ("paimon", "vectors"),
]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Each unit whose mask was worked out."""
    return calls_of(monkeypatch, UnitMatches, "_gone")


def _states(format_: str, folder: Path) -> Sequence[int]:
    """All states of a table that can be asked for."""
    if format_ == "delta":
        return range(len([*(folder / "_delta_log").glob("*.json")]))
    if format_ == "iceberg":
        table = seamkit.IcebergTable(str(folder))
        return [*table._metadata.snapshots]
    names = (path.name.partition("-")[2] for path in (folder / "snapshot").glob("snapshot-*"))
    return sorted(map(int, names))


def _by_duckdb(scan: Scan) -> Counter[str]:
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    return bag(scan.relation(con).to_arrow_table().cast(scan.schema))


@pytest.mark.parametrize(("format_", "name"), _TABLES)
def test_each_state_has_masks_of_its_own(
    format_: str, name: str, tmp_path: Path, made: list[Call]
) -> None:
    """The same files under other deletes; asked again in any order, nothing is worked out anew."""
    folder = unpack(f"{format_}/{name}", tmp_path)
    states = _states(format_, folder)[-4:]
    expected = {
        state: bag(seamkit.open_table(folder).scan(as_of=state).to_table()) for state in states
    }
    masks = 0
    for state in states:
        scan = seamkit.open_table(folder).scan(as_of=state)
        plan = scan.engine_plan(masks=True)
        assert plan.rest is None, scan.explain(engine=True)
        masks += sum(files.gone is not None for files in plan.files)
        assert _by_duckdb(scan) == expected[state]
    once = len(made)
    assert masks
    assert once
    for state in reversed(states):
        assert _by_duckdb(seamkit.open_table(folder).scan(as_of=state)) == expected[state]
    assert len(made) == once
    seamkit.keep_at_most(0)
    for state in states:
        assert _by_duckdb(seamkit.open_table(folder).scan(as_of=state)) == expected[state]
    assert len(made) >= 2 * once


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM t a, t b",
        'SELECT count(*) FROM t a JOIN t b USING ("{0}")',
        'SELECT * FROM t JOIN (SELECT 1 AS n UNION ALL SELECT 2) few ON t."{0}" = few.n',
        'SELECT "{0}", count(*) FROM t WHERE "{0}" IS NOT NULL GROUP BY ALL',
    ],
)
def test_no_row_carries_the_bits_of_its_file(query: str, tmp_path: Path) -> None:
    """The join that brings bits tests them, and hands none on: else each row would hold them."""
    con = duckdb.connect()
    scan = seamkit.open_table(unpack("delta/vectors-several", tmp_path)).scan()
    scan.relation(con).create_view("t")
    asked = f"EXPLAIN (FORMAT json) {query.format(scan.schema.names[0])}"
    [(_, plan)] = con.execute(asked).fetchall()
    nodes = [*_nodes(json.loads(plan)[0])]
    testing = [node for node in nodes if "get_bit" in str(node["extra_info"])]

    assert len(testing) == 1 + (" t b" in query)
    for node in testing:
        assert "JOIN" in node["name"]
        of_bits = [one for one in node["children"] if "PARQUET" not in str(one)]
        assert len(of_bits) == 1
        assert "JOIN" not in str(of_bits)
    held = [node for node in nodes if "bits" in str(node["extra_info"].get("Projections", ""))]
    assert all("PARQUET" not in str(node) for node in held)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)
