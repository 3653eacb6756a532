"""Variants that data files of Delta hold in pieces are put together, wherever they lie."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seambench.conformance.plain import canonical
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.delta_tables import (
    change_actions,
    rows_of_table,
    unpack_delta,
)
from seamkit_tests.samples.variants import Leaf, decoded

#: Places of variants in the columns of the table: the column itself, in a struct, in a list.
_COLUMNS = (1, 2, 3)


def _in_pieces(kind: pa.DataType) -> pa.DataType:
    """The type with a typed part beside what is left over, wherever there is a variant in it."""
    if pa.types.is_list(kind):
        return pa.list_(_in_pieces(kind.value_type))
    fields = list(kind)
    if {field.name for field in fields} == {"metadata", "value"}:
        nullable = [field.with_nullable(True) for field in fields]
        return pa.struct([*nullable, pa.field("typed_value", pa.int64())])
    return pa.struct([field.with_type(_in_pieces(field.type)) for field in fields])


def _changed(value: Any, parts: dict[str, Any]) -> Any:
    """A value of a column with other parts of the variant in it."""
    if isinstance(value, list):
        return [_changed(one, parts) for one in value]
    if "metadata" in value:
        return value | parts
    return {name: _changed(one, parts) for name, one in value.items()}


def _table_in_pieces(number: int, parts: dict[str, Any], folder: Path) -> Path:
    """The table with one column in pieces in its file; the log tells the file's new size."""
    table = unpack_delta("variant", folder)
    file = next(table.glob("part-00000-01bd9ec6*.parquet"))
    rows = pq.read_table(file)
    field = rows.schema.field(number)
    other = field.with_type(_in_pieces(field.type))
    pieces = [_changed(value, parts) for value in rows[number].to_pylist()]
    pq.write_table(rows.set_column(number, other, pa.array(pieces, other.type)), file)
    change_actions(table, 1, "add", size=file.stat().st_size)
    for checksum in table.glob("_delta_log/*.crc"):
        checksum.unlink()
    return table


@pytest.mark.parametrize("number", _COLUMNS)
def test_a_variant_in_pieces_is_put_together(number: int, tmp_path: Path) -> None:
    """Under mapped names, in a struct and in a list; other columns and a count stay as they are."""
    before = DeltaTable(str(unpack_delta("variant", tmp_path / "before"))).scan().to_table()
    table = _table_in_pieces(number, {"value": None, "typed_value": 7}, tmp_path)
    scan = DeltaTable(str(table)).scan(threads=1)
    found, name = scan.to_table(), before.schema.names[number]
    assert scan.count_rows() == before.num_rows
    assert found.drop([name]).equals(before.drop([name]))
    seven = bytes([6 << 2]) + (7).to_bytes(8, "little")
    expected = [
        value if value is None else _changed(value, {"value": seven})
        for value in before[name].to_pylist()[:1]
    ]
    assert found[name].to_pylist()[:1] == expected
    assert found[name].to_pylist()[1:] == before[name].to_pylist()[1:]


@pytest.mark.parametrize("number", _COLUMNS)
def test_two_pieces_of_one_value_are_an_error(number: int, tmp_path: Path) -> None:
    """Both the value and the typed value of a primitive."""
    table = _table_in_pieces(number, {"typed_value": 7}, tmp_path)
    with pytest.raises(InputError, match=r"column '.*both a value and a typed value"):
        rows_of_table(table)


@pytest.mark.parametrize("batch_rows", [1, 3, None])
def test_variants_in_pieces_mean_what_spark_read(batch_rows: int | None, tmp_path: Path) -> None:
    """Field by field; Spark gives whole numbers the smallest type, and writes metadata anew."""
    golden = SUITES_GOLDEN / "delta" / "variant-shredded"
    witness = json.loads((golden / "witness.json").read_text("utf-8"))[-1]
    table = DeltaTable(str(unpack_delta("variant-shredded", tmp_path)))
    found = table.scan(batch_rows=batch_rows, threads=1).to_table().to_pylist()
    parts = re.compile(r"bytes:(b'.*?[^\\\\]'|b'')")
    expected = {}
    for number, text in witness["rows"]:
        told = [ast.literal_eval(one) for one in parts.findall(text)]
        expected[number] = _meaning(decoded(*told)) if told else text
    assert {canonical(row["k"]): _text(row["v"]) for row in found} == expected
    assert sum("a" in str(one) for one in expected.values()) > 2


def _text(variant: dict[str, bytes] | None) -> str:
    return canonical(None) if variant is None else _meaning(decoded(**variant))


def _meaning(value: Any) -> str:
    """What a variant is, whatever the width of its whole numbers."""
    if isinstance(value, dict):
        return str({key: _meaning(one) for key, one in value.items()})
    if isinstance(value, list):
        return str([_meaning(one) for one in value])
    is_whole = isinstance(value, Leaf) and value.kind.startswith("int")
    return str(value.value if is_whole else value)
