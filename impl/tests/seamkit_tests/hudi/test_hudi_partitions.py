"""Partition columns: values from paths, types, and what a filter rules out before a file is opened.

What Spark with Hudi 1.2.0 answers for tables of these forms is the rule.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.scan.pruning import units_that_may_match
from seamkit.scan.units import ReadUnit
from seamkit.tables.hudi.config.properties import TableConfig, load_config
from seamkit.tables.hudi.listing.files import PartitionColumns, partition_schema
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.samples.damage import replace_in
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_files import properties_text
from seamkit_tests.samples.hudi_scans import scan_on

_FIELDS = {
    "s": pa.string(),
    "i": pa.int32(),
    "l": pa.int64(),
    "d": pa.date32(),
    "b": pa.bool_(),
    "n": pa.decimal128(8, 2),
    "t": pa.timestamp("us"),
}
_SCHEMA = pa.schema([pa.field("id", pa.int32()), *(pa.field(n, t) for n, t in _FIELDS.items())])


def _config(tmp_path: Any, fields: str, **properties: str) -> TableConfig:
    lines = {key.replace("__", "."): value for key, value in properties.items()}
    text = properties_text(9, **{"hoodie.table.partition.fields": fields, **lines})
    (tmp_path / ".hoodie").mkdir(exist_ok=True)
    (tmp_path / ".hoodie" / "hoodie.properties").write_text(text)
    return load_config(Storage(str(tmp_path)))


def _values(tmp_path: Any, fields: str, partition: str, **properties: str) -> dict[str, Any]:
    columns = PartitionColumns(_config(tmp_path, fields, **properties), _SCHEMA)
    return {name: value.as_py() for name, value in columns.values(partition).items()}


DROPS = {"hoodie__datasource__write__drop__partition__columns": "true"}
SLASHES = {"hoodie__datasource__write__slash__separated__date__partitioning": "true"}
ORDERED = {"hoodie__table__ordering__fields": "i"}


@pytest.mark.parametrize(
    ("fields", "partition", "expected", "properties"),
    [
        # Hive style or plain, of several levels, with %XX undone and the default partition null.
        ("s", "x", {"s": "x"}, {}),
        ("s", "s=x", {"s": "x"}, {}),
        ("s", "s=x y", {"s": "x y"}, {}),
        ("s", "s=b%2Fc", {"s": "b/c"}, {}),
        ("s", "s=ü%3D1", {"s": "ü=1"}, {}),
        ("s", "%2541", {"s": "%41"}, {}),
        ("s", "s=__HIVE_DEFAULT_PARTITION__", {"s": None}, {}),
        ("i", "__HIVE_DEFAULT_PARTITION__", {"i": None}, {}),
        ("s", "default", {"s": "default"}, {}),
        ("i,d", "1/2024-01-02", {"i": 1, "d": date(2024, 1, 2)}, {}),
        ("i,d", "i=-1/d=2024-01-02", {"i": -1, "d": date(2024, 1, 2)}, {}),
        ("b,l,n", "b=false/l=10000000001/n=0.25",
         {"b": False, "l": 10000000001, "n": Decimal("0.25")}, {}),
        ("s", "2024/01/02", {"s": "2024/01/02"}, {}),
        ("s", "s=2024/01/02", {"s": "2024/01/02"}, {}),
        ("", "", {}, {}),
        # A part that is none of the column's type, or parts that fit no column, say nothing.
        *((fields, partition, {}, {}) for fields, partition in (
            ("i", "x"), ("i", "99999999999"), ("d", "2024/01/02"), ("s,i", "x/1/2"),
            ("s,i", "i=1/s=x"), ("d", "20240102"), ("d", "d=2024-W01-2"), ("d", "2024-1-2"),
            ("s,i", "s=x/y/i=1"), ("t", "2024-01-02 00%3A00%3A00"), ("n", "0.255"), ("b", "1"),
        )),
        # Nor does a path that a key generator formatted from a time, or may have.
        ("l", "1970-04-26", {}, {"hoodie__table__keygenerator__type": "TIMESTAMP"}),
        ("l", "l=1970", {},
         {"hoodie__table__keygenerator__class": "x.TimestampBasedKeyGenerator"}),
        ("l:timestamp", "1970", {}, {"hoodie__table__keygenerator__type": "CUSTOM"}),
        ("s,l", "s=a/l=19700426", {},
         {"hoodie__table__keygenerator__class": "x.CustomKeyGenerator"}),
        # Dates in three folders, slashes behind names, and columns by which versions are ordered.
        ("s", "2024/01/02", {"s": "2024-01-02"}, SLASHES),
        ("s", "s=2024/01/02", {"s": "2024/01/02"}, SLASHES),
        ("s", "__HIVE_DEFAULT_PARTITION__", {"s": None}, SLASHES),
        ("s", "2024/01/02", {"s": "2024-01-02"}, SLASHES | DROPS),
        ("s,i", "s=x/y/i=1", {"s": "x/y", "i": 1}, DROPS),
        ("s,i", "s=x/%41/i=__HIVE_DEFAULT_PARTITION__", {"s": "x/%41", "i": None}, DROPS),
        ("s,i", "s=x/i=1", {"s": "x"}, ORDERED),
        ("s,i", "s=x/i=1", {"s": "x", "i": 1}, ORDERED | DROPS),
    ],
)  # fmt: skip
def test_values_come_from_the_path(
    tmp_path: Any, fields: str, partition: str, expected: dict[str, Any], properties: dict[str, str]
) -> None:
    """As far as it tells them, which properties may change; the rest is left to the rows."""
    assert _values(tmp_path, fields, partition, **properties) == expected


@pytest.mark.parametrize(
    ("fields", "partition"),
    [
        ("t", "t=2024-01-02 00%3A00%3A00"),
        ("i", "a/b"),
        ("s,i", "x/y/1"),
        ("s,i", "i=1/s=x/y"),
        ("d", "20240102"),
    ],
)
def test_a_path_that_does_not_tell_a_dropped_column_is_refused(
    tmp_path: Any, fields: str, partition: str
) -> None:
    """No file has it, so that rows would say null."""
    with pytest.raises(InputError, match="does not tell the value of the column"):
        _values(tmp_path, fields, partition, **DROPS)


@pytest.mark.parametrize(
    ("version", "fields", "partition", "expected"),
    [
        (4, "s", "default", {}),
        (4, "s", "s=default", {}),
        (4, "s,i", "s=default/i=1", {"i": 1}),
        (4, "s", "defaults", {"s": "defaults"}),
        (3, "s", "default", {}),
        (5, "s", "default", {"s": "default"}),
    ],
)
def test_no_value_was_another_word_up_to_version_4(
    tmp_path: Path, version: int, fields: str, partition: str, expected: dict[str, Any]
) -> None:
    """Hudi before 0.12 wrote `default`, which may be a value, too: the rows tell (FourToFive)."""
    config = replace(_config(tmp_path, fields), version=version)
    columns = PartitionColumns(config, _SCHEMA)
    assert {name: value.as_py() for name, value in columns.values(partition).items()} == expected
    if fields == "s" and not expected:
        dropped = replace(config, drops_partition_columns=True)
        with pytest.raises(InputError, match="does not tell the value of the column 's'"):
            PartitionColumns(dropped, _SCHEMA).values(partition)


def test_a_column_that_no_schema_has_may_have_been_dropped(tmp_path: Any) -> None:
    """The property tells; where it is missing, as in tables from before 0.11, none was.

    But for bootstrapped tables, of which folders alone may tell the column; Hudi does not show it.
    """
    config = _config(tmp_path, "s")
    raw = {name: text for name, text in config.raw.items() if "drop.partition" not in name}
    schema = pa.schema([_SCHEMA.field("id")])
    assert partition_schema(schema, config) == schema
    with pytest.raises(InputError, match="columns is missing, and the schema has no 's'"):
        partition_schema(schema, replace(config, raw=raw))
    assert partition_schema(_SCHEMA, replace(config, raw=raw)) == _SCHEMA
    bootstrapped = {**raw, "hoodie.bootstrap.base.path": "/old"}
    assert partition_schema(schema, replace(config, raw=bootstrapped)) == schema


@pytest.mark.parametrize(
    ("fields", "properties", "columns", "expected"),
    [
        ("s", {}, ["id", "s"], ["int32", "string"]),
        ("i", {"hoodie__datasource__write__drop__partition__columns": "true"}, ["id"],
         ["int32", "string"]),
        ("i", {"hoodie__datasource__write__drop__partition__columns": "true"}, ["i", "id"],
         ["int32", "int32"]),
        ("l", {"hoodie__table__keygenerator__type": "TIMESTAMP"}, ["l", "id"],
         ["string", "int32"]),
        ("t", {"hoodie__table__keygenerator__type": "TIMESTAMP"}, ["t", "id"],
         ["timestamp[us]", "int32"]),
    ],
)  # fmt: skip
def test_types_of_partition_columns(
    tmp_path: Any,
    fields: str,
    properties: dict[str, str],
    columns: Sequence[str],
    expected: Sequence[str],
) -> None:
    """Dropped columns no schema tells come last as text, those of times are text or timestamps."""
    schema = pa.schema([_SCHEMA.field(name) for name in columns])
    shown = partition_schema(schema, _config(tmp_path, fields, **properties))
    assert [str(field.type) for field in shown] == list(expected)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (pc.field("s") == "a", {"s=a/i=1", "s=a/i=2"}),
        ((pc.field("i") > 1) & (pc.field("id") == 7),
         {"s=a/i=2", "s=b/i=2", "s=__HIVE_DEFAULT_PARTITION__/i=3"}),
        (pc.field("s").is_null(), {"s=__HIVE_DEFAULT_PARTITION__/i=3"}),
        (pc.field("s") != "a", {"s=b/i=2"}),
        (pc.field("s").isin(["b", "c"]) | (pc.field("i") == 3),
         {"s=b/i=2", "s=__HIVE_DEFAULT_PARTITION__/i=3"}),
        (pc.field("id") == 7,
         {"s=a/i=1", "s=a/i=2", "s=b/i=2", "s=__HIVE_DEFAULT_PARTITION__/i=3"}),
    ],
)  # fmt: skip
def test_filters_rule_partitions_out(
    tmp_path: Any, condition: pc.Expression, expected: set[str]
) -> None:
    """A partition stays unless its path proves the filter false or null for all its rows."""
    columns = PartitionColumns(_config(tmp_path, "s,i"), _SCHEMA)
    partitions = ["s=a/i=1", "s=a/i=2", "s=b/i=2", "s=__HIVE_DEFAULT_PARTITION__/i=3"]
    units = [ReadUnit(path, [], columns.values(path)) for path in partitions]
    kept = units_that_may_match(units, condition, _SCHEMA)
    assert {unit.name for unit, may in zip(units, kept, strict=True) if may} == expected


@pytest.mark.parametrize("path", ["auto", "merge", "connector"])
def test_no_file_of_a_ruled_out_partition_is_opened(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Base files and logs of other partitions stay closed, and the plan says why."""
    table = HudiTable(str(unpack_table("mor-v9-partitioned", tmp_path)))
    everything = scan_on(table, path, ["k", "region"]).to_table()
    scan = scan_on(table, path, ["k"], filter=pc.field("region") == "ASIA")
    opened = calls_of(monkeypatch, Storage, "open", "map")

    found = scan.to_table()

    expected = everything.filter(pc.field("region") == "ASIA").select(["k"])
    assert sorted(found["k"].to_pylist()) == sorted(expected["k"].to_pylist())
    assert {call.args[1].split("/")[0] for call in opened} == {"region=ASIA"}
    assert scan.explain().count("its partition does not meet the filter") == 2


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_dropped_column_of_another_name_is_refused(version: str, tmp_path: Path) -> None:
    """No file has its values, so folders that name another column are all that could tell."""
    table = unpack_table(f"partitions-dropped/{version}", tmp_path)
    replace_in(
        table / ".hoodie/hoodie.properties", "table.partition.fields=p", "table.partition.fields=x"
    )
    with pytest.raises(InputError, match="has the column 'p' in its path, and 'x' is the table's"):
        HudiTable(str(table)).scan().to_table()
