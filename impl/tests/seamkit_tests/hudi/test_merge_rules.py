"""Merge rules of a table: from its properties, and what they make of rows and deletes."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.core.memory import TrackedAllocator
from seamkit.files.storage import Storage
from seamkit.scan.core_merges import KEEP, REMOVE
from seamkit.tables.hudi.config.properties import (
    DeleteMarker,
    FillRule,
    MergeRules,
    load_config,
    read_merge_rules,
)
from seamkit.tables.hudi.log.deletes import ORDERING_WORDS, read_delete_keys
from seamkit.tables.hudi.merge.fold import fill_gaps
from seamkit.tables.hudi.merge.keys import leaf_field
from seamkit.tables.hudi.merge.records import (
    delete_ordering,
    deleted_rows,
    is_default,
    ordering_columns,
)
from seamkit_tests.samples.hudi_files import properties_text
from seamkit_tests.samples.hudi_log_bytes import delete_content

PREFIX = "hoodie.record.merge.property."
MARKED = {
    f"{PREFIX}hoodie.payload.delete.field": "Op",
    f"{PREFIX}hoodie.payload.delete.marker": "D",
}
MODE = "hoodie.table.partial.update.mode"
PAYLOAD = "hoodie.compaction.payload.class"
PACKAGE = "org.apache.hudi.common.model."


@pytest.mark.parametrize(
    ("raw", "version", "rules"),
    [
        ({}, 9, MergeRules("event-time")),
        (MARKED, 9, MergeRules("event-time", DeleteMarker("Op", "D"))),
        ({MODE: "NONE"}, 9, MergeRules("event-time")),
        ({MODE: "IGNORE_DEFAULTS"}, 9, MergeRules("event-time", fill_rule=FillRule("defaults"))),
        ({MODE: "IGNORE_DEFAULTS"}, 8, MergeRules("event-time")),
        ({MODE: "FILL_UNAVAILABLE", f"{PREFIX}hoodie.write.partial.update.unavailable.value": "?"},
         9, MergeRules("event-time", fill_rule=FillRule("marked", "?"))),
    ],
)  # fmt: skip
def test_rules_of_properties(raw: dict[str, str], version: int, rules: MergeRules) -> None:
    """Version 9 says what payload classes did before; older versions do not know the modes."""
    assert read_merge_rules(raw, version, "event-time", "x") == rules


@pytest.mark.parametrize(
    ("payload", "rules"),
    [
        ("AWSDmsAvroPayload", MergeRules("commit-time", DeleteMarker("Op", "D"))),
        ("OverwriteNonDefaultsWithLatestAvroPayload",
         MergeRules("commit-time", fill_rule=FillRule("defaults"))),
        ("PartialUpdateAvroPayload",
         MergeRules("event-time", fill_rule=FillRule("defaults"), runs_class=True)),
        ("debezium.PostgresDebeziumAvroPayload", MergeRules("custom")),
    ],
)  # fmt: skip
def test_rules_of_payload_classes(payload: str, rules: MergeRules) -> None:
    """Classes that come with Hudi, in tables whose version runs them; others stay custom."""
    raw = {PAYLOAD: PACKAGE + payload}
    assert read_merge_rules(raw, 6, "custom", "x") == rules
    assert read_merge_rules(raw, 9, "custom", "x").mode == "custom"
    own = {**raw, "hoodie.record.merge.strategy.id": "11111111-0000-0000-0000-000000000000"}
    assert read_merge_rules(own, 8, "custom", "x").mode == "custom"
    assert read_merge_rules({PAYLOAD: f"mine.{payload}"}, 6, "custom", "x").mode == "custom"


@pytest.mark.parametrize(
    ("payload", "mode"),
    [
        (f"{PACKAGE}DefaultHoodieRecordPayload", "event-time"),
        ("com.uber.hoodie.common.model.OverwriteWithLatestAvroPayload", "commit-time"),
        ("mine.DefaultHoodieRecordPayload", "custom"),
    ],
)
def test_a_class_is_known_by_its_whole_name(payload: str, mode: str, tmp_path: Path) -> None:
    """Old tables name Hudi's own by where they once were; one of the user's may be called alike."""
    (tmp_path / ".hoodie").mkdir()
    text = properties_text(6, **{PAYLOAD: payload, "hoodie.table.precombine.field": "ts"})
    (tmp_path / ".hoodie" / "hoodie.properties").write_text(text)
    assert load_config(Storage(str(tmp_path))).merge.mode == mode


def test_half_a_marker_and_unknown_modes() -> None:
    """What cannot be understood is named."""
    with pytest.raises(InputError, match="one is missing"):
        read_merge_rules({f"{PREFIX}hoodie.payload.delete.field": "Op"}, 9, "event-time", "x")
    with pytest.raises(RefusedError, match="FUTURE is not known"):
        read_merge_rules({MODE: "FUTURE"}, 9, "event-time", "x")


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        (pa.array(["D", "d", None, "I"]), "D", [True, False, False, False]),
        (pa.array([1, None, 0], pa.int32()), "1", [True, False, False]),
        (pa.array([True, None, False]), "true", [True, False, False]),
        (pa.array([dt.date(1970, 1, 3)]), "2", [True]),
    ],
)
def test_a_marker_is_compared_as_text(column: pa.Array, text: str, expected: list[bool]) -> None:
    """Java's `toString` of the value that Spark holds: of a date, its number of days."""
    found = deleted_rows(pa.record_batch({"m": column}), DeleteMarker("m", text), "x")
    assert found is not None
    assert found.tolist() == expected


