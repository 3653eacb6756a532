"""Golden tables, state by state, against what the engines that wrote them read of them."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import RefusedError
from seambench.conformance.plain import canonical, in_key_order
from seamkit.scan.scan import Scan
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.hive.table import HiveTable
from seamkit.tables.iceberg.table import IcebergTable
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.delta_tables import delta_table_names, unpack_delta
from seamkit_tests.samples.hive_tables import hive_table_names, unpack_hive
from seamkit_tests.samples.iceberg_tables import iceberg_table_names, unpack_iceberg
from seamkit_tests.samples.paimon_tables import (
    NAN_TABLES,
    need_packages,
    unpack_paimon,
    witnessed_paimon_states,
    witnessed_paimon_tables,
)

Witness = Mapping[str, Any]

#: Columns that Delta shows where they are named.
_HIDDEN = ("_row_id", "_row_commit_version")
#: Tables of variants in pieces, which Spark puts together in other bytes.
_SHREDDED = ("variant-shredded",)
#: Texts of Hive's default partition: it shows the folder's name, most readers null.
_NO_PARTITION = "str:__HIVE_DEFAULT_PARTITION__"
#: Tables of which Paimon itself reads other rows, and why that is no error here.
_DIFFERENT = {
    "append-nested-parquet": "0.9.0 writes a null struct as one of nulls, and reads both as null",
    "aggregate-listagg": "0.9.0 puts a delimiter beside an empty text, later versions do not",
    "edges-within": "as append-nested-parquet",
    "append-types-orc": "Spark's connector pads chars with blanks, the core takes these away",
    "pk-default-values": "0.9.0 applies defaults when it reads; later versions do when they write",
}
#: Tables of which Paimon itself reads what no column of theirs holds, and why it is refused here.
_REFUSED = {"core-sum-digits": "a sum with more digits than its type has is handed out"}
#: Tables of days that no word of their files tells the calendar of: cases hold their refusal.
_OLD_DAYS = ("avro-old-days", "parquet-old-days")
#: Tables with arrays or maps whose items have no order of their own.
_UNORDERED = ("aggregate-collect", "aggregate-nested-update", "core-nested")


def _witness(format_: str, name: str) -> list[dict[str, Any]]:
    file = SUITES_GOLDEN / format_ / name / "witness.json"
    return list(json.loads(file.read_text(encoding="utf-8")))


def _delta(name: str, folder: Path) -> Iterator[tuple[Scan, Witness]]:
    origin = (SUITES_GOLDEN / "delta" / name / "origin.toml").read_text(encoding="utf-8")
    versions = tomllib.loads(origin)["instants"]
    table = DeltaTable(str(unpack_delta(name, folder)))
    assert table.version == int(versions[-1])
    for version, witness in zip(versions, _witness("delta", name), strict=True):
        shown = [one for one in witness["columns"] if one not in _HIDDEN]
        assert table.scan(as_of=int(version)).schema.names == shown
        yield table.scan(witness["columns"], as_of=int(version), threads=1, strict=True), witness


def _iceberg(name: str, folder: Path) -> Iterator[tuple[Scan, Witness]]:
    metadata = unpack_iceberg(name, folder) / "metadata"
    for step in _iceberg_steps(name):
        yield IcebergTable(str(metadata / step["metadata"])).scan(threads=1, strict=True), step


def _iceberg_steps(name: str) -> list[dict[str, Any]]:
    """What Spark read after each step, as far as its snapshot was kept."""
    steps = _witness("iceberg", name)
    return steps[-1:] if name == "expired" else steps


def _hive(name: str, folder: Path) -> Iterator[tuple[Scan, Witness]]:
    table = HiveTable(str(unpack_hive(name, folder)))
    scan = table.scan(threads=1, strict=True)
    assert scan.schema == table.schema
    if (SUITES_GOLDEN / "hive" / name / "witness.json").exists():
        [witness] = _witness("hive", name)
        yield scan, witness
    else:
        yield scan, {"columns": scan.schema.names, "fails": "no engine was asked"}


def _paimon(name: str, folder: Path) -> Iterator[tuple[Scan, Witness]]:
    need_packages(name)
    table = PaimonTable(str(unpack_paimon(name, folder)))
    kept = {int(path.name[9:]) for path in (folder / name).glob("snapshot/snapshot-*")}
    for snapshot, witness in witnessed_paimon_states(name):
        if snapshot is None or snapshot in kept:  # it may have expired
            yield table.scan(as_of=snapshot, threads=1, strict=True), witness


_STATES: Mapping[str, Callable[[str, Path], Iterator[tuple[Scan, Witness]]]] = {
    "delta": _delta,
    "hive": _hive,
    "iceberg": _iceberg,
    "paimon": _paimon,
}
_NAMES = {
    "delta": {*delta_table_names()} - {*_SHREDDED},
    "hive": {*hive_table_names()} - {*_OLD_DAYS},
    "iceberg": {*iceberg_table_names()},
    "paimon": {*witnessed_paimon_tables()} - {*_DIFFERENT, *_REFUSED, *NAN_TABLES},
}


@pytest.mark.parametrize(
    ("format_", "name"), [(one, name) for one in _NAMES for name in sorted(_NAMES[one])]
)
def test_every_state_is_as_the_engine_read_it(format_: str, name: str, tmp_path: Path) -> None:
    """Columns in order and rows as a multiset; no warning about a whole table."""
    compared = 0
    for scan, witness in _STATES[format_](name, tmp_path):
        found = scan.to_table()
        compared += 1
        assert found.schema == scan.schema
        assert found.column_names == witness["columns"]
        if "fails" in witness:
            continue
        if "count" in witness:
            assert found.num_rows == witness["count"]
            continue
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert Counter(tuple(_text(name, one) for one in row) for row in rows) == Counter(
            tuple(_stated(format_, name, one) for one in row) for row in witness["rows"]
        )
        assert scan.report().warnings == []
    assert compared


def _text(name: str, value: Any) -> str:
    """The witness's text of a value."""
    value = in_key_order(value)
    if name in _UNORDERED and isinstance(value, list):
        value = sorted(value, key=canonical)
    return canonical(value)


