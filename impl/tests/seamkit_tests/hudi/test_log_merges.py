"""Slices made byte by byte, merged by both paths: rules that no writer at hand can be made to show.

Rows are `key: (value, number, order)`; what comes out is worked out by hand from docs/merge.md.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import RefusedError
from seamkit.core.memory import TrackedAllocator
from seamkit.files.storage import Storage
from seamkit.scan.units import DataFile, ReadContext, ReadUnit
from seamkit.tables.hudi.base_files import open_slice_base
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.listing.files import BaseFile, FileSlice, LogFile
from seamkit.tables.hudi.merge import fold
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit.tables.hudi.merge.keys import OPERATION, LogSource
from seamkit.tables.hudi.timeline.timeline import load_timeline
from seamkit.tables.hudi.timeline.window import NOW
from seamkit_tests.hudi.test_positions import array, bitmap_32, bitmap_64
from seamkit_tests.samples.avro_schemas import logical, optional, record
from seamkit_tests.samples.calls import calls_of
from seamkit_tests.samples.hudi_files import properties_text
from seamkit_tests.samples.hudi_log_bytes import (
    INSTANT,
    SCHEMA,
    avro_content,
    block,
    delete_content,
    java_delete_content,
)
from seamkit_tests.samples.hudi_scans import slice_rows

KEY = "_hoodie_record_key"
PARTIAL, POSITIONS, OF_BASE = 7, 5, 8
BASE_INSTANT = "20260101000000000"
AVRO = {"k": "string", "v": "string", "n": "int", KEY: "string", OPERATION: "string"}
TYPES = {"long": pa.int64(), "int": pa.int32(), "string": pa.string(), "double": pa.float64()}
Row = tuple[Any, ...]


@dataclass
class Log:
    """A log in the making; every block has an instant of its own.

    Attributes:
        order: Avro type of the ordering column.
        data: the bytes so far.
    """

    order: str = "long"
    data: bytes = b""
    blocks: int = field(default=0)

    def _add(self, kind: str, content: bytes, header: dict[int, str], **more: Any) -> Log:
        self.blocks += 1
        instant = f"202601020000000{self.blocks:02d}"
        self.data += block(kind, {INSTANT: instant, **header}, content, **more)
        return self

    def rows(
        self,
        columns: Sequence[str],
        *rows: Row,
        partial: bool = False,
        at: Sequence[int] | None = None,
        of_base: str = BASE_INSTANT,
    ) -> Log:
        """A data block of these columns; `at` are the rows' positions in a base file."""
        names = [KEY, *columns]
        schema = record("r", **{name: optional(AVRO.get(name, self.order)) for name in names})
        content = avro_content(schema, [dict(zip(names, row, strict=True)) for row in rows])
        header = {SCHEMA: json.dumps(schema), **_positions(at, of_base)}
        if partial:
            header[PARTIAL] = "true"
        return self._add("avro", content, header)

    def deletes(
        self, *records: tuple[str, Any], version: int = 3, at: Sequence[int] | None = None
    ) -> Log:
        """A delete block of keys and ordering values; `at` are positions in the base file."""
        content = delete_content([(key, "", order) for key, order in records], version=version)
        return self._add("delete", content, _positions(at, BASE_INSTANT))

    def java_deletes(self, *records: tuple[str, Any], version: int) -> Log:
        """A delete block of writers before Hudi 0.14: keys, and words and ordering values."""
        listed = [(key, "", order) for key, order in records]
        return self._add("delete", java_delete_content(listed, version=version), {})

    def other(self, kind: str) -> Log:
        """A block of a kind that has no place in an ordinary log."""
        return self._add(kind, b"", {SCHEMA: '"int"'})


def _positions(at: Sequence[int] | None, of_base: str) -> dict[int, str]:
    """Headers of a block whose records lie at rows of a base file."""
    if at is None:
        return {}
    bits = bitmap_64([(0, bitmap_32([(0, len(at), array(list(at)))]))])
    return {POSITIONS: base64.b64encode(bits).decode(), OF_BASE: of_base}


