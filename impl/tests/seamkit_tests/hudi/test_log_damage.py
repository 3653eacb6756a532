"""Whatever happened to a log: named errors alone, nothing missed in silence, no memory kept."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamkit_tests.samples.damaged_logs import check_scan, damage
from seamkit_tests.samples.golden_tables import golden_table_names, unpack_table

_NAMES = ("mor-v9-event", "mor-v9-typed-delete", "mor-v9-types", "mor-v9-parquet-blocks")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Logs that Hudi wrote: data and deletes, in Avro and in Parquet."""
    folder = tmp_path_factory.mktemp("logs")
    assert set(_NAMES) <= set(golden_table_names())
    tables = [unpack_table(name, folder / name) for name in _NAMES]
    found = [path for table in tables for path in sorted(table.glob(".*.log.*"))]
    return [path.read_bytes() for path in found if path.suffix != ".crc"]


def test_whole_logs_are_whole(logs: list[bytes]) -> None:
    """Without damage every block is good; there are some of each kind."""
    assert len(logs) > len(_NAMES)
    assert all(check_scan(log) > 0 for log in logs)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damage_is_refused_or_reported(logs: list[bytes], seed: int) -> None:
    """Bytes changed, lost, added; magics in the wrong place; logs cut short."""
    check_scan(damage(logs, Random(seed)))