def _stated(format_: str, name: str, text: str) -> str:
    """A witness's text as it compares with ours."""
    if format_ == "hive":
        if text == _NO_PARTITION:
            return canonical(None)
        # Spark keeps the letters of fields' names, which Hive has small.
        text = re.sub(r'str:"\w+"=', lambda name: name[0].lower(), text)
    if name not in _UNORDERED or not text.startswith("["):
        return text
    # Items of these hold no arrays.
    items: list[str] = re.findall(r"\[[^\[\]]*\]|\{[^{}]*\}|[^,\[\]{}]+", text[1:-1])
    return "[" + ",".join(sorted(items)) + "]"


@pytest.mark.parametrize("name", _DIFFERENT)
def test_differences_are_still_there(name: str, tmp_path: Path) -> None:
    """A table that is read as Spark reads it needs no entry in the list."""
    with pytest.raises(AssertionError):
        test_every_state_is_as_the_engine_read_it("paimon", name, tmp_path)


@pytest.mark.parametrize("name", _REFUSED)
def test_refusals_are_still_there(name: str, tmp_path: Path) -> None:
    """A table whose states are all read needs no entry in the list."""
    with pytest.raises(RefusedError, match="more digits than its type"):
        test_every_state_is_as_the_engine_read_it("paimon", name, tmp_path)


def test_spark_itself_fails_at_few_steps() -> None:
    """The comparison is not empty."""
    steps = [step for name in iceberg_table_names() for step in _iceberg_steps(name)]
    assert len(steps) > 200
    assert sum("fails" in step for step in steps) < 6
