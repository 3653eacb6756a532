"""Equality deletes however a scan is run: batches, threads, parts, memory, engines."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, SeambenchError
from seambench.contracts import registry
from seambench.contracts.scan import ScanRequest
from seambench.formats.forms.footer import Footer
from seamkit.scan.units import KeyMask
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import (
    MadeCommit,
    MadeFile,
    MadeTable,
    field_of,
    unpack_iceberg,
)


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    """Two files of several row groups, keys of which are deleted; Spark reads 29401 rows of it."""
    folder = unpack_iceberg("equality-large", tmp_path)
    return IcebergTable(str(folder / "metadata" / "v4.metadata.json"))


def _expected() -> list[int]:
    """The keys that are left, by the declaration of the table."""
    gone = set(range(0, 25000, 50)) - {100}
    return [k for k in [*range(20000), *range(15000, 25000)] if k not in gone]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("batch_rows", [777, None])
def test_batches_and_threads_give_the_same_rows(
    table: IcebergTable, threads: int, batch_rows: int | None
) -> None:
    """Keys are looked at row group by row group, whatever the batches."""
    rows = table.scan(columns=["k"], threads=threads, batch_rows=batch_rows).to_table()
    assert sorted(rows.column("k").to_pylist()) == sorted(_expected())


def test_a_column_without_the_key_is_read(table: IcebergTable) -> None:
    """The key is read for the deletes and not handed out; without columns rows are counted."""
    assert table.scan(columns=["v"]).schema == pa.schema([("v", pa.string())])
    assert table.scan(columns=["v"]).count_rows() == 29401
    assert table.scan(columns=[]).count_rows() == 29401


def test_filters_and_deletes_meet(table: IcebergTable) -> None:
    """A filter leaves row groups out, and deletes count in the others."""
    wanted = sum(k < 1000 for k in _expected())
    assert table.scan(filter=pc.field("k") < 1000).count_rows() == wanted
    assert table.scan(columns=["v"], filter="k = 50 OR k = 100").count_rows() == 1


def test_parts_in_other_processes_are_the_whole(table: IcebergTable) -> None:
    """A scan is pickled, with its deletes, before and after it was read."""
    scan = table.scan(columns=["k"])
    scan.count_rows()
    again = pickle.loads(pickle.dumps(scan))  # noqa: S301 - our own
    rows = sum(again.part(number, ["k"], None).count_rows() for number in range(again.n_parts))
    assert rows == 29401


def test_keys_count_against_the_memory_limit(table: IcebergTable) -> None:
    """What an index of keys would take beyond it is refused, and nothing is handed out."""
    with pytest.raises(SeambenchError):
        table.scan(memory_limit_bytes=1000).to_table()


def test_files_that_no_key_can_be_in_are_read_natively(tmp_path: Path) -> None:
    """Bounds of the key in the delete file and the data file lie apart."""
    folder = unpack_iceberg("equality", tmp_path)
    units = IcebergTable(str(folder)).scan().plan.units  # type: ignore[attr-defined]
    changed = [isinstance(unit.changes, KeyMask) for unit in units]
    assert sum(changed) == 2
    assert len(changed) == 3


def test_a_key_of_a_nested_type_is_refused(tmp_path: Path) -> None:
    """As is one that no schema has."""
    folder = unpack_iceberg("nested", tmp_path)
    table = IcebergTable(str(folder))
    from seamkit.tables.iceberg.deletes import key_columns

    for id_ in (2, 9999):
        with pytest.raises(RefusedError, match=f"by the field {id_}"):
            key_columns(table._metadata, [id_], "here")


class _NestedKey(MadeTable):
    """A table whose column `x` may lie in a struct `s`."""

    def _write_rows(self, one: MadeFile) -> None:
        rows = one.rows.combine_chunks()
        ids = {"k": 1, "x": 2, "s": 3}
        fields = {
            own.name: own.with_metadata({"PARQUET:field_id": str(ids[own.name])})
            for own in rows.schema
        }
        columns = dict(zip(rows.column_names, rows.columns, strict=True))
        if "s" in self._ids:
            inner = columns.pop("x").combine_chunks()
            struct = pa.StructArray.from_arrays([inner], fields=[fields.pop("x")])
            columns["s"] = struct
            fields["s"] = pa.field("s", struct.type).with_metadata({"PARQUET:field_id": "3"})
        made = pa.Table.from_arrays(
            list(columns.values()), schema=pa.schema([fields[name] for name in columns])
        )
        pq.write_table(made, self.folder / "data" / one.name, store_schema=False)


@pytest.mark.parametrize("batch_rows", [1, 1000])
@pytest.mark.parametrize("key", ["x", "s"], ids=["column", "in-struct"])
@pytest.mark.parametrize("deleted", [0, 1, 2], ids=["7ff8-0", "7ff8-1", "fff8-0"])
@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_deleted_nan_takes_out_every_nan(
    kind: str, deleted: int, key: str, batch_rows: int, tmp_path: Path
) -> None:
    """What is not a number equals itself, of whatever bits: 0/0 has a sign on one machine.

    Zero keeps its two signs.
    """
    words, width = (np.uint32, np.float32) if kind == "float" else (np.uint64, np.float64)
    shift = 0 if kind == "float" else 32
    nans = [0x7FF80000 << shift, (0x7FF80000 << shift) + 1, 0xFFF80000 << shift]
    values = pa.array(np.array(nans, words).view(width))
    rows = pa.concat_arrays([values, pa.array([1.0, -0.0, 0.0, None], values.type)])
    column = field_of("x", kind, 2)
    if key == "s":
        struct = {"type": "struct", "fields": [column]}
        column = field_of("s", struct, 3)
    number = field_of("k", "long", 1)
    table = _NestedKey(tmp_path / "t", [number, column])
    numbers = pa.array(range(7), pa.int64())
    table.commit(MadeCommit([MadeFile("a.parquet", pa.table({"k": numbers, "x": rows}))]))
    gone = MadeFile(
        "d.parquet",
        pa.table({"x": values[deleted : deleted + 1]}),
        content=2,
        changed={"equality_ids": [2]},
    )
    table.commit(MadeCommit([gone], operation="delete"))

    found = IcebergTable(str(table.folder)).scan(["k"], batch_rows=batch_rows).to_table()

    assert found["k"].to_pylist() == [3, 4, 5, 6]


class _KeyBesides(MadeTable):
    """A table with a struct `s` of `x` and a required `y`."""

    def _write_rows(self, one: MadeFile) -> None:
        ids = {"k": 1, "s": 2, "x": 3, "y": 4}
        pq.write_table(_with_ids(one.rows, ids), self.folder / "data" / one.name)


def _with_ids(rows: pa.Table, ids: Mapping[str, int]) -> pa.Table:
    def own(field: pa.Field) -> pa.Field:
        kind = field.type
        if pa.types.is_struct(kind):
            kind = pa.struct([own(inner) for inner in kind])
        return pa.field(field.name, kind, metadata={"PARQUET:field_id": str(ids[field.name])})

    return rows.cast(pa.schema([own(field) for field in rows.schema]))


def _table_with_a_key_besides(
    folder: Path, deleted: pa.Table, default: int | None = None
) -> MadeTable:
    """Five rows, of which the deleted keys take some out; of their struct `y` is required."""
    inner = [
        field_of("x", "long", 3, initial_default=default),
        {"id": 4, "name": "y", "required": True, "type": "string"},
    ]
    number = field_of("k", "long", 1)
    struct = {"type": "struct", "fields": inner}
    column = field_of("s", struct, 2)
    table = _KeyBesides(folder, [number, column], version=3)
    kind = pa.struct([("x", pa.int64()), ("y", pa.string())])
    values = [
        {"x": 1, "y": "a"},
        {"x": 2, "y": "b"},
        {"x": None, "y": "c"},
        None,
        {"x": 1, "y": ""},
    ]
    rows = pa.table({"k": range(5), "s": pa.array(values, kind)})
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    gone = MadeFile("d.parquet", deleted, content=2, changed={"equality_ids": [3]})
    table.commit(MadeCommit([gone], operation="delete"))
    return table


@pytest.mark.parametrize(
    ("columns", "batch_rows"), [(["k", "s"], 1), (["s", "k"], 1000), (["k"], 1)]
)
@pytest.mark.parametrize(
    ("key", "left"),
    [({"x": 1}, [1, 2, 3]), ({"x": 2}, [0, 2, 3, 4]), ({"x": None}, [0, 1, 4]), (None, [0, 1, 4])],
)
def test_a_delete_file_need_not_have_what_lies_beside_its_keys(
    key: dict[str, int | None] | None,
    left: list[int],
    batch_rows: int,
    columns: list[str],
    tmp_path: Path,
) -> None:
    """A struct in a delete file has the key alone, though each of the table's has another field."""
    deleted = pa.table({"s": pa.array([key], pa.struct([("x", pa.int64())]))})
    made = _table_with_a_key_besides(tmp_path / "t", deleted)
    table = IcebergTable(str(made.folder))

    found = table.scan(columns, batch_rows=batch_rows).to_table()

    assert found["k"].to_pylist() == left
    assert _by_connector(made)["k"].to_pylist() == left
    if "s" in columns:
        letters = {0: "a", 1: "b", 2: "c", 4: ""}
        assert [own and own["y"] for own in found["s"].to_pylist()] == [
            letters.get(number) for number in left
        ]
    assert table.scan(["k"], filter="s.x = 1").to_table()["k"].to_pylist() == [
        number for number in left if number in (0, 4)
    ]


