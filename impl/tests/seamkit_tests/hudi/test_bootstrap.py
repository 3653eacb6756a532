"""Bootstrapped tables: the index that Hudi wrote, and two files read as one."""

import datetime as dt
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.base_files import open_slice_base, with_external_files
from seamkit.tables.hudi.config.properties import TableConfig, load_config
from seamkit.tables.hudi.listing.files import BaseFile, External, FileSlice
from seamkit.tables.hudi.listing.hfile import read_hfile
from seamkit_tests import GOLDEN
from seamkit_tests.samples.hfile_bytes import build_hfile
from seamkit_tests.samples.hudi_files import properties_text
from seamkit_tests.samples.odd_values import odd_container

# Written by Spark 3.5.9 and Hudi 1.2.0 (`METADATA_ONLY` bootstrap of a table in folders p=p0 and
# p=p1); the name of the table's folder is another one.
INDEX = GOLDEN / "hudi-bootstrap-fileids.hfile"
FILE_ID = "28d65cab-8d35-40f1-912e-ec9dbca99e59"
OLD_FILE = "p=p0/part-00001-d73b86a0-58a6-47da-8e44-951b374202fc.c000.snappy.parquet"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The folder of a bootstrapped table, as far as its properties and index."""
    folder = tmp_path / "table"
    index = folder / ".hoodie" / ".aux" / ".bootstrap" / ".fileids"
    index.mkdir(parents=True)
    shutil.copy(INDEX, index / "index.hfile")
    (folder / ".hoodie" / "hoodie.properties").write_text(
        properties_text(9)
        + f"hoodie.table.partition.fields=p\nhoodie.bootstrap.base.path={tmp_path}/old\n"
    )
    return folder


def slice_of(file_id: str, instant: str = "00000000000001") -> FileSlice:
    """A slice without logs in the partition p=p0."""
    base = BaseFile(f"p=p0/{file_id}_0-1-1_{instant}.parquet", "p=p0", file_id, "0", instant, 1)
    return FileSlice("p=p0", file_id, instant, base)


def opened(table: Path) -> tuple[Storage, TableConfig]:
    """The table's folder and properties."""
    storage = Storage(str(table))
    return storage, load_config(storage)


def test_the_index_names_the_file_of_a_skeleton(table: Path) -> None:
    """Skeletons are joined to their files; whole base files, and slices of logs, stay as they are.

    The folder of the old files is the one of the properties: both may have been moved.
    """
    storage, config = opened(table)
    whole = slice_of(FILE_ID, "20250101000000000")
    logs = FileSlice("p=p0", "other", "20250101000000000")
    joined = with_external_files([slice_of(FILE_ID), whole, logs], storage, config)
    assert joined[0].base is not None
    assert joined[0].base.external == External(f"{table.parent}/old", OLD_FILE, {"p": "p0"})
    assert joined[1:] == [whole, logs]


def test_a_skeleton_that_the_index_lacks_is_an_error(table: Path) -> None:
    """Rows of which nothing but keys is known are never handed out."""
    with pytest.raises(InputError, match=r"the bootstrap index .* does not name the file"):
        with_external_files([slice_of("unknown")], *opened(table))
    shutil.rmtree(table / ".hoodie" / ".aux")
    with pytest.raises(InputError, match="the bootstrap index is missing"):
        with_external_files([slice_of(FILE_ID)], *opened(table))


@pytest.mark.parametrize(
    "entry",
    [
        {"bootstrapFileStatus": "x"},
        {"bootstrapFileStatus": {"path": "x"}},
        {"bootstrapFileStatus": {"path": {"uri": ""}}},
    ],
)
def test_an_odd_entry_of_the_index_is_named(table: Path, entry: dict[str, Any]) -> None:
    """An entry that names no file is an error with the index's name."""
    index = table / ".hoodie/.aux/.bootstrap/.fileids/index.hfile"
    ((key, _), *_) = read_hfile(index.read_bytes(), file="index").entries
    index.write_bytes(build_hfile([[(key, odd_container(entry))]]))
    with pytest.raises(InputError, match="an entry without the path of a file"):
        with_external_files([slice_of(FILE_ID)], *opened(table))


def written(
    folder: Path, rows: int, outside_rows: int, values: Mapping[str, str | None]
) -> BaseFile:
    """A skeleton and its other columns, whose row groups are cut at other rows."""
    (folder / "old").mkdir()
    keys = pa.table({"_hoodie_record_key": [f"k{i}" for i in range(rows)]})
    pq.write_table(keys, folder / "a.parquet", row_group_size=3)
    others = pa.table({"k": range(outside_rows), "gone": range(outside_rows)})
    pq.write_table(others, folder / "old" / "b.parquet", row_group_size=4)
    external = External(str(folder / "old"), "b.parquet", values)
    return BaseFile("a.parquet", "", "a", "0", "00000000000001", 1, external)


@pytest.mark.parametrize("batch_rows", [1, 5, 100])
def test_the_two_files_are_read_in_step(tmp_path: Path, batch_rows: int) -> None:
    """Row by row the columns of both, and what folders say of columns that both lack."""
    base = written(tmp_path, 10, 10, {"day": "2024-02-29", "none": None, "k": "no value"})
    schema = pa.schema(
        [
            ("k", pa.int64()),
            ("day", pa.date32()),
            ("_hoodie_record_key", pa.string()),
            ("none", pa.int32()),
            ("new", pa.float64()),
        ]
    )
    reader = open_slice_base(Storage(str(tmp_path)), base)
    batches = reader.batches(schema, batch_rows, use_threads=False)
    day = dt.date(2024, 2, 29)
    assert pa.Table.from_batches(batches, schema).to_pylist() == [
        {"k": i, "day": day, "_hoodie_record_key": f"k{i}", "none": None, "new": None}
        for i in range(10)
    ]
    (count,) = reader.batches(pa.schema([]), 100, use_threads=False)
    assert count.num_rows == 10


def test_files_of_different_rows_are_refused(tmp_path: Path) -> None:
    """A skeleton and its file have the same number of rows."""
    base = written(tmp_path, 10, 9, {})
    with pytest.raises(InputError, match=r"a\.parquet: 10 rows, but .*b\.parquet, .* has 9"):
        open_slice_base(Storage(str(tmp_path)), base)


def test_a_folder_that_is_no_value_is_refused(tmp_path: Path) -> None:
    """A folder's name that does not fit its column is an error with both."""
    base = written(tmp_path, 1, 1, {"day": "never"})
    reader = open_slice_base(Storage(str(tmp_path)), base)
    with pytest.raises(InputError, match="the folder's value 'never' of column 'day' is no date32"):
        list(reader.batches(pa.schema([("day", pa.date32())]), 10, use_threads=False))
