"""UUIDs are handed out as Arrow's `arrow.uuid`, whatever form a file keeps them in."""

import uuid
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import seamkit
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import MadeCommit, MadeFile, MadeTable, field_of

_IDS = [uuid.UUID(int=number * 77777777777777777777777) for number in range(6)]
_COLUMN = field_of("u", "uuid", 2)
_COLUMNS: list[dict[str, Any]] = [
    field_of("k", "long", 1),
    _COLUMN,
    {
        "id": 3,
        "name": "s",
        "required": False,
        "type": {"type": "struct", "fields": [_COLUMN | {"id": 4, "name": "v"}]},
    },
    {
        "id": 5,
        "name": "l",
        "required": False,
        "type": {"type": "list", "element-id": 6, "element-required": False, "element": "uuid"},
    },
]
_FIXED = pa.binary(16)


class _Nested(MadeTable):
    """A table whose files have ids within structs and lists as well."""

    def _write_rows(self, one: MadeFile) -> None:
        if one.content or "s" not in one.rows.column_names:
            super()._write_rows(one)
            return
        kind = one.rows.schema.field("u").type

        def field(name: str, own: pa.DataType, id_: int) -> pa.Field:
            return pa.field(name, own).with_metadata({"PARQUET:field_id": str(id_)})

        schema = pa.schema(
            [
                field("k", pa.int64(), 1),
                field("u", kind, 2),
                field("s", pa.struct([field("v", kind, 4)]), 3),
                field("l", pa.list_(field("element", kind, 6)), 5),
            ]
        )
        columns = [column.combine_chunks() for column in one.rows.columns]
        columns[2] = pa.StructArray.from_arrays([columns[1]], fields=list(schema.field("s").type))
        columns[3] = pa.ListArray.from_arrays(
            range(len(columns[1]) + 1), columns[1], type=schema.field("l").type
        )
        rows = pa.Table.from_arrays(columns, schema=schema)
        pq.write_table(rows, self.folder / "data" / one.name, store_schema=False)


def _rows(keys: list[int], kind: pa.DataType) -> pa.Table:
    ids = pa.array([_IDS[key].bytes for key in keys], kind)
    lists = pa.ListArray.from_arrays(range(len(keys) + 1), ids)
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "u": ids,
            "s": pa.StructArray.from_arrays([ids], ["v"]),
            "l": lists,
        }
    )


def _scanned(table: IcebergTable, condition: str) -> list[int]:
    rows = table.scan(["k"], filter=condition, batch_rows=1, threads=4).to_table()
    return sorted(rows["k"].to_pylist())


def _in_duckdb(table: IcebergTable, condition: str) -> list[int]:
    relation = duckdb.from_arrow(table.scan().dataset()).filter(condition)
    return sorted(row[0] for row in relation.select("k").fetchall())


def _registered(table: IcebergTable, condition: str) -> list[int]:
    with duckdb.connect() as connection:
        seamkit.register(connection, "t", table.scan())
        rows = connection.sql(f"SELECT k FROM t WHERE {condition}").fetchall()  # noqa: S608
    return sorted(row[0] for row in rows)


_OUTLETS = {"scan": _scanned, "dataset": _in_duckdb, "register": _registered}
_TEXT = str(_IDS[3])
_CONDITIONS = {
    f"u = '{_TEXT}'": [3],
    f"u = '{_TEXT}'::UUID": [3],
    f"u IN ('{_TEXT}', '{_IDS[2]}')": [2, 3],
    f"u <> '{_TEXT}'": [0, 1, 2, 4, 5],
    f"u > '{_IDS[2]}'": [3, 4, 5],
    f"s.v = '{_TEXT}'": [3],
    f"l[1] = '{_TEXT}'": [3],
    "u IS NULL": [],
}


@pytest.mark.parametrize(
    ("outlet", "kind", "partitioned"),
    [
        (outlet, kind, (number + own) % 2)
        for number, outlet in enumerate(_OUTLETS)
        for own, kind in enumerate((pa.uuid(), _FIXED))
    ],
    ids=str,
)
def test_a_text_against_a_uuid_meets_its_row(
    outlet: str, kind: pa.DataType, partitioned: bool, tmp_path: Path
) -> None:
    """SQL compares a UUID with a text as UUIDs; Parquet's annotation need not be there."""
    part = [{"name": "p", "transform": "bucket[4]", "source-id": 2, "field-id": 1000}]
    table = _Nested(tmp_path / "t", _COLUMNS, part if partitioned else ())
    rows = _rows([0, 1, 2, 3, 4, 5], kind)
    table.commit(MadeCommit([MadeFile("a.parquet", rows, {"p": 1})]))
    opened = IcebergTable(str(table.folder))
    for condition, keys in _CONDITIONS.items():
        assert _OUTLETS[outlet](opened, condition) == keys, condition