@pytest.mark.parametrize("door", ["native", "connector"])
@pytest.mark.parametrize(
    ("default", "key", "left"),
    [(None, None, []), (None, 1, [0, 1]), (1, None, [0]), (1, 1, [1]), (1, 2, [0, 1])],
)
def test_a_data_file_may_lack_the_key_beside_other_fields(
    default: int | None, key: int | None, left: list[int], door: str, tmp_path: Path
) -> None:
    """Rows older than a field of a struct have its default, or null; without a struct, null."""
    new = field_of("x", "long", 3, initial_default=default)
    old = {"id": 4, "name": "y", "required": True, "type": "string"}
    struct = {"type": "struct", "fields": [new, old]}
    column = field_of("s", struct, 2)
    number = field_of("k", "long", 1)
    table = _KeyBesides(tmp_path / "t", [number, column], version=3)
    values = pa.array([{"y": "a"}, None], pa.struct([("y", pa.string())]))
    rows = pa.table({"k": range(2), "s": values})
    table.commit(MadeCommit([MadeFile("a.parquet", rows)]))
    deleted = pa.table({"s": pa.array([{"x": key}], pa.struct([("x", pa.int64())]))})
    gone = MadeFile("d.parquet", deleted, content=2, changed={"equality_ids": [3]})
    table.commit(MadeCommit([gone], operation="delete"))

    is_native = door == "native"
    found = IcebergTable(str(table.folder)).scan().to_table() if is_native else _by_connector(table)

    assert found["k"].to_pylist() == left


