"""Columns of files that call them otherwise, in tables written by hand: Iceberg's, Delta's."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError
from seamkit_tests.samples import made_delta
from seamkit_tests.samples.iceberg_tables import MadeCommit, MadeFile, MadeTable

#: A file's columns: name, field id if there is one, values.
Columns = Sequence[tuple[str, int | None, Sequence[int]]]
#: What the tables' columns are called in files, where names are what counts.
_PHYSICAL = {"a": "b", "b": "a"}
_IDS = {"a": 1, "b": 2}


def _file(path: Path, columns: Columns) -> None:
    """A file of row groups of two rows."""
    fields = [
        pa.field(name, pa.int64(), metadata=None if id_ is None else {"PARQUET:field_id": str(id_)})
        for name, id_, _ in columns
    ]
    rows = pa.table([pa.array(values) for *_, values in columns], pa.schema(fields))
    pq.write_table(rows, path, row_group_size=2, store_schema=False)


class _Iceberg(MadeTable):
    """One whose only file has columns of its own."""

    columns: Columns = ()

    def _write_rows(self, one: MadeFile) -> None:
        _file(self.folder / "data" / one.name, self.columns)


def _iceberg(folder: Path, columns: Columns) -> None:
    fields = [
        {"id": id_, "name": name, "required": False, "type": "long"} for name, id_ in _IDS.items()
    ]
    table = _Iceberg(folder, fields)
    table.columns = columns
    table.commit(MadeCommit([MadeFile("f.parquet", pa.table({"a": columns[0][2]}))]))


def _delta(mode: str) -> Callable[[Path, Columns], None]:
    def write(folder: Path, columns: Columns) -> None:
        folder.mkdir(parents=True)
        _file(folder / "f.parquet", columns)
        mapping, physical = "delta.columnMapping", _PHYSICAL
        fields = [
            made_delta.field(
                *(name, "long", {f"{mapping}.id": id_, f"{mapping}.physicalName": physical[name]})
            )
            for name, id_ in _IDS.items()
        ]
        told = {f"{mapping}.mode": mode, f"{mapping}.maxColumnId": "2"}
        made_delta.commit(
            *(folder, 0, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}),
            made_delta.metadata(*fields, configuration=told),
            made_delta.add_file(folder / "f.parquet"),
        )

    return write


_BY_ID = {"iceberg": _iceberg, "delta by id": _delta("id")}
_ALL = {**_BY_ID, "delta by name": _delta("name")}


#: Outlets through which DuckDB asks for columns and rows.
_VIEWS: Mapping[str, Callable[[Any, duckdb.DuckDBPyConnection], object]] = {
    "dataset": lambda table, engine: engine.register("t", table.scan().dataset()),
    "relation": lambda table, engine: table.scan().relation(engine).create_view("t"),
}


@pytest.mark.parametrize("name", _ALL)
def test_swapped_names_are_found_by_their_key(name: str, tmp_path: Path) -> None:
    """By ids whatever the names say, and by physical names whatever the ids say.

    A filter rules row groups out by the statistics of the column that is meant: by those of the
    one that has its name in the file there would be no row left.
    """
    ids = (2, 1) if name == "delta by name" else (1, 2)
    columns = [("b", ids[0], [1, 2, 101, 102]), ("a", ids[1], [201, 202, 301, 302])]
    _ALL[name](tmp_path / "t", columns)
    table = seamkit.open_table(str(tmp_path / "t"))
    assert table.scan().to_table().to_pydict() == {"a": columns[0][2], "b": columns[1][2]}
    for condition, expected in (("a < 50", [1, 2]), ("b > 300", [101, 102]), ("a > 200", [])):
        for chosen in (["a"], ["a", "b"]):
            rows = table.scan(columns=chosen, filter=condition, batch_rows=1).to_table()
            assert rows["a"].to_pylist() == expected
        for view in _VIEWS:
            with duckdb.connect() as engine:
                _VIEWS[view](table, engine)
                found = engine.sql(f"SELECT a FROM t WHERE {condition}").fetchall()  # noqa: S608
                assert [value for (value,) in sorted(found)] == expected, view


def test_a_column_without_an_id_is_nobodys_where_another_has_one(tmp_path: Path) -> None:
    """Its name does not make it the table's: Delta's by id is null, of Iceberg it is refused."""
    columns: Columns = [("x", 1, [1, 2, 3]), ("a", None, [7, 8, 9]), ("b", None, [4, 5, 6])]
    for name, write in _BY_ID.items():
        write(tmp_path / name, columns)
    rows = seamkit.open_table(str(tmp_path / "delta by id")).scan().to_table()
    assert rows.to_pydict() == {"a": [1, 2, 3], "b": [None] * 3}
    with pytest.raises(InputError, match=r"f\.parquet: its column '.' has no field id"):
        seamkit.open_table(str(tmp_path / "iceberg")).scan().to_table()


@pytest.mark.parametrize("name", _ALL)
@pytest.mark.parametrize("chosen", ["a", "b"])
def test_two_columns_with_one_key_are_refused(name: str, chosen: str, tmp_path: Path) -> None:
    """Whichever column is asked for: one of the two is another's, and nobody knows which."""
    second = ("b", 3) if name == "delta by name" else ("z", 1)
    _ALL[name](tmp_path / "t", [("b", 1, [1, 2, 3]), (*second, [4, 5, 6])])
    with pytest.raises(InputError, match=r"f\.parquet: two columns have the (name|field id)"):
        seamkit.open_table(str(tmp_path / "t")).scan(columns=[chosen]).to_table()