@pytest.mark.parametrize("kind", [pa.uuid(), _FIXED], ids=["annotated", "plain"])
def test_uuids_have_their_type_at_every_depth(kind: pa.DataType, tmp_path: Path) -> None:
    """What Arrow's consumers take for a UUID is a UUID, and Polars gets its bytes."""
    table = _Nested(tmp_path / "t", _COLUMNS)
    table.commit(MadeCommit([MadeFile("a.parquet", _rows([2, 3], kind))]))
    opened = IcebergTable(str(table.folder))
    rows = opened.scan().to_table()
    assert opened.schema.field("u").type == pa.uuid()
    assert rows.schema.types[1:] == [pa.uuid(), pa.struct([("v", pa.uuid())]), pa.list_(pa.uuid())]
    assert rows["u"].to_pylist() == _IDS[2:4]
    assert rows["s"].to_pylist() == [{"v": one} for one in _IDS[2:4]]
    assert rows["l"].to_pylist() == [[one] for one in _IDS[2:4]]
    connector = registry.resolve("scan", "connector").open(ScanRequest(str(table.folder)))
    assert connector.to_reader().read_all() == rows
    condition = pc.field("u").cast(_FIXED) == _IDS[3].bytes
    assert opened.scan(["k"], filter=condition).to_table()["k"].to_pylist() == [3]
    listed = pc.field("k").isin([3, 4]) & pc.field("s").is_valid()
    assert opened.scan(["k"], filter=listed).to_table()["k"].to_pylist() == [3]
    frame = opened.scan().lazy().filter(pl.col("u") == _IDS[3].bytes).collect()
    assert frame["k"].to_list() == [3]
    with pytest.raises(seamkit.UsageError, match=r"no extension types: .* in SQL"):
        opened.scan(filter=[("u", "==", _IDS[3])]).to_table()


@pytest.mark.parametrize("outlet", _OUTLETS)
def test_uuids_at_depth_in_columns_that_a_file_lacks(outlet: str, tmp_path: Path) -> None:
    """A list or a struct that was added later is null, with any filter and for any engine."""
    table = MadeTable(tmp_path / "t", _COLUMNS)
    rows = _rows([2, 3], pa.uuid()).select(["k"])
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    opened = IcebergTable(str(table.folder))
    for condition in ("k = 3", "k = 3 AND s IS NULL", "k = 3 AND l IS NULL"):
        assert _OUTLETS[outlet](opened, condition) == [3]
    assert opened.scan().lazy().filter(pl.col("k") == 3).collect()["s"].to_list() == [None]


@pytest.mark.parametrize("data", [pa.uuid(), _FIXED], ids=["annotated", "plain"])
@pytest.mark.parametrize("delete", [pa.uuid(), _FIXED], ids=["annotated", "plain"])
def test_equality_deletes_by_uuid_take_out_their_rows(
    data: pa.DataType, delete: pa.DataType, tmp_path: Path
) -> None:
    """Whatever form data and deletes keep a UUID in, and whether it is shown or not."""
    table = _Nested(tmp_path / "t", _COLUMNS)
    table.commit(MadeCommit([MadeFile("a.parquet", _rows([0, 1, 2, 3], data))]))
    keys = pa.table({"u": pa.array([_IDS[1].bytes, None, _IDS[3].bytes], delete)})
    table.commit(MadeCommit([MadeFile("d.parquet", keys, content=2)], operation="delete"))
    opened = IcebergTable(str(table.folder))
    for columns in (["k"], ["u", "k"], None):
        rows = opened.scan(columns, batch_rows=1).to_table()
        assert sorted(rows["k"].to_pylist()) == [0, 2]
    assert opened.scan(filter=f"u = '{_IDS[2]}'").count_rows() == 1


