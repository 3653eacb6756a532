"""Decimals that a Parquet file holds as bytes are those that pyarrow makes of them."""

import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seamkit.files import promotion
from seamkit.files.parquet import ParquetReader
from seamkit.files.storage import Storage
from seamkit.scan.native_path import native_rows
from seamkit.scan.units import Wanted
from seamkit_tests.samples.golden_tables import unpack_table


@pytest.fixture(autouse=True)
def _small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of few rows are read as those of many."""
    monkeypatch.setattr(promotion, "_BYTES_A_ROW", 1 << 30)


def _column(digits: int, scale: int) -> pa.Array:
    """Either sign, both ends of the range, nulls between them."""
    most = decimal.Decimal(10**digits - 1).scaleb(-scale, decimal.Context(prec=40))
    least = most.copy_negate()
    one = decimal.Decimal(1).scaleb(-scale)
    values = [most, None, least, decimal.Decimal(0), one, -one, None, None, most]
    return pa.array(values * 3, pa.decimal128(digits, scale))


def _read(reader: ParquetReader, schema: pa.Schema, **options: Any) -> pa.Table:
    batches = reader.batches(schema, 7, use_threads=False, **options)
    return pa.Table.from_batches(list(batches), schema)


@pytest.mark.parametrize("digits", [1, 2, 9, 15, 18, 19, 38])
@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False},
        {"use_dictionary": True, "data_page_version": "2.0", "compression": "zstd"},
        {"store_schema": False, "row_group_size": 10, "write_page_checksum": True},
    ],
)
def test_decimals_of_every_width_are_read(
    tmp_path: Path, digits: int, options: dict[str, Any]
) -> None:
    """Beside columns that share their form or their name, whole and group by group."""
    own = _column(digits, min(digits, 2))
    nested = pa.StructArray.from_arrays([own, own], ["d", "x"])
    table = pa.table(
        {
            "s": nested,
            "d": own,
            "t": ["text"] * len(own),
            "s.d": own,
            "l": pa.array([[1], None, []] * 9, pa.list_(pa.decimal128(digits, 0))),
            "f": pa.array([b"abcde"] * len(own), pa.binary(5)),
            "e": own.slice(1).take(pa.array([*range(1, len(own) - 1), 0, 0])),
            "n": pa.nulls(len(own), own.type),
        }
    )
    pq.write_table(table, tmp_path / "f.parquet", **options)
    reader = ParquetReader(Storage(str(tmp_path)), "f.parquet")
    assert _read(reader, table.schema, encoded=["t"]).num_rows == len(own)
    assert _read(reader, table.schema).equals(pq.read_table(tmp_path / "f.parquet"))
    for name in table.schema.names:
        schema = table.select([name]).schema
        groups = range(reader.num_row_groups)
        assert _read(reader, schema, row_groups=groups).equals(table.select([name]))
    whole, other = reader._footer_of_bytes, pq.read_metadata(tmp_path / "f.parquet")
    assert whole is not None
    assert whole.num_rows == other.num_rows
    kinds = whole.schema.to_arrow_schema()
    assert [n for n in kinds.names if pa.types.is_fixed_size_binary(kinds.field(n).type)] == [
        *("d", "f", "e", "n")
    ]


def test_a_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    """None of them is turned; they are of the table's types."""
    pq.write_table(pa.table({"d": _column(5, 2)}).slice(0, 0), tmp_path / "f.parquet")
    reader = ParquetReader(Storage(str(tmp_path)), "f.parquet")
    assert _read(reader, pa.schema({"d": pa.decimal128(5, 2)})).num_rows == 0


def test_files_of_parquet_mr_are_read(tmp_path: Path) -> None:
    """Hudi on Spark wrote them; what pyarrow reads by itself is the measure."""
    folder = unpack_table("mor-v9-types", tmp_path)
    for path in folder.rglob("*.parquet"):
        whole = pq.ParquetFile(path).read()
        reader = ParquetReader(Storage(str(path.parent)), path.name)
        schema = whole.schema.remove_metadata()
        assert _read(reader, schema).equals(whole.replace_schema_metadata())
        assert reader._footer_of_bytes is not None


def test_decimals_are_promoted_and_tested(tmp_path: Path) -> None:
    """A table's type may have more digits than the file's, and a condition compares decimals."""
    pq.write_table(pa.table({"d": _column(15, 2)}), tmp_path / "f.parquet")
    reader = ParquetReader(Storage(str(tmp_path)), "f.parquet")
    wide = pa.schema({"d": pa.decimal128(20, 2)})
    assert _read(reader, wide).equals(pa.table({"d": _column(15, 2)}).cast(wide))
    schema = pa.schema({"d": pa.decimal128(15, 2)})
    wanted = Wanted(schema, ["d"], pa.compute.field("d") < decimal.Decimal(0), ["d"], {}, 100)
    rows = pa.Table.from_batches(native_rows(reader, wanted, [0], use_threads=False), schema)
    assert rows.num_rows == 6
    assert all(row["d"] < 0 for row in rows.to_pylist())


def test_a_footer_of_another_form_is_left_alone(tmp_path: Path) -> None:
    """Then decimals are read as pyarrow reads them."""
    pq.write_table(pa.table({"d": _column(5, 2)}), tmp_path / "f.parquet")
    own = pa.BufferOutputStream()
    pq.read_metadata(tmp_path / "f.parquet").write_metadata_file(own)
    whole = own.getvalue().to_pybytes()
    cut = [whole[:size] for size in range(4, 40)]
    changed = [whole[:at] + bytes([byte]) + whole[at + 1 :] for at in (4, 6, 7) for byte in (0, 9)]

    class Footer:
        """One that is written with other bytes."""

        num_row_groups = 1

        def __init__(self, content: bytes) -> None:
            self._content = content

        def write_metadata_file(self, sink: pa.BufferOutputStream) -> None:
            sink.write(self._content)

    for content in cut + changed:
        footer: Any = Footer(content)
        assert promotion.footer_of_bytes(footer, ["d"]) is None


def test_small_files_with_large_footers_are_read_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A footer of bytes would take longer than it saves."""
    monkeypatch.undo()
    pq.write_table(pa.table({"d": _column(5, 2)}), tmp_path / "f.parquet")
    assert not promotion.byte_decimals(pq.read_metadata(tmp_path / "f.parquet"))