def merged(
    folder: Path,
    base: Sequence[Row],
    log: Log,
    *,
    path: str = "merge",
    properties: dict[str, str] | None = None,
    mode: str = "EVENT_TIME_ORDERING",
    version: int = 9,
    kind: pa.DataType | None = None,
    further: pa.Field | None = None,
) -> list[Row]:
    """The rows of a slice, without their keys' text, sorted; `kind` is of the ordering column.

    `further` is a column of the table that base rows lack, and that is not handed out.

    A base row may have its key's text in front, as those of the log have.
    """
    table = folder / "table"
    (table / ".hoodie" / "timeline" / "history").mkdir(parents=True)
    instant = f"timeline/{BASE_INSTANT}_{BASE_INSTANT}" if version >= 8 else BASE_INSTANT
    (table / ".hoodie" / f"{instant}.commit").touch()
    settings = {
        "hoodie.table.recordkey.fields": "k",
        "hoodie.table.ordering.fields": "o",
        "hoodie.record.merge.mode": mode,
        "hoodie.table.initial.version": "6",  # so that one file may have blocks of several writes
        **(properties or {}),
    }
    (table / ".hoodie" / "hoodie.properties").write_text(properties_text(version, **settings))
    kinds = {KEY: pa.string(), "k": pa.string(), "v": pa.string(), "n": pa.int32()}
    schema = pa.schema({**kinds, "o": kind or TYPES[log.order]})
    texts = [row if len(row) > len(ALL) else (row[0], *row) for row in base]
    rows = [dict(zip(schema.names, row, strict=True)) for row in texts]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), table / "base.parquet")
    (table / "a.log").write_bytes(log.data)
    storage = Storage(str(table))
    config = load_config(storage)
    base_file = BaseFile("base.parquet", "", "g", "0-0-0", BASE_INSTANT, 1)
    log_file = LogFile("a.log", "", "g", BASE_INSTANT, 1, None, len(log.data))
    slice_ = FileSlice("", "g", BASE_INSTANT, base_file, [log_file])
    timeline, by_position = load_timeline(storage, config), path == "positions"
    known = schema if further is None else schema.append(further)
    source = LogSource(storage, config, timeline, known, NOW, True, by_position)
    opened = partial(open_slice_base, storage, base_file)
    unit = ReadUnit("g", [DataFile("g", 1, opened)], changes=SliceChanges(slice_, source))
    with TrackedAllocator() as allocator:
        context = ReadContext(allocator, [])
        found = [
            tuple(row.values())
            for batch in slice_rows(unit, path, source, ["k", "v", "n", "o"], 3, context)
            for row in batch.to_pylist()
        ]
    return sorted(found, key=repr)


ALL = ("k", "v", "n", "o")
PATHS = pytest.mark.parametrize("path", ["merge", "connector"])


def whole(key: str, value: str | None, number: int | None, order: Any) -> Row:
    """A row of all columns."""
    return (key, key, value, number, order)


