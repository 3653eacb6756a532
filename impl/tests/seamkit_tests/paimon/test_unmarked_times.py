"""Numbers in Parquet are times where their column always was one: so Paimon 0.6 writes them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError
from seamkit_tests.samples.paimon_tables import unpack_paimon


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 0.6, whose files have no timestamps of their own."""
    found = unpack_paimon("core-06-types-parquet", tmp_path)
    for file in found.rglob("data-*.parquet"):
        own = pq.read_schema(file)
        assert {own.field(name).type for name in ("ts", "tm", "tz")} == {pa.int64()}
    return found


def _later_schema(table: Path, change: dict[str, str]) -> None:
    """Let there be a second schema; in the first, by which files are, some types are others."""
    first: dict[str, Any] = json.loads((table / "schema/schema-0").read_text(encoding="utf-8"))
    (table / "schema/schema-1").write_text(json.dumps(first | {"id": 1}), encoding="utf-8")
    for field in first["fields"]:
        field["type"] = change.get(field["name"], field["type"])
    (table / "schema/schema-0").write_text(json.dumps(first), encoding="utf-8")


def test_a_later_schema_keeps_them(table: Path) -> None:
    """Columns that stay what they are are read as before, whatever else is changed."""
    columns = ["k", "ts", "tm", "tz"]  # no NaN, which equals nothing
    own = seamkit.open_table(table).to_arrow(columns)
    _later_schema(table, {})
    assert seamkit.open_table(table).to_arrow(columns).sort_by("k").equals(own.sort_by("k"))


@pytest.mark.parametrize(
    "change",
    [{"ts": "BIGINT"}, {"ts": "TIMESTAMP(3)"}, {"tm": "TIMESTAMP(6)"}, {"tz": "TIMESTAMP(6)"}],
)
def test_numbers_of_a_changed_column_are_refused(table: Path, change: dict[str, str]) -> None:
    """A number need not be a time; one of other digits is in another unit."""
    _later_schema(table, change)
    with pytest.raises(InputError, match="is int64, which does not promote"):
        seamkit.open_table(table).to_arrow()
