"""Variants that a file holds in pieces are refused: what is left of the value is not the value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError
from seamkit_tests.samples.delta_tables import edit_actions, rows_of_table, unpack_delta

#: Places of variants in the columns of the table: the column itself, in a struct, in a list.
_COLUMNS = (1, 2, 3)


def _in_pieces(kind: pa.DataType) -> pa.DataType:
    """The type with a typed part beside what is left over, wherever there is a variant in it."""
    if pa.types.is_list(kind):
        return pa.list_(_in_pieces(kind.value_type))
    fields = list(kind)
    if {field.name for field in fields} == {"metadata", "value"}:
        return pa.struct([*fields, pa.field("typed_value", pa.int64())])
    return pa.struct([field.with_type(_in_pieces(field.type)) for field in fields])


@pytest.mark.parametrize("number", _COLUMNS)
def test_a_variant_in_pieces_is_refused(number: int, tmp_path: Path) -> None:
    """As Parquet's specification of shredding lays it out; the log tells the file's new size."""
    table = unpack_delta("variant", tmp_path)
    file = next(table.glob("part-00000-01bd9ec6*.parquet"))
    rows = pq.read_table(file)
    field = rows.schema.field(number)
    other = field.with_type(_in_pieces(field.type))
    pieces = pa.array(rows[number].to_pylist(), other.type)
    pq.write_table(rows.set_column(number, other, pieces), file)

    def resize(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["size"] = file.stat().st_size

    edit_actions(table, 1, resize)
    for checksum in table.glob("_delta_log/*.crc"):
        checksum.unlink()
    with pytest.raises(RefusedError, match=f"{file.name}: column '.*shredded"):
        rows_of_table(table)