PREFIX = "hoodie.record.merge.property."
MARKED = {
    "hoodie.table.partial.update.mode": "FILL_UNAVAILABLE",
    f"{PREFIX}hoodie.write.partial.update.unavailable.value": "?",
}
X5, Y5 = ("a", "x", 1, 5), ("b", "y", 1, 5)
#: A log over base rows, and what both leave.
MERGES: dict[str, tuple[Log, list[Row], list[Row], dict[str, Any]]] = {
    "case 30: a partial block leaves what it lacks as it is": (
        Log().rows(("n", "o"), ("a", 2, 6), partial=True),
        [X5], [("a", "x", 2, 6)], {},
    ),
    "case 30: a whole block has nulls in what it lacks": (
        Log().rows(("k", "n", "o"), ("a", "a", 2, 6)),
        [X5], [("a", None, 2, 6)], {},
    ),
    "an older partial update fills what newer ones lack, and loses where they have a value": (
        Log()
        .rows(("n", "o"), ("a", 70, 7), ("b", 60, 6), partial=True)
        .rows(("v", "n", "o"), ("a", "six", 60, 6), ("b", None, 80, 8), partial=True)
        .rows(("v", "o"), ("a", "four", 4), ("b", "old", 3), ("c", "low", 1), partial=True),
        [X5, Y5, ("c", "z", 1, 5)],
        [("a", "six", 70, 7), ("b", None, 80, 8), ("c", "z", 1, 5)], {},
    ),
    "a delete hides what lies below it: what comes after is filled by the base alone": (
        Log()
        .rows(("n", "o"), ("a", 60, 6), ("b", 60, 6), partial=True)
        .deletes(("a", None), ("b", ("LongWrapper", {"value": 5})))
        .rows(("v", "o"), ("a", "new", 7), ("b", "new", 7), partial=True),
        [X5, Y5], [("a", "new", 1, 7), ("b", "new", 60, 7)], {},
    ),
    "in commit time the later block lies on top whatever its order": (
        Log()
        .rows(("v", "o"), ("a", "one", 9), partial=True)
        .rows(("n", "o"), ("a", 2, 1), partial=True),
        [X5], [("a", "one", 2, 1)], {"mode": "COMMIT_TIME_ORDERING"},
    ),
    "case 11: D and -U delete, +U and I are rows; the column is a meta column of the log": (
        Log()
        .rows((*ALL, OPERATION), (*whole("a", "", 0, 6), "-U"), (*whole("b", "", 0, 6), "D"))
        .rows((*ALL, OPERATION), (*whole("a", "z", 1, 7), "U"), (*whole("c", "n", 1, 1), "I")),
        [X5, Y5], [("a", "z", 1, 7), ("c", "n", 1, 1)], {},
    ),
    "a key generator of the user's may make one key of different values: the text tells": (
        Log().rows(ALL, ("a", "a", "new", 2, 6), ("c", "c", "c", 3, 1)),
        [("a", "A", "x", 1, 5), ("b", "B", "y", 1, 5)],
        [("B", "y", 1, 5), ("a", "new", 2, 6), ("c", "c", 3, 1)],
        {"properties": {"hoodie.table.keygenerator.class": "com.acme.SmallLetters"}},
    ),
    "writers of a complex key of one field named it and did not: two records of one value": (
        Log().rows(ALL, whole("a", "new", 2, 6), ("k:b", "b", "named", 2, 6)),
        [("k:a", "a", "x", 1, 5), X5, Y5],
        [("a", "new", 2, 6), ("a", "x", 1, 5), ("b", "named", 2, 6), Y5],
        {"properties": {"hoodie.table.keygenerator.type": "COMPLEX"}},
    ),
    "Hudi takes a null for Integer 0, which an `int` column can compare": (
        Log("int").rows(ALL, whole("a", "less", 2, -1), whole("b", "more", 2, 1)),
        [("a", "x", 1, None), ("b", "y", 1, None)],
        [("a", "x", 1, None), ("b", "more", 2, 1)], {},
    ),
    "FILL_UNAVAILABLE: a marker takes the older value, a null does not; the base fills as well": (
        Log()
        .rows(ALL, whole("a", "?", None, 6), whole("b", "low", 9, 4))
        .rows(ALL, whole("a", "?", 3, 7), whole("c", "?", 1, 1)),
        [X5, ("b", "?", 1, 5)],
        [("a", "x", 3, 7), ("b", "low", 1, 5), ("c", "?", 1, 1)], {"properties": MARKED},
    ),
    "IGNORE_DEFAULTS: before a partial update whole rows fill each other, not from a base": (
        Log()
        .rows(ALL, whole("a", "one", None, 6), whole("b", None, 7, 6))
        .rows(ALL, whole("a", None, 2, 7), whole("b", None, 8, 7), whole("d", "old", 1, 1))
        .rows(("n", "o"), ("c", 9, 9), ("d", 0, 0), partial=True)
        .rows(ALL, whole("e", "one", 1, 1), whole("a", None, 5, 1))
        .rows(ALL, whole("e", None, 2, 2)),
        [X5, Y5, ("c", "z", 1, 5)],
        [("a", "one", 2, 7), ("b", None, 8, 7), ("c", "z", 9, 9), ("d", "old", 1, 1),
         ("e", None, 2, 2)],
        {"properties": {"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}},
    ),
    "FILL_UNAVAILABLE: the same of marked texts, whichever of both lies on top": (
        Log()
        .rows(ALL, whole("a", "?", 2, 7), whole("b", "?", 2, 7))
        .rows(ALL, whole("a", "one", 3, 6))
        .rows(("v", "o"), ("b", "less", 6), partial=True),
        [X5, Y5], [("a", "one", 2, 7), ("b", "?", 2, 7)], {"properties": MARKED},
    ),
    "a MERGE INTO with two matched clauses leaves the key out: its text counts": (
        Log().rows(ALL, ("b", None, None, 2, 7)),
        [X5, Y5], [X5, (None, None, 2, 7)], {},
    ),
    "what comes over such a record has its key again": (
        Log().rows(ALL, ("b", None, None, 2, 7)).rows(ALL, whole("b", "again", 3, 8)),
        [X5, Y5], [X5, ("b", "again", 3, 8)], {},
    ),
    "it may leave out a part of the key": (
        Log().rows(ALL, ("b", None, "new", 1, 7)),
        [X5, Y5], [X5, (None, "new", 1, 7)],
        {"properties": {"hoodie.table.recordkey.fields": "k,n"}},
    ),
    "a compaction has put such a record into the base": (
        Log().rows(ALL, whole("b", "again", 3, 8), whole("a", "old", 3, 1)),
        [X5, ("b", None, None, 2, 7)], [X5, ("b", "again", 3, 8)], {},
    ),
}  # fmt: skip


@PATHS
@pytest.mark.parametrize("rule", MERGES)
def test_a_log_lies_over_its_base(tmp_path: Path, path: str, rule: str) -> None:
    """By the rule of docs/merge.md that each example is called by."""
    log, base, expected, how = MERGES[rule]
    assert merged(tmp_path, base, log, path=path, **how) == expected


def of(order: str, value: Any) -> tuple[str, dict[str, Any]]:
    """An ordering value of a delete."""
    return f"{order.title()}Wrapper", {"value": value}


DELETES: list[tuple[str, str, Any, Any, Any, bool]] = [
    ("an older delete", "long", 5, of("long", 4), None, True),
    ("a tie", "long", 5, of("long", 5), None, False),
    ("case 6, another type", "long", 6, of("int", 5), None, False),
    ("case 7, a genuine 0 of an int", "int", 3, of("int", 0), None, False),
    ("case 7, a genuine 0 of a bigint", "long", 3, of("long", 0), None, True),
    ("case 8, an older row after it", "long", 5, None, 2, True),
    ("case 9, a newer row after it", "long", 5, None, 7, True),
    ("strings by code point", "string", "\uffff", of("string", "\U00010000"), None, False),
    ("strings by code point, other way", "string", "\U00010000", of("string", "\uffff"), None,
     True),
    ("NaN is the largest", "double", float("nan"), of("double", 1e300), None, True),
    ("-0.0 is less than 0.0", "double", 0.0, of("double", -0.0), None, True),
    ("-0.0 is less than 0.0, other way", "double", -0.0, of("double", 0.0), None, False),
]  # fmt: skip


@PATHS
@pytest.mark.parametrize("where", ["base", "log"])
@pytest.mark.parametrize(
    ("order", "row", "delete", "again", "stays"),
    [case[1:] for case in DELETES],
    ids=[case[0] for case in DELETES],
)
def test_deletes_against_rows(
    tmp_path: Path,
    path: str,
    where: str,
    order: str,
    row: Any,
    delete: Any,
    again: Any,
    stays: bool,
) -> None:
    """The rules of deletes against a base row, and against a row that a log brought before."""
    log = Log(order)
    if where == "log":
        log.rows(ALL, whole("a", "row", 1, row))
    log.deletes(("a", delete))
    if again is not None:
        log.rows(ALL, whole("a", "again", 2, again))
    base = [("a", "row", 1, row)] if where == "base" else []
    rows = merged(tmp_path, base, log, path=path)
    assert len(rows) == int(stays)
    if again is not None:  # what a delete removed from the log does not come back
        won = where == "log" or again > row
        assert rows[0][1] == ("again" if won else "row")


_OPS = record("op", op="string", day=logical("int", "date"), part="double")


def marked_rows(folder: Path, path: str, column: str, marker: str) -> list[Row]:
    """Rows a and b under a log that marks b as a delete, by a field within a column."""
    rows = [("a", "+", dt.date(1970, 1, 2), 0.5), ("b", "-", dt.date(1970, 1, 3), 1.5)]
    names = ("op", "day", "part")
    log, schema = Log(), record("r", k="string", o="long", m=optional(_OPS), **{KEY: "string"})
    listed = [
        {"k": key, KEY: key, "o": 6, "m": dict(zip(names, values, strict=True))}
        for key, *values in rows
    ]
    log._add("avro", avro_content(schema, listed), {SCHEMA: json.dumps(schema)})
    how = {f"{PREFIX}hoodie.payload.delete.field": column}
    how |= {f"{PREFIX}hoodie.payload.delete.marker": marker}
    kinds = {"op": pa.string(), "day": pa.date32(), "part": pa.float64()}
    further = pa.field("m", pa.struct(kinds))
    return merged(folder, [X5, Y5], log, path=path, properties=how, further=further)


@PATHS
@pytest.mark.parametrize(("column", "marker"), [("m.op", "-"), ("m.day", "2")])
def test_a_mark_of_deletes_within_a_column(
    tmp_path: Path, path: str, column: str, marker: str
) -> None:
    """The field that marks deletes may lie in a struct, and a date is its number of days.

    `RecordContext.isCustomDeleteRecord` of Hudi 1.2.0 asks Spark's row for it by its dotted name.
    """
    assert marked_rows(tmp_path, path, column, marker) == [("a", None, None, 6)]


@PATHS
@pytest.mark.parametrize("column", ["m.part", "m"])
def test_a_mark_of_deletes_without_a_known_text_is_refused(
    tmp_path: Path, path: str, column: str
) -> None:
    """Of numbers with a point and of structs it is not known how Java prints them."""
    with pytest.raises(RefusedError, match=f"the column '{column}', and "):
        marked_rows(tmp_path, path, column, "1.5")


@PATHS
def test_a_null_order_is_refused_only_where_it_meets_a_value(tmp_path: Path, path: str) -> None:
    """Hudi compares Integer 0 with a Long there, and fails; two nulls are a tie."""
    base = [("a", "x", 1, None), ("b", "y", 1, None), ("c", "z", 1, 5)]
    good = Log().rows(ALL, whole("a", "new", 2, None), whole("c", "new", 2, 6))
    expected = [("a", "new", 2, None), ("b", "y", 1, None), ("c", "new", 2, 6)]
    assert merged(tmp_path / "good", base, good, path=path) == expected
    bad = Log().rows(ALL, whole("a", "new", 2, 6))
    with pytest.raises(RefusedError, match="null"):
        merged(tmp_path / "bad", base, bad, path=path)


@PATHS
@pytest.mark.parametrize(
    ("log", "words"),
    [
        (Log().other("cdc"), "kind 'cdc'"),
        (Log().deletes(("a", None), version=9), "unknown version 9"),
    ],
    ids=["cdc", "delete v9"],
)
def test_blocks_without_a_place_in_a_log_are_refused(
    tmp_path: Path, path: str, log: Log, words: str
) -> None:
    """Case 33: a named error, never fewer rows."""
    with pytest.raises(RefusedError, match=words):
        merged(tmp_path, [("a", "x", 1, 5)], log, path=path)


BY_CLASS: dict[str, Any] = {
    "mode": "CUSTOM",
    "properties": {
        "hoodie.compaction.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    },
}


@PATHS
@pytest.mark.parametrize("version", [6, 8])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (pa.date32(), "o"),
        (pa.string(), "o"),
        (pa.decimal128(10, 2), "o"),
        (pa.timestamp("ms", "UTC"), "o"),
        (pa.struct({"x": pa.int64()}), "o.x"),
    ],
    ids=str,
)
def test_a_class_that_hudi_runs_cannot_compare_all_types(
    tmp_path: Path, path: str, version: int, kind: pa.DataType, name: str
) -> None:
    """Hudi 1.2.0 compares Avro's value with Spark's, and takes the later one of two classes.

    `HoodieAvroRecordMerger` over the `RecordContext` of Spark showed so for each type; the classes
    are LocalDate and Integer, String and UTF8String, BigDecimal and Decimal. The class of 0.15.0
    took the larger text, and the larger date or decimal of two logs alone.
    """
    log = Log().rows(ALL, whole("a", "new", 2, 4))
    how = {**BY_CLASS["properties"], "hoodie.table.ordering.fields": name}
    words = rf"ordering field '{name}'.* in one way in Hudi 0\.15\.0"
    with pytest.raises(RefusedError, match=words):
        merged(
            tmp_path, [], log, path=path, version=version, kind=kind, mode="CUSTOM", properties=how
        )


@PATHS
@pytest.mark.parametrize("order", ["long", "int", "double"])
def test_a_class_that_hudi_runs_compares_numbers(tmp_path: Path, path: str, order: str) -> None:
    """The same merger took the older of two records whose ordering value is larger."""
    log = Log(order).rows(ALL, whole("a", "new", None, 4), whole("b", None, 2, 6))
    base = [("a", "x", None, 5), ("b", "y", 1, 5)]
    expected = [("a", "x", None, 5), ("b", "y", 2, 6)]
    assert merged(tmp_path, base, log, path=path, version=8, **BY_CLASS) == expected


@pytest.mark.parametrize(
    ("path", "of_base", "expected"),
    [
        ("positions", BASE_INSTANT, [("a", "two", 2, 6), ("a", "two", 2, 6)]),
        ("positions", "20250101000000000", [("a", "two", 2, 6), ("a", "y", 1, 5)]),
        ("merge", BASE_INSTANT, [("a", "two", 2, 6), ("a", "y", 1, 5)]),
    ],
    ids=["by position", "positions of another base", "by key"],
)
def test_a_key_that_the_base_holds_twice(
    tmp_path: Path, path: str, of_base: str, expected: list[Row]
) -> None:
    """Cases 12 and 29: by position both change, by key the first; stale positions are not used."""
    row = whole("a", "two", 2, 6)
    log = Log().rows(ALL, row, row, at=[0, 2], of_base=of_base)
    base = [("a", "x", 1, 5), ("b", "z", 1, 5), ("a", "y", 1, 5)]
    rows = merged(tmp_path, base, log, path=path)
    assert rows == [*expected, ("b", "z", 1, 5)]


@pytest.mark.parametrize(
    ("order", "mode", "is_mask"),
    [
        (None, "EVENT_TIME_ORDERING", True),
        (("LongWrapper", {"value": 4}), "EVENT_TIME_ORDERING", False),
        (("LongWrapper", {"value": 4}), "COMMIT_TIME_ORDERING", True),
    ],
)
def test_deletes_by_position_are_a_mask_where_they_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: Any, mode: str, is_mask: bool
) -> None:
    """No index is made of them unless ordering values must be compared with the base's."""
    made = calls_of(monkeypatch, fold, "LogIndex")
    base = [("a", "x", 1, 5), ("b", "y", 1, 3), ("c", "z", 1, 5), ("d", "w", 1, 5)]
    log = Log().deletes(("a", order), ("b", order), at=[0, 1]).deletes(("c", None), at=[2])

    rows = merged(tmp_path, base, log, path="positions", mode=mode)

    older = [] if is_mask else [("a", "x", 1, 5)]  # its ordering value is above the delete's
    assert rows == [*older, ("d", "w", 1, 5)]
    assert len(made) == (0 if is_mask else 1)


