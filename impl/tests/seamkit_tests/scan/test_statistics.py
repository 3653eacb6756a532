"""What scans tell of their rows before reading, held against the rows that they then give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import SeambenchError
from seambase.statistics import ColumnStatistics, Figure, TableStatistics
from seambench.conformance.load import load_cases
from seambench.seams.scan.check import unpacked
from seambench_impl.scan import AutoReader
from seamkit_tests.samples.golden_tables import unpack_table

Met = tuple[str, str]


def _check(known: TableStatistics, rows: pa.Table, where: str) -> Iterator[Met]:
    """Hold figures against rows; which were told, and how sure they are."""
    if known.rows is not None:
        _holds(known.rows, rows.num_rows, f"{where}: rows")
        yield "rows", known.rows.sure
    for name, one in known.columns.items():
        column = rows[name]
        what = f"{where}: {name}"
        if one.nulls is not None:
            _holds(one.nulls, column.null_count, f"{what}: nulls")
            yield "nulls", one.nulls.sure
        if one.least is None and one.greatest is None:
            continue
        assert not pa.types.is_floating(column.type), what
        ends = pc.min_max(column)
        for end, figure in (("min", one.least), ("max", one.greatest)):
            if figure is None:
                continue
            assert figure.value.type == column.type, what
            if ends[end].is_valid:
                _holds(figure, ends[end], f"{what}: {end}")
            else:
                assert not figure.is_exact, f"{what}: {end} of no value"
            yield end, figure.sure


def _holds(figure: Figure[Any], found: Any, what: str) -> None:
    less = _less(found, figure.value)
    greater = _less(figure.value, found)
    message = f"{what}: {figure}, and it is {found}"
    if figure.sure in ("exact", "at most"):
        assert not greater, message
    if figure.sure in ("exact", "at least"):
        assert not less, message


def _less(one: Any, other: Any) -> bool:
    return bool(pc.less(one, other).as_py() if isinstance(one, pa.Scalar) else one < other)


def _check_cases(cases: Sequence[Any]) -> Counter[tuple[str, str, str]]:
    met: Counter[tuple[str, str, str]] = Counter()
    for case in cases:
        with unpacked(case) as request:
            if request.where is not None:
                continue
            try:
                scan: Any = AutoReader().open(request)
                rows = scan.to_table()
            except SeambenchError:
                continue
            known = scan.statistics()
            own = list(_check(known, rows, case.id))
            if case.request.query == "snapshot":
                met.update((case.id.split("/")[1], *one) for one in own)
    return met


def _golden(step: int) -> list[Any]:
    """The first case of each table of every format, some of them."""
    first: dict[Any, Any] = {}
    for case in load_cases("scan"):
        if case.level == "must" and case.request.query == "snapshot":
            first.setdefault((case.id.split("/")[1], str(case.table.folder)), case)
    return list(first.values())[::step]


def test_figures_hold_for_golden_tables() -> None:
    """Exact ones are what pyarrow finds in the rows, the others bound it; a sample of tables."""
    met = _check_cases(_golden(8))

    for name in ("delta", "iceberg", "paimon", "hudi"):
        assert met[name, "rows", "exact"] > 1, name
        assert met[name, "nulls", "exact"] > 5, name


@pytest.mark.slow
def test_figures_hold_for_every_golden_case() -> None:
    """Every case of the scan seam, whatever its query."""
    met = _check_cases(load_cases("scan"))

    for name in ("delta", "iceberg", "paimon", "hudi", "hive"):
        assert met[name, "rows", "exact"] > 5, name
    for name in ("delta", "paimon", "hudi"):
        assert met[name, "min", "exact"] > 20, name
    assert met["iceberg", "min", "at least"] > 100
    assert met["paimon", "rows", "at most"] > 10
    assert met["hudi", "rows", "estimate"] > 10