@pytest.mark.parametrize(("ids", "left"), [([[3, 4]], [1, 2, 3, 4]), ([[3], [4]], [1, 2, 3])])
def test_keys_may_lie_in_one_struct(ids: list[list[int]], left: list[int], tmp_path: Path) -> None:
    """Those of one delete file, and those of several that meet the same rows."""
    kind = pa.struct([("x", pa.int64()), ("y", pa.string())])
    table = _table_with_a_key_besides(
        tmp_path / "t", pa.table({"s": pa.array([{"x": 7, "y": "z"}], kind)})
    )
    deleted = pa.table({"s": pa.array([{"x": 1, "y": "a"}], kind)})
    for own in ids:
        name = f"{'-'.join(map(str, own))}.parquet"
        gone = MadeFile(name, deleted, content=2, changed={"equality_ids": own})
        table.commit(MadeCommit([gone], operation="delete"))

    assert IcebergTable(str(table.folder)).scan().to_table()["k"].to_pylist() == left
    assert _by_connector(table)["k"].to_pylist() == left


def _by_connector(table: MadeTable) -> pa.Table:
    opened = registry.resolve("scan", "connector").open(ScanRequest(str(table.folder)))
    return opened.to_reader().read_all()


@pytest.mark.parametrize("default", [None, 1])
def test_a_delete_file_has_its_key_within_a_struct(default: int | None, tmp_path: Path) -> None:
    """Without it, null or the default would stand for the key, and take out the rows of that."""
    deleted = pa.table({"s": pa.array([{"y": "a"}], pa.struct([("y", pa.string())]))})
    table = _table_with_a_key_besides(tmp_path / "t", deleted, default)

    with pytest.raises(InputError, match="it lacks the column 'x'"):
        IcebergTable(str(table.folder)).scan().to_table()


@pytest.mark.parametrize(
    ("file", "ids", "why"),
    [
        ("deletes-*", {1: 0}, "it lacks the column"),
        ("deletes-*", {1: 2147483647}, "it lacks the column"),
        ("0*", {2: 1}, "two columns have the field id 1"),
    ],
)
def test_field_ids_that_no_writer_gives_are_refused(
    tmp_path: Path, file: str, ids: dict[int, int], why: str
) -> None:
    """A delete file has its keys: without them it would delete rows without a key alone."""
    folder = unpack_iceberg("equality", tmp_path)
    edited = 0
    for path in (folder / "data").glob(f"{file}.parquet"):
        footer = Footer(path.read_bytes())
        for element in footer.schema.items:
            if element.whole(9) in ids:
                element[9].value = ids[element.whole(9)]
                edited += 1
        # As long as before, which the manifest tells.
        more = len(footer.file()) - path.stat().st_size
        footer.tree[6].value = footer.tree[6].value[: len(footer.tree[6].value) - more]
        path.write_bytes(footer.file())
    assert edited
    with pytest.raises(InputError, match=why):
        IcebergTable(str(folder)).scan().to_table()