def test_every_mark_deletes() -> None:
    """`_hoodie_is_deleted`, the operations D and -U, the table's marker: each one is enough."""
    batch = pa.record_batch(
        {
            "_hoodie_is_deleted": [True, False, None, False, False],
            "_hoodie_operation": ["I", "D", "-U", "U", None],
            "m": ["", "", "", "gone", ""],
        }
    )
    found = deleted_rows(batch, DeleteMarker("m", "gone"), "x")
    assert found is not None
    assert found.tolist() == [True, True, True, True, False]
    with pytest.raises(RefusedError, match="the column 'm'"):
        deleted_rows(pa.record_batch({"m": [1.5]}), DeleteMarker("m", "1.5"), "x")


@pytest.mark.parametrize("values", [[1, 0], ["true", None], [None, None]])
def test_a_mark_of_deletes_that_is_no_boolean_is_refused(values: list[Any]) -> None:
    """`_hoodie_is_deleted` of another type is refused by name, for integers, texts and nulls."""
    with pytest.raises(RefusedError, match="'_hoodie_is_deleted', and its type"):
        deleted_rows(pa.record_batch({"_hoodie_is_deleted": values}), None, "x")


@pytest.mark.parametrize("kind", [pa.int32(), pa.date32()], ids=str)
def test_java_integers(kind: pa.DataType) -> None:
    """Spark holds dates as `Integer` too: a null is 0, and a delete with 0 has no order."""
    column = pa.array([None, 0, 1], pa.int32()).cast(kind)
    ordering = ordering_columns(pa.record_batch({"o": column}), ["o"])
    assert ordering.column(0).cast(pa.int32()).to_pylist() == [0, 0, 1]
    assert is_default(ordering).tolist() == [True, True, False]


def test_other_types_have_no_default_but_null() -> None:
    """The 0 of a bigint is a value like others, and several columns have no default."""
    ordering = ordering_columns(pa.record_batch({"o": pa.array([None, 0, None])}), ["o"])
    assert ordering.column(0).null_count == 2
    assert is_default(ordering).tolist() == [True, False, True]
    two = pa.record_batch({"o": pa.array([None, 0], pa.int32()), "p": pa.array([None, 0])})
    assert is_default(ordering_columns(two, ["o", "p"])).tolist() == [False, False]


def test_ordering_fields_inside_structs() -> None:
    """`m.o` is a field of the column m, unless a column has that very name; a null stays one."""
    kind = pa.struct([("o", pa.struct([("p", pa.int64())])), ("x", pa.int32())])
    schema = pa.schema([("m", kind), ("a.b", pa.int32())])
    assert leaf_field(schema, "m.o.p") == pa.field("m.o.p", pa.int64())
    assert leaf_field(schema, "a.b") == pa.field("a.b", pa.int32())
    for missing in ("m.q", "m.x.y", "n", "n.o"):
        assert leaf_field(schema, missing) is None
    rows = [{"o": {"p": 5}, "x": None}, {"o": None, "x": 1}, None]
    batch = pa.record_batch({"m": pa.array(rows, kind), "a.b": pa.array([1, 2, 3], pa.int32())})
    columns = ordering_columns(batch, ["m.o.p", "m.x", "a.b"])
    assert columns.to_pydict() == {"m.o.p": [5, None, None], "m.x": [0, 1, 0], "a.b": [1, 2, 3]}


def orders(kind: pa.DataType, *values: Any) -> tuple[list[Any], list[int]]:
    """What becomes of these ordering values (wrapper and value) where the column has this type."""
    records = [(str(i), None, value) for i, value in enumerate(values)]
    deletes = read_delete_keys(memoryview(delete_content(records)), source="a.log")
    columns, unordered = delete_ordering(deletes, [pa.field("o", kind)], "a.log")
    return columns.column(0).to_pylist(), unordered.tolist()


def wrapped(name: str, value: Any) -> tuple[str, dict[str, Any]]:
    """A value in the wrapper of its type."""
    return f"{name}Wrapper", {"value": value}