@PATHS
@pytest.mark.parametrize(
    ("generator", "text", "gone"),
    [
        ("COMPLEX", "k:a", "a"),
        ("COMPLEX_AVRO", "k:k:a", "k:a"),
        ("COMPLEX", "a", "a"),
        ("SIMPLE", "a", "a"),
        ("NON_PARTITION", "k:a", "k:a"),
    ],
)
def test_a_delete_names_the_only_field_of_a_complex_key(
    tmp_path: Path, path: str, generator: str, text: str, gone: str
) -> None:
    """`k:a` is what Hudi 1.2.0 wrote for the virtual key `a`; 0.14.1 to 1.0.2 write `a`.

    Of a table of version 9 without meta columns Spark showed no such row after its delete, but in
    one of version 8 by 1.1.1, whose delete blocks had no positions, all of them.
    """
    base = [("a", "x", 1, 5), ("b", "y", 1, 5), ("k:a", "z", 1, 5)]
    properties = {
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.keygenerator.type": generator,
    }
    at = [i for i, row in enumerate(base) if row[0] == gone]
    log = Log().deletes((text, None), at=at)
    found = merged(tmp_path / "at", base, log, path=path, properties=properties)
    assert found == [row for row in base if row[0] != gone]
    log = Log().deletes((text, None))
    if text == gone:
        found = merged(tmp_path / "by key", base, log, path=path, properties=properties)
        assert found == [row for row in base if row[0] != gone]
    else:
        with pytest.raises(RefusedError, match=r"a\.log.*'k:.*without positions"):
            merged(tmp_path / "by key", base, log, path=path, properties=properties)