def test_a_partition_of_one_uuid_gives_the_column(tmp_path: Path) -> None:
    """The value in the manifest stands for the column, in rows and in filters."""
    part = [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]
    table = MadeTable(tmp_path / "t", _COLUMNS[:2], part)
    kind = {"type": "fixed", "name": "f", "size": 16, "logicalType": "uuid"}
    rows = pa.table({"k": pa.array([1], pa.int64())})
    files = [
        MadeFile(f"{key}.parquet", rows, {"p": None if key == 0 else _IDS[key].bytes})
        for key in range(3)
    ]
    table.commit(MadeCommit(files, {"p": kind}))
    opened = IcebergTable(str(table.folder))
    assert set(opened.scan().to_table()["u"].to_pylist()) == {None, _IDS[1], _IDS[2]}
    for read in (_scanned, _in_duckdb, _registered):
        assert read(opened, f"u = '{_IDS[1]}'") == [1]
        assert read(opened, "u IS NULL") == [1]
        assert read(opened, f"u = '{_IDS[5]}'") == []


def test_statistics_tell_the_outermost_uuids(tmp_path: Path) -> None:
    """Of several files: Arrow compares no UUIDs, their bytes are in order."""
    part = [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]
    table = MadeTable(tmp_path / "t", _COLUMNS[:2], part)
    kind = {"type": "fixed", "name": "f", "size": 16, "logicalType": "uuid"}
    rows = pa.table({"k": pa.array([1], pa.int64())})
    ids = [_IDS[2], uuid.UUID(int=1 << 127), _IDS[1]]
    files = [MadeFile(f"{one}.parquet", rows, {"p": one.bytes}) for one in ids]
    table.commit(MadeCommit(files, {"p": kind}))

    known = IcebergTable(str(table.folder)).scan().statistics().columns["u"]

    assert known.least is not None
    assert known.least.value.as_py() == _IDS[1]
    assert known.least.is_exact
    assert known.greatest is not None
    assert known.greatest.value.as_py() == ids[1]
    assert known.greatest.is_exact


def test_defaults_are_uuids(tmp_path: Path) -> None:
    """Rows that are older than a column have its initial default, at every depth."""
    text = str(_IDS[4])
    table = _Nested(tmp_path / "t", _COLUMNS, version=3)
    table.commit(MadeCommit([MadeFile("a.parquet", _rows([1], pa.uuid()))]))

    def edit(parsed: dict[str, Any]) -> None:
        fields = parsed["schemas"][0]["fields"]
        new = {"name": "n", "required": False, "type": "uuid", "initial-default": text}
        fields.append(new | {"id": 7})
        fields[2]["type"]["fields"].append(new | {"id": 8})
        parsed["last-column-id"] = 8

    table.edit(edit)
    opened = IcebergTable(str(table.folder))
    [row] = opened.scan().to_table().to_pylist()
    assert (row["n"], row["s"]) == (_IDS[4], {"v": _IDS[1], "n": _IDS[4]})
    for read in (_scanned, _in_duckdb, _registered):
        assert read(opened, f"n = '{text}' AND s.n = '{text}'") == [1]


class _OtherFormat(MadeTable):
    """A table whose files are in Avro, or in ORC under a name mapping."""

    def _write_rows(self, one: MadeFile) -> None:
        path = self.folder / "data" / one.name
        if one.name.endswith(".orc"):
            orc.write_table(one.rows, path)
            return
        kind = {"type": "fixed", "name": "id", "size": 16, "logicalType": "uuid"}
        schema = {
            "type": "record",
            "name": "r",
            "fields": [
                {"name": "k", "type": "long", "field-id": 1},
                {"name": "u", "type": ["null", kind], "field-id": 2},
            ],
        }
        with path.open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), one.rows.to_pylist())


@pytest.mark.parametrize("ending", ["avro", "orc"])
def test_uuids_of_avro_and_orc_are_uuids(ending: str, tmp_path: Path) -> None:
    """Avro has them as 16 bytes, ORC as binary."""
    table = _OtherFormat(tmp_path / "t", _COLUMNS[:2])
    ids = pa.array([_IDS[1].bytes, None, _IDS[3].bytes], pa.binary())
    rows = pa.table({"k": pa.array([1, 2, 3], pa.int64()), "u": ids})
    changed = {"file_format": ending.upper()}
    table.commit(MadeCommit([MadeFile(f"a.{ending}", rows, changed=changed)]))
    table.map_names([{"field-id": 1, "names": ["k"]}, {"field-id": 2, "names": ["u"]}])
    opened = IcebergTable(str(table.folder))
    assert opened.scan().to_table()["u"].to_pylist() == [_IDS[1], None, _IDS[3]]
    for read in (_scanned, _in_duckdb, _registered):
        assert read(opened, f"u = '{_IDS[3]}'") == [3]
