"""Columns that exchanged names after rows were written, in all kinds of files, by all outlets.

The rows are what they were under the names before, as the engine read them that wrote the table.
Finders that are wrong on purpose must be caught by that.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import seamkit
from seambase.errors import SeambenchError
from seamkit.connector.unit_rows import read_unit
from seamkit.files.columns import Finder, Place, Source, TableField, field_in_file
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import OUTLETS, Filter, bag, comparable, compare

_WRITE = re.compile(r"\d{17}(_\d+)?\.(delta)?commit")
Exchange = Callable[[Path, str, str], None]


def _exchanged(fields: list[dict[str, Any]], first: str, second: str) -> list[dict[str, Any]]:
    """Fields of a schema in JSON, of which two have each other's name; the last one comes first."""
    names = {first: second, second: first}
    fields = [fields[-1], *fields[:-1]]
    return [one | {"name": names.get(one["name"], one["name"])} for one in fields]


def _paimon(folder: Path, first: str, second: str) -> None:
    """A further schema."""
    newest = max((folder / "schema").iterdir(), key=lambda file: int(file.name.partition("-")[2]))
    schema = json.loads(newest.read_text())
    schema["id"] += 1
    schema["fields"] = _exchanged(schema["fields"], first, second)
    (folder / "schema" / f"schema-{schema['id']}").write_text(json.dumps(schema))


def _iceberg(folder: Path, first: str, second: str) -> None:
    """The names of the schemas; ids stay."""
    for file in (folder / "metadata").glob("*.metadata.json"):
        metadata = json.loads(file.read_text())
        for schema in metadata["schemas"]:
            schema["fields"] = _exchanged(schema["fields"], first, second)
        file.write_text(json.dumps(metadata))


def _hive(folder: Path, first: str, second: str) -> None:
    """Columns of the table in each other's place: Hive finds them by their names."""
    file = folder / "_hive_table.json"
    told = json.loads(file.read_text())
    at = [one["name"] for one in told["columns"]]
    columns, i, j = told["columns"], at.index(first), at.index(second)
    columns[i], columns[j] = columns[j], columns[i]
    file.write_text(json.dumps(told))


def _hudi(folder: Path, first: str, second: str) -> None:
    """A history of two schemas, of which the newer one is of after all writes."""
    names = [*seamkit.HudiTable(str(folder)).scan().schema.names, "_hoodie_record_key"]
    old = [
        {"id": n, "name": name, "optional": True, "type": "string"} for n, name in enumerate(names)
    ]
    versions = [(10**16 * 3, _exchanged(old, first, second)), (0, old)]
    schemas = [
        {"max_column_id": 99, "version_id": version, "type": "record", "fields": fields}
        for version, fields in versions
    ]
    writes = [one.name for one in (folder / ".hoodie").rglob("*") if _WRITE.fullmatch(one.name)]
    done = max(writes).partition("_")[0].partition(".")[0]
    history = folder / ".hoodie" / ".schema"
    history.mkdir(exist_ok=True)
    (history / f"{done}.schemacommit").write_text(json.dumps({"schemas": schemas}))


def _by_connector(table: Any, test: Filter, options: dict[str, Any]) -> pa.Table:
    """Slices of Hudi that are merged, a row at a time; all others as a scan reads them."""
    scan = table.scan(**options)
    if isinstance(table, seamkit.HudiTable):
        scan = scan.read_by("connector", read_unit, only_merged=True)
    return scan.to_table().filter(test.expression)


_ALL = {**OUTLETS, "connector": _by_connector}
_FEW = {outlet: OUTLETS[outlet] for outlet in ("table", "duckdb")}
#: Golden tables: how names are exchanged, and which.
_TABLES: Mapping[str, tuple[Exchange, str, str]] = {
    "paimon/append-types-parquet": (_paimon, "i", "s"),
    "paimon/append-types-orc": (_paimon, "i", "s"),
    "paimon/append-types-avro": (_paimon, "i", "s"),
    "paimon/pk-orc": (_paimon, "v", "m"),
    "paimon/pk-avro": (_paimon, "v", "m"),
    "paimon/pk-evolution": (_paimon, "n", "z"),
    "iceberg/types": (_iceberg, "i", "l"),
    "iceberg/types-orc": (_iceberg, "i", "l"),
    "iceberg/types-avro": (_iceberg, "i", "l"),
    "hudi/orc/v9": (_hudi, "k", "v"),
    "hudi/windows-cow/v9": (_hudi, "k", "v"),
    "hudi/mor-v9-commit": (_hudi, "k", "v"),
    "hive/orc-written": (_hive, "k", "l"),
    "hive/avro-written": (_hive, "k", "l"),
    "hive/parquet-written": (_hive, "k", "l"),
}


def _expected(table: Any, name: str) -> pa.Table:
    """The rows of before, under the names of after."""
    exchange, first, second = _TABLES[name]
    rows: pa.Table = table.scan().to_table()
    if exchange is _hive:
        return rows
    names = {first: second, second: first}
    return rows.rename_columns([names.get(one, one) for one in rows.column_names])


