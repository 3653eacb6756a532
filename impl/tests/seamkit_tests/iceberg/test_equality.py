"""Equality deletes however a scan is run: batches, threads, parts, memory, engines."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import RefusedError, SeambenchError
from seamkit.scan.units import KeyMask
from seamkit.tables.iceberg.table import IcebergTable
from seamkit_tests.samples.iceberg_tables import unpack_iceberg


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
    units = IcebergTable(str(folder)).scan()._plan.units  # type: ignore[attr-defined]
    changed = [isinstance(unit.changes, KeyMask) for unit in units]
    assert sum(changed) == 2
    assert len(changed) == 3


def test_a_key_of_a_nested_type_is_refused(tmp_path: Path) -> None:
    """As is one that no schema has."""
    folder = unpack_iceberg("nested", tmp_path)
    table = IcebergTable(str(folder))
    from seamkit.tables.iceberg.content.equality_deletes import key_columns

    for id_ in (2, 9999):
        with pytest.raises(RefusedError, match=f"by the field {id_}"):
            key_columns(table._metadata, [id_], "here")
