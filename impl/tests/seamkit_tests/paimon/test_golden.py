"""Golden Paimon tables, snapshot by snapshot, against what Spark itself read."""

from __future__ import annotations

import itertools
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import RefusedError
from seambench.conformance.plain import canonical
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.paimon_tables import (
    paimon_table_names,
    unpack_paimon,
    witnessed_paimon_tables,
)

#: Tables of which the engine itself reads other rows, and why that is no error here.
DIFFERENT = {
    "append-nested-parquet": "0.9.0 writes a null struct as one of nulls, and reads both as null",
    "aggregate-listagg": "0.9.0 puts a delimiter beside an empty text, later versions do not",
    "pk-default-values": "0.9.0 applies defaults when it reads; later versions do when they write",
}
#: Tables of which the engine itself loses rows, as NaN equals every number there.
NAN = ("core-nan-keys", "core-nan-sequence", "core-nan-group", "core-nan-inside")
#: Tables with arrays or maps whose items have no order of their own.
UNORDERED = ("aggregate-collect", "aggregate-nested-update", "core-nested")


def _text(value: Any, unordered: bool = False) -> str:
    """The witness's text of a value."""
    if unordered and isinstance(value, list):
        value = sorted(value, key=canonical)
    return canonical(value)


def _witnessed(name: str) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    """Snapshots as the first step that left them, and None for the newest as the last one did."""
    folder = SUITES_GOLDEN / "paimon" / name
    instants = tomllib.loads((folder / "origin.toml").read_text(encoding="utf-8"))["instants"]
    steps = json.loads((folder / "witness.json").read_text(encoding="utf-8"))
    for number, (instant, witness) in enumerate(zip(instants, steps, strict=True)):
        later = [other for other in instants[number:] if other]
        went_back = any(int(other) < int(instant or 0) for other in later)
        if instant and instant not in instants[:number] and not went_back:
            yield int(instant), witness
    yield None, steps[-1]


@pytest.mark.parametrize("name", sorted({*witnessed_paimon_tables()} - {*DIFFERENT, *NAN}))
def test_every_snapshot_is_as_spark_read_it(name: str, tmp_path: Path) -> None:
    """Columns in order and rows as a multiset; no warning about a whole table."""
    _need_packages(name)
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    kept = {int(path.name[9:]) for path in (tmp_path / name).glob("snapshot/snapshot-*")}
    compared = 0
    for snapshot, witness in _witnessed(name):
        if snapshot is not None and snapshot not in kept:
            continue  # it has expired
        scan = table.scan(as_of=snapshot, threads=1, strict=True)
        found = scan.to_table()
        compared += 1
        assert found.column_names == witness["columns"]
        if "count" in witness:
            assert found.num_rows == witness["count"]
            continue
        unordered = name in UNORDERED
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        expected = Counter(
            tuple(_sorted_items(text) if unordered else text for text in row)
            for row in witness["rows"]
        )
        assert Counter(tuple(_text(v, unordered) for v in row) for row in rows) == expected
        assert scan.report().warnings == []
    assert compared


def _need_packages(name: str) -> None:
    if name == "core-sketches":
        pytest.importorskip("datasketches")


def _sorted_items(text: str) -> str:
    """A witness's text of an array or map with its items in order; these hold no arrays."""
    if not text.startswith("["):
        return text
    items: list[str] = re.findall(r"\[[^\[\]]*\]|\{[^{}]*\}|[^,\[\]{}]+", text[1:-1])
    return "[" + ",".join(sorted(items)) + "]"


@pytest.mark.parametrize("name", DIFFERENT)
def test_differences_are_still_there(name: str, tmp_path: Path) -> None:
    """A table that is read as Spark reads it needs no entry in the list."""
    with pytest.raises(AssertionError):
        test_every_snapshot_is_as_spark_read_it(name, tmp_path)


@pytest.mark.parametrize("name", NAN)
@pytest.mark.parametrize("threads", [1, 4])
def test_order_by_nan_is_refused(name: str, threads: int, tmp_path: Path) -> None:
    """NaN in a key or sequence of rows that are merged is refused, through every way to read.

    Paimon's comparators ask for `>` and `<` alone, so its rows depend on which files meet first: of
    `core-nan-keys` the witness loses a key with each snapshot. A file alone is read as it stands.
    """
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    alone = table.scan(as_of=1, threads=threads).to_table()
    assert alone.num_rows == len(next(w for s, w in _witnessed(name) if s == 1)["rows"])

    def read(snapshot: int, columns: list[str] | None, condition: str | None, way: str) -> None:
        scan = table.scan(columns, filter=condition, as_of=snapshot, threads=threads, batch_rows=1)
        getattr(scan, way)()

    for asked in itertools.product(
        (2, 3), (None, ["v"]), (None, "v > 0"), ("to_table", "count_rows")
    ):
        with pytest.raises(RefusedError, match="NaN"):
            read(*asked)


@pytest.mark.parametrize("name", sorted({*paimon_table_names()} - {*NAN}))
def test_ways_to_read_agree(name: str, tmp_path: Path) -> None:
    """Batches of one row, several threads, a count and each column alone say the same rows."""
    _need_packages(name)
    table = PaimonTable(str(unpack_paimon(name, tmp_path)))
    whole = table.scan(threads=1).to_table()
    rows = Counter(map(repr, whole.to_pylist()))

    assert Counter(map(repr, table.scan(batch_rows=1).to_table().to_pylist())) == rows
    assert table.scan().count_rows() == whole.num_rows
    for column in whole.column_names:
        alone = table.scan([column], threads=1, batch_rows=3).to_table()
        assert Counter(map(repr, alone.column(0).to_pylist())) == Counter(
            map(repr, whole.column(column).to_pylist())
        )
