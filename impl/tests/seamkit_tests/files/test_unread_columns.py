"""Columns that the specification of Parquet allows and pyarrow does not read."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import RefusedError
from seambench.formats.forms.footer import BOOLEAN, Footer, Number
from seamkit_tests.samples import made_delta

_INT = 5  # of the compact protocol: a whole number of 32 bits
_DECIMAL, _CONVERTED, _SCALE, _PRECISION = 5, 6, 7, 8


def _long_decimals(path: Path, values: list[int], kind: pa.DataType) -> None:
    """A decimal(10, 2) whose numbers have twenty bytes each."""
    raw = pa.array([value.to_bytes(20, "big", signed=True) for value in values], kind)
    _write(path, raw, {_CONVERTED: _DECIMAL, _SCALE: 2, _PRECISION: 10})


def _flags_by_number(path: Path, values: list[int], _: Any) -> None:
    """Flags of a dictionary; what stands in it is not looked at."""
    _write(path, pa.array(values, pa.int32()), {1: BOOLEAN})


def _write(path: Path, column: pa.Array, told: dict[int, int]) -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"k": range(len(column)), "v": column})
    pq.write_table(table, sink, store_schema=False)
    footer = Footer(sink.getvalue().to_pybytes())
    for number, value in told.items():
        footer.schema.items[2][number] = Number(_INT, value)
    for leaf, chunk in footer.chunks():
        if leaf.path == ("v",):
            chunk[3][1] = Number(_INT, told.get(1, chunk[3].whole(1)))
            if 1 in told:  # bounds of whole numbers are none of flags
                del chunk[3][12]
    path.write_bytes(footer.file())


@pytest.mark.parametrize(
    ("make", "storage", "kind"),
    [
        (_long_decimals, pa.binary(20), "decimal(10,2)"),
        (_long_decimals, pa.binary(), "decimal(10,2)"),
        (_flags_by_number, None, "boolean"),
    ],
)
@pytest.mark.parametrize("form", ["hive", "delta"])
def test_columns_that_pyarrow_does_not_read_are_refused(
    make: Any, storage: pa.DataType, kind: str, form: str, tmp_path: Path
) -> None:
    """They are no broken ones; the other columns of their files are read."""
    make(tmp_path / "a.parquet", [1, 0, 1], storage)
    table: Any
    if form == "hive":
        columns = {"k": "bigint", "v": kind}
        table = seamkit.HiveTable(str(tmp_path), columns=columns, file_format="parquet")
    else:
        fields = [made_delta.field("k"), made_delta.field("v", kind)]
        made_delta.make(tmp_path, fields, made_delta.add_file(tmp_path / "a.parquet"))
        table = seamkit.DeltaTable(str(tmp_path))
    ways: list[dict[str, Any]] = [{}, {"filter": "k > 0"}, {"columns": ["v"], "threads": 1}]
    ways.append({"filter": "v" if kind == "boolean" else "v < 2"})
    for how in ways:
        with pytest.raises(RefusedError, match="in a way that pyarrow does not read"):
            table.scan(**how).to_table()
    assert table.scan(["k"]).to_table()["k"].to_pylist() == [0, 1, 2]
