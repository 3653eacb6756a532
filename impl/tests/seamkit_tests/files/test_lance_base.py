"""Base files in Lance, written by pylance."""

import builtins
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError, UnavailableError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.base_files import open_base
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.damage import replace_in
from seamkit_tests.samples.golden_tables import unpack_table

#: What is damaged on purpose is told; here it is the rows that count.
pytestmark = pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")

lance_file = pytest.importorskip("lance.file")

NAME = "a_1-0-1_1.lance"


def _write(path: Path, table: pa.Table) -> None:
    writer = lance_file.LanceFileWriter(str(path), table.schema, version="2.0")
    for batch in table.to_batches():
        writer.write_batch(batch)
    writer.close()


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_columns_come_in_the_types_of_the_table(tmp_path: Path, batch_rows: int) -> None:
    """In the order asked for; what the file lacks is null, what is not asked for is left out."""
    moment = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
    columns: dict[str, Any] = {
        "n": pa.array([1, None, 3], pa.int32()),
        "t": pa.array(["a", None, "ü€😀"]),
        "d": pa.array([Decimal("1.25"), None, Decimal("-3.00")], pa.decimal128(10, 2)),
        "at": pa.array([moment, None, moment], pa.timestamp("us", "UTC")),
        "l": pa.array([["x", None], None, []], pa.list_(pa.string())),
    }
    _write(tmp_path / NAME, pa.table(columns))
    kinds = {"l": pa.list_(pa.string()), "gone": pa.int8(), "n": pa.int64(), "t": pa.string()}
    kinds |= {"d": pa.decimal128(10, 2), "at": pa.timestamp("us", "UTC")}
    reader = open_base(Storage(str(tmp_path)), NAME)
    batches = list(reader.batches(pa.schema(kinds), batch_rows, use_threads=False))
    found = pa.Table.from_batches(batches)
    assert max(batch.num_rows for batch in batches) <= batch_rows
    assert found.schema.equals(pa.schema(kinds))
    for name, column in columns.items():
        assert found.column(name).to_pylist() == column.to_pylist()
    assert found.column("gone").null_count == reader.num_rows == 3
    counted = reader.batches(pa.schema([]), batch_rows, use_threads=False)
    assert sum(batch.num_rows for batch in counted) == 3


@pytest.mark.parametrize("content", [b"", b"LANC", b"\0" * 500])
def test_what_is_no_lance_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """It is named."""
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(InputError, match=f"{NAME}: not readable as Lance"):
        open_base(Storage(str(tmp_path)), NAME)


def test_a_cut_file_is_an_error(tmp_path: Path) -> None:
    """Whatever is missing of it, no row is."""
    _write(tmp_path / NAME, pa.table({"n": range(1000), "t": [str(i) for i in range(1000)]}))
    whole = (tmp_path / NAME).read_bytes()
    for length in range(0, len(whole), 97):
        (tmp_path / NAME).write_bytes(whole[:length])
        with pytest.raises(InputError, match=NAME):
            list(
                open_base(Storage(str(tmp_path)), NAME).batches(
                    pa.schema({"n": pa.int64(), "t": pa.string()}), 100, use_threads=False
                )
            )


def test_files_elsewhere_are_refused_by_name() -> None:
    """Pylance reaches storages in a way of its own."""
    with pytest.raises(RefusedError, match="Lance are read on this machine alone"):
        open_base(Storage("memory://table"), NAME)


def test_without_pylance_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is named."""
    _write(tmp_path / NAME, pa.table({"n": [1]}))
    own = builtins.__import__

    def absent(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("lance"):
            raise ModuleNotFoundError("No module named 'lance'", name="lance")
        return own(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(UnavailableError, match=r"pip install 'seamkit\[lance\]'"):
        open_base(Storage(str(tmp_path)), NAME)


def test_a_table_with_such_files_is_read_and_merged(tmp_path: Path) -> None:
    """Its rows are those of the same table in Parquet, below logs, too."""
    table = unpack_table("event/v6", tmp_path)
    expected = HudiTable(str(table)).scan().to_table()
    for file in table.glob("*.parquet"):
        _write(file.with_suffix(".lance"), pq.ParquetFile(file).read().replace_schema_metadata())
        file.unlink()
    for commit in (table / ".hoodie").glob("*commit"):
        replace_in(commit, ".parquet", ".lance")
    replace_in(table / ".hoodie/hoodie.properties", "file.format=PARQUET", "file.format=LANCE")
    scan = HudiTable(str(table)).scan()
    assert scan.to_table().sort_by("k").equals(expected.sort_by("k"))
    assert scan.report().paths == {"merge": 1}