@PATHS
def test_every_nan_is_one_key(tmp_path: Path, path: str) -> None:
    """A virtual key is the text of its field, and Java writes any NaN as `NaN`, but -0.0 as it is.

    OpenJDK 17: `Double.toString` of 7ff8000000000001, fff8dead00000000 and 7ff0000000000001.
    """
    bits = (0x7FF8000000000001, 0xFFF8DEAD00000000, 0x7FF0000000000001)
    first, second, third = (struct.unpack("<d", struct.pack("<Q", word))[0] for word in bits)
    base = [("x", "base", 1, first), ("y", "base", 2, 0.0), ("z", "base", 3, 1.5)]
    log = (
        Log("double")
        .rows(ALL, whole("x", "log1", 4, second), whole("y", "log1", 5, -0.0))
        .rows(ALL, whole("x", "log2", 6, third))
    )
    properties = {
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.recordkey.fields": "o",
        "hoodie.table.ordering.fields": "n",
    }
    found = merged(
        tmp_path, base, log, path=path, properties=properties, mode="COMMIT_TIME_ORDERING"
    )
    assert [(value, str(order)) for _, value, _, order in found] == [
        ("log2", "nan"),
        ("base", "0.0"),
        ("log1", "-0.0"),
        ("base", "1.5"),
    ]


@PATHS
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.table.meta.fields.exclude.list", "_hoodie_file_name, _hoodie_record_key"),
    ],
)
def test_rows_without_the_record_key_have_virtual_keys(
    tmp_path: Path, path: str, name: str, text: str
) -> None:
    """Where no row has the record key, as writers after 1.2.0 may leave it out alone, fields do."""
    base = [(None, *row) for row in (X5, Y5, ("c", "z", 1, 5))]
    log = Log().rows(ALL, (None, *whole("a", "new", 2, 6)[1:]), (None, *whole("d", "d", 3, 1)[1:]))
    log = log.deletes(("b", ("LongWrapper", {"value": 7})))
    rows = merged(tmp_path, base, log, path=path, properties={name: text})
    assert rows == [("a", "new", 2, 6), ("c", "z", 1, 5), ("d", "d", 3, 1)]