def _with_exchanged_names(name: str, folder: Path) -> tuple[Path, pa.Table]:
    """A golden table whose columns exchanged their names, and what must come."""
    exchange, first, second = _TABLES[name]
    table = unpack(name, folder)
    expected = _expected(seamkit.open_table(str(table)), name)
    exchange(table, first, second)
    return table, expected


def _differs(folder: Path, expected: pa.Table, name: str, outlets: Mapping[str, Any]) -> list[str]:
    """The outlets whose rows are other ones, or that refuse."""
    _, first, second = _TABLES[name]
    wrong = []
    want = expected.select([first, second])
    for chosen in (one for one in (first, second) if comparable(want.schema.field(one).type)):
        value = next(value for value in want[chosen].to_pylist() if value is not None)
        kept = bag(want.filter(pa.array([one == value for one in want[chosen].to_pylist()])))
        test, columns = compare(chosen, "=", value), {"columns": [first, second]}
        for outlet, rows_of in outlets.items():
            try:
                found = rows_of(seamkit.open_table(str(folder)), test, columns)
            except (SeambenchError, pa.ArrowException, duckdb.Error, AssertionError):
                wrong.append(outlet)
                continue
            if bag(found) != kept:
                wrong.append(outlet)
    return wrong


@pytest.mark.parametrize("name", _TABLES)
def test_columns_are_found_by_their_key_by_every_outlet(name: str, tmp_path: Path) -> None:
    """Whatever files call them, under a condition on either."""
    folder, expected = _with_exchanged_names(name, tmp_path)
    assert _differs(folder, expected, name, _ALL) == []


def _by_position(finder: Finder, wanted: pa.Field) -> Source:
    """Takes the column that has the table's place."""
    names = list(finder.fields or [])
    at = names.index(wanted.name) if wanted.name in names else len(names)
    return _source(finder, wanted, dict(enumerate(finder.file.children)).get(at))


def _by_name(finder: Finder, wanted: pa.Field) -> Source:
    """Forgets the history: takes what has the table's name now."""
    found = (one for one in finder.file.children if one.name == wanted.name)
    return _source(finder, wanted, next(found, None))


def _by_any_case(finder: Finder, wanted: pa.Field) -> Source:
    """Takes what has the name in some case of letters."""
    name = wanted.name.lower()
    found = (one for one in finder.file.children if one.name.lower() == name)
    return _source(finder, wanted, next(found, None))


def _first_wins(finder: Finder, wanted: pa.Field) -> Source:
    """Takes the first column of the file, whatever is asked for."""
    return _source(finder, wanted, next(iter(finder.file.children), None))


def _source(finder: Finder, wanted: pa.Field, found: Place | None) -> Source:
    own: TableField = found or Place(wanted.name, ("",))
    read = found and field_in_file(wanted, own, found, finder.where)
    return Source(wanted, read, wanted.type)


_WRONG = {
    "by position": _by_position,
    "by the name of now": _by_name,
    "in any case": _by_any_case,
    "first wins": _first_wins,
}


@pytest.mark.parametrize("wrong", _WRONG)
@pytest.mark.parametrize(
    "name", [one for one in _TABLES if not one.startswith(("iceberg", "hive"))]
)
def test_wrong_finders_are_caught(
    name: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each gives other rows than were written, or refuses."""
    folder, expected = _with_exchanged_names(name, tmp_path)
    monkeypatch.setattr(Finder, "__call__", _WRONG[wrong])
    assert _differs(folder, expected, name, _FEW)
    if name.startswith("hudi"):
        assert _differs(folder, expected, name, {"connector": _by_connector})


def _named(place: Place, own: TableField, _where: str) -> Place | None:
    """What has the table's name now."""
    return next((one for one in place.children if one.name == own.name), None)


def _placed(place: Place, own: TableField, _where: str) -> Place | None:
    """What has the place of the column's id: the last column came first."""
    at = int(own.keys[0]) % len(place.children)
    return place.children[at]


@pytest.mark.parametrize("wrong", [_named, _placed])
@pytest.mark.parametrize("name", [one for one in _TABLES if one.startswith("iceberg")])
def test_wrong_finders_of_ids_are_caught(
    name: str, wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg's own finder stands on the same places of a file."""
    folder, expected = _with_exchanged_names(name, tmp_path)
    monkeypatch.setattr(Place, "child", wrong)
    assert _differs(folder, expected, name, _FEW)


@pytest.mark.parametrize("name", ["hive/orc-written", "hive/parquet-written"])
def test_positions_in_place_of_hives_names_are_caught(name: str, tmp_path: Path) -> None:
    """A table's own property has its columns found so."""
    folder, expected = _with_exchanged_names(name, tmp_path)
    file = folder / "_hive_table.json"
    told = json.loads(file.read_text())
    stated = ("parquet.column.index.access", "orc.force.positional.evolution")
    file.write_text(json.dumps(told | {"properties": dict.fromkeys(stated, "true")}))
    assert _differs(folder, expected, name, _FEW)