MIDNIGHT = dt.datetime(2020, 1, 3)
FITTING: list[tuple[pa.DataType, tuple[str, Any], Any]] = [
    (pa.int32(), ("Int", -7), -7),
    (pa.int64(), ("Long", 0), 0),
    (pa.float32(), ("Float", 0.5), 0.5),
    (pa.float64(), ("Double", -0.0), -0.0),
    (pa.string(), ("String", "\U0001f600"), "\U0001f600"),
    (pa.bool_(), ("Boolean", False), False),
    (pa.date32(), ("Date", 3), dt.date(1970, 1, 4)),
    (pa.decimal128(10, 2), ("Decimal", Decimal("-3.25")), Decimal("-3.25")),
    (pa.timestamp("us"), ("Long", 1578009600000000), MIDNIGHT),
    (pa.timestamp("us"), ("Timestamp", 1578009600000000), MIDNIGHT),
    (pa.timestamp("ms"), ("Long", 1578009600000), MIDNIGHT),
    (pa.timestamp("ms"), ("Long", 1578009600000000), MIDNIGHT),
    (pa.time64("us"), ("Long", 5), dt.time(0, 0, 0, 5)),
]


@pytest.mark.parametrize(("kind", "given_", "expected"), FITTING)
def test_ordering_values_of_deletes(
    kind: pa.DataType, given_: tuple[str, Any], expected: Any
) -> None:
    """The types in which Hudi 1.2.0 writes an ordering value for a column: points in time as long.

    A timestamp in milliseconds may come in either unit (OrderingValueEngineTypeConverter).
    """
    assert orders(kind, wrapped(*given_), None) == ([expected, None], [0, 1])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), ("Int", 5)),
        (pa.int32(), ("Long", 5)),
        (pa.int32(), ("Int", 0)),
        (pa.string(), ("Int", 0)),
        (pa.float64(), ("Float", 0.5)),
        (pa.date32(), ("Int", 7)),
    ],
)
def test_a_value_of_another_type_is_none(kind: pa.DataType, value: tuple[str, Any]) -> None:
    """Java's classes differ, so the delete wins as one without a value does; so does integer 0."""
    assert orders(kind, wrapped(*value)) == ([None], [1])


def test_what_would_change_the_order_or_has_none_is_refused() -> None:
    """A decimal that must be rounded; bytes, which Hudi's Spark reader cannot compare."""
    with pytest.raises(RefusedError, match="the ordering column 'o' is decimal"):
        orders(pa.decimal128(10, 2), wrapped("Decimal", Decimal("0.001")))
    with pytest.raises(RefusedError, match="cannot be compared"):
        orders(pa.binary(), wrapped("Long", 5))


def several(*items: Any) -> tuple[str, dict[str, Any]]:
    """A list of ordering values."""
    return "ArrayWrapper", {"wrappedValues": list(items)}


def test_several_ordering_values() -> None:
    """One for each column, each of its type; one of another type, and the delete has no order."""
    values = [
        several(wrapped("Long", 5), wrapped("String", "b")),
        several(None, wrapped("String", "")),
        several(wrapped("Int", 5), wrapped("String", "b")),
        wrapped("Int", 0),
        None,
    ]
    records = [(str(i), None, value) for i, value in enumerate(values)]
    deletes = read_delete_keys(memoryview(delete_content(records)), source="a.log")
    fields = [pa.field("n", pa.int64()), pa.field("s", pa.string())]
    columns, unordered = delete_ordering(deletes, fields, "a.log")
    assert columns.to_pydict() == {
        "n": [5, None, None, None, None],
        "s": ["b", "", None, None, None],
    }
    assert unordered.tolist() == [0, 0, 1, 1, 1]
    with pytest.raises(InputError, match="a delete has 2 ordering values"):
        delete_ordering(deletes, [*fields, pa.field("t", pa.int64())], "a.log")
    assert "array" in ORDERING_WORDS


def test_partial_blocks_leave_gaps_where_they_have_no_column() -> None:
    """A null of a column that a block has is a value; the lowest version's gap is the base's."""
    data = pa.record_batch({"a": [1, None, None, None], "b": [None, 20, 30, 40]})
    held = [np.array([True, False, True, False]), np.array([False, True, True, True])]
    filled = fill_gaps(data, held, np.array([1, -1, 0, 0], np.int32), None)
    # rows 2 and 3 lie on row 0, which lies on row 1
    assert filled.data.to_pydict() == {"a": [1, None, None, 1], "b": [20, 20, 30, 40]}
    base = pa.record_batch({"a": [7, 7, 7, 7], "b": [8, 8, 8, 8]})
    sources = np.array([0, 1, KEEP, REMOVE], np.int32)
    with TrackedAllocator() as allocator:
        rows = filled.assemble(base, sources, np.full(4, -1, np.int32), allocator).to_pydict()
    assert rows == {"a": [1, 7, 7], "b": [20, 20, 8]}


def test_markers_leave_gaps_in_texts_alone() -> None:
    """FILL_UNAVAILABLE: a text that equals the marker; bytes and nulls are values."""
    rule = FillRule("marked", "?")
    found = rule.present(pa.array(["?", "x", None]))
    assert found is not None
    assert found.tolist() == [False, True, True]
    assert rule.present(pa.array([b"?"])) is None
    assert FillRule("marked").present(pa.array(["?"])) is None
