"""What footers of ORC say otherwise than it is, by the writers that are known to do so."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from seambase.errors import RefusedError
from seambench.formats.forms.footer import read_varint, varint
from seamkit.files.orc import OrcReader
from seamkit.files.statistics import ColumnRange
from seamkit.files.storage import Storage
from seamkit.tables.hive.table import HiveTable

_MAGIC_BYTES = 7  # of the postscript's last field


def _written(
    folder: Path, table: pa.Table, footer: bytes = b"", postscript: bytes = b""
) -> OrcReader:
    """A file with fields behind those of its footer and postscript: of two the last one counts."""
    path = folder / "a.orc"
    orc.write_table(table, str(path), compression="uncompressed")
    data = path.read_bytes()
    end = len(data) - 1 - data[-1]
    own, magic = data[end : -1 - _MAGIC_BYTES], data[-1 - _MAGIC_BYTES : -1]
    assert own[0] == 0x08  # the length of the footer
    size, at = read_varint(own, 1)
    script = b"\x08" + varint(size + len(footer)) + own[at:] + postscript + magic
    path.write_bytes(data[:end] + footer + script + bytes([len(script)]))
    return OrcReader(Storage(str(folder)), path.name)


def _rows(reader: OrcReader, name: str) -> list[Any]:
    wanted = pa.schema([reader.schema.field(name)])
    batches = reader.batches(wanted, 10, use_threads=False)
    return [row[name] for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("writer", "version", "has_zero"), [(0, 6, True), (0, 7, False), (1, 6, False)]
)
def test_zero_may_be_told_among_decimals_of_64_bits(
    writer: int, version: int, has_zero: bool, tmp_path: Path
) -> None:
    """By Java's library 1.5.0 to 1.5.5, which Hive 3.1 and Spark 2.4 have (ORC-517): no value."""
    least, most = Decimal("5.00"), Decimal("9.00")
    values = [least, most, None]
    kinds = {"short": pa.decimal128(18, 2), "long": pa.decimal128(19, 2)}
    table = pa.table({name: pa.array(values, kind) for name, kind in kinds.items()})
    reader = _written(tmp_path, table, bytes([0x48, writer]), bytes([0x30, version]))
    known = reader.statistics(table.schema).columns
    told = {
        name: ColumnRange(1, pa.scalar(least, kind), pa.scalar(most, kind), (True, True))
        for name, kind in kinds.items()
    }
    assert known == {**told, **({"short": ColumnRange(1)} if has_zero else {})}
    assert _rows(reader, "short") == values


def test_bytes_that_were_compared_without_their_sign_have_no_range(tmp_path: Path) -> None:
    """By C++'s library up to 2.0.1 on ARM, whose `char` has none (ORC-1725): -100 is 156."""
    table = pa.table({"b": pa.array([-100, 100, None], pa.int8())})
    _written(tmp_path, table)
    right, wrong = bytes.fromhex("08c70110c801"), bytes.fromhex("08c80110b802")
    path = tmp_path / "a.orc"
    before = path.read_bytes()
    assert right in before
    path.write_bytes(before.replace(right, wrong))
    reader = OrcReader(Storage(str(tmp_path)), path.name)
    assert reader.statistics(table.schema).columns["b"] == ColumnRange(1)
    told = HiveTable(str(tmp_path), columns={"b": "tinyint"}, file_format="orc").scan().statistics()
    assert (told.columns["b"].least, told.columns["b"].greatest) == (None, None)
    assert _rows(reader, "b") == [-100, 100, None]


@pytest.mark.parametrize("counted", [0, 50])
def test_statistics_that_leave_rows_out_say_nothing(counted: int, tmp_path: Path) -> None:
    """Of a file without an index Java's library counts no row, and has all columns for null.

    Files that were put together (Hive's CONCATENATE) may have stripes of both kinds.
    """
    table = pa.table({"k": pa.array(range(100), pa.int64())})
    _written(tmp_path, table)
    path = tmp_path / "a.orc"
    whole = path.read_bytes()
    end = len(whole) - 1 - whole[-1]
    begin = end - OrcReader(Storage(str(tmp_path)), path.name)._file.file_footer_length
    footer = whole[begin:end].replace(b"\x08\x64", bytes([8, counted]))
    assert footer != whole[begin:end]
    path.write_bytes(whole[:begin] + footer + whole[end:])
    assert OrcReader(Storage(str(tmp_path)), path.name).statistics(table.schema).columns == {}
    told = HiveTable(str(tmp_path), columns={"k": "bigint"}, file_format="orc").scan().statistics()
    assert (told.rows and told.rows.value, told.columns["k"].nulls) == (100, None)


@pytest.mark.parametrize(("writer", "is_whole"), [(0, True), (1, True), (2, False), (4, False)])
def test_ends_of_texts_are_values_where_none_are_cut(
    writer: int, is_whole: bool, tmp_path: Path
) -> None:
    """Trino cuts them to 64 bytes, and hands out the next text after the greatest one's rest."""
    table = pa.table({"v": ["a", "b"]})
    reader = _written(tmp_path, table, bytes([0x48, writer]))
    known = reader.statistics(table.schema).columns["v"]
    assert (known.least, known.greatest) == (pa.scalar("a"), pa.scalar("b"))
    assert known.exact == (is_whole, is_whole)


@pytest.mark.parametrize("root", range(4))
def test_encrypted_columns_are_refused(root: int, tmp_path: Path) -> None:
    """In place of their values stands what those may see who have no key: mostly nulls."""
    table = pa.table({"s": [{"x": 1}], "v": ["a"], "w": [1]})
    message = bytes([0x1A, 2, 0x08, root])  # a variant, whose root is a column
    reader = _written(tmp_path, table, bytes([0x52, len(message)]) + message)
    for name, of_row in {"s": (0, 1, 2), "v": (0, 3), "w": (0,)}.items():
        if root in of_row:
            assert name not in reader.statistics(table.schema).columns
            with pytest.raises(RefusedError, match=f"column '{name}' is encrypted"):
                _rows(reader, name)
        else:
            assert _rows(reader, name) == table[name].to_pylist()
