"""Explanations and grades of rows: a second reader, in plain Python, against the core."""

import struct
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, UsageError
from seambase.serde import SerdeField
from seambase.walk import BrokenError
from seamkit.serde.rows.codec import UnsafeRows
from seamkit.serde.rows.inspection import grade, inspect_rows
from seamkit.serde.rows.serde import deserialize, serialize
from seamkit_tests.samples.row_samples import GoldenRows, fields_of, golden_names, load_golden
from seamkit_tests.serde.test_compact_row import BROKEN as BROKEN_COMPACT
from seamkit_tests.serde.test_unsafe_row import BROKEN as BROKEN_UNSAFE

SMALL_BYTES = 250


def _options(golden: GoldenRows) -> dict[str, Any]:
    return {"framing": golden.framing, **golden.frames}


def _nullable(golden: GoldenRows) -> list[SerdeField]:
    return [SerdeField(field.name, field.type) for field in golden.fields]


def _accepts(reader: Any, format_: str, data: Any, fields: Any, options: Any) -> bool:
    try:
        found = reader(format_, data, fields, options)
        if reader is inspect_rows:
            list(found)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("name", golden_names())
def test_golden_rows_are_graded_best_and_explained_whole(name: str) -> None:
    """What Spark 3.5.9 wrote decodes, is its own bytes, and can be updated in place.

    Fields explained lie within the stream, begin with its first byte and leave out padding alone.
    """
    golden = load_golden(name)
    found = grade(golden.data, golden.fields, _options(golden))
    assert (found.decodes, found.same_bytes, found.updatable) == (True, True, True)
    assert found.oddities == ()
    met = list(inspect_rows("unsaferow", golden.data, golden.fields, _options(golden)))
    covered = bytearray(len(golden.data))
    for field in met:
        assert 0 <= field.offset <= field.offset + field.length <= len(golden.data)
        if not field.what.startswith("row "):
            covered[field.offset : field.offset + field.length] = b"\1" * field.length
    assert not any(byte for byte, seen in zip(golden.data, covered, strict=True) if not seen)


@pytest.mark.parametrize(
    "name", [n for n in golden_names() if 0 < len(load_golden(n).data) <= SMALL_BYTES]
)
@pytest.mark.parametrize("format_", ["unsaferow", "compactrow"])
def test_both_readers_refuse_the_same_bytes(name: str, format_: str) -> None:
    """Of every truncation and flipped byte the core and the walk say the same: sound or broken."""
    golden = load_golden(name)
    fields = _nullable(golden)
    if format_ == "compactrow" and any(field.type.endswith("interval") for field in fields):
        return
    data = bytes(serialize(format_, [golden.batch], fields))
    damaged = [data[:size] for size in range(len(data))]
    damaged += [
        data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
        for at in range(len(data))
        for flip in (0x01, 0x80)
    ]
    for stream in damaged:
        sound = _accepts(deserialize, format_, stream, fields, {})
        assert sound == _accepts(inspect_rows, format_, stream, fields, {}), stream.hex(" ")


@pytest.mark.parametrize("case", sorted(BROKEN_UNSAFE))
def test_breaks_of_unsafe_rows_are_explained(case: str) -> None:
    """What was met before a break is told, and then where it is."""
    types, row, _ = BROKEN_UNSAFE[case]
    met = inspect_rows("unsaferow", struct.pack(">i", len(row)) + row, fields_of(**types))
    assert [next(met).what, next(met).what] == ["length", "row 0"]
    with pytest.raises(BrokenError) as caught:
        list(met)
    assert 0 <= caught.value.offset <= len(row) + 4


@pytest.mark.parametrize("case", sorted(BROKEN_COMPACT))
def test_breaks_of_compact_rows_are_explained(case: str) -> None:
    """The same for CompactRows."""
    text, row, _ = BROKEN_COMPACT[case]
    with pytest.raises(BrokenError):
        list(inspect_rows("compactrow", struct.pack(">i", len(row)) + row, fields_of(a=text)))


def test_an_explanation_names_fields_and_values() -> None:
    """Each field comes with its place, its depth, its name and what it says."""
    batch = pa.RecordBatch.from_pydict(
        {"a": pa.array([7], pa.int32()), "b": pa.array([["x", None]], pa.list_(pa.string()))}
    )
    fields = fields_of(a="int", b="array<string>")
    data = serialize("unsaferow", [batch], fields, {"framing": "velox-group"})
    lines = [
        (met.offset, met.length, met.depth, met.what, met.value)
        for met in inspect_rows("unsaferow", data, fields, {"framing": "velox-group"})
    ]
    assert lines == [
        (0, 9, 0, "group", {"size": 68, "compressed": 68, "is": 0}),
        (9, 4, 0, "length", 64),
        (13, 64, 0, "row 0", None),
        (13, 8, 1, "null bits", []),
        (21, 8, 1, "a", 7),
        (29, 8, 1, "b", "40 bytes at +24"),
        (37, 8, 2, "b: elements", 2),
        (45, 8, 2, "null bits", [1]),
        (53, 8, 2, "b[0]", "1 byte at +32"),
        (69, 1, 3, "b[0]", "x"),
        (61, 8, 2, "b[1]", "null"),
    ]


def _grade_of(types: dict[str, str], *words: int) -> Any:
    row = struct.pack(f"<{len(words)}Q", *words)
    return grade(row, fields_of(**types), {"framing": "packed", "lengths": [len(row)]})


@pytest.mark.parametrize(
    ("types", "words", "updatable", "what"),
    [
        ({"a": "int"}, (0, 1 << 32), True, "rest of a's slot"),
        ({"a": "int"}, (1, 5), True, "slot of null a"),
        ({"a": "int"}, (2, 5), True, "behind the last field"),
        ({"a": "string"}, (0, 16 << 32 | 1, 0x4141), True, "follows the last value"),
        ({"a": "string"}, (0, 24 << 32 | 1, 0, 0x41), True, "begins at +24"),
        ({"a": "string"}, (0, 16 << 32 | 1, 0x41, 0), True, "left over"),
        ({"a": "decimal(38,0)"}, (1, 0), False, "keeps no place"),
        ({"a": "decimal(38,0)"}, (0, 16 << 32 | 1, 5), False, "less than 16"),
        ({"a": "decimal(38,0)"}, (0, 16 << 32 | 2, 0x0500, 0), True, "more bytes than it needs"),
        ({"a": "decimal(38,0)", "b": "string"}, (0, 24 << 32 | 1, 32 << 32 | 1, 5, 0x41), False,
         "shares the place"),
        ({"a": "interval"}, (1, 0), False, "keeps no place"),
    ],
)  # fmt: skip
def test_oddities_are_named(
    types: dict[str, str], words: tuple[int, ...], updatable: bool, what: str
) -> None:
    """SPARK-41395, SPARK-39839: rows that every reader takes, and that Spark would not write."""
    found = _grade_of(types, *words)
    assert found.decodes
    assert not found.same_bytes
    assert found.updatable == updatable
    assert any(what in oddity.what for oddity in found.oddities), found.oddities


def test_rows_of_velox_decode_but_are_not_those_of_spark() -> None:
    """Velox's unpadded arrays break equality by bytes, its null long decimals updates in place."""
    fields = fields_of(a="array<int>", d="decimal(38,0)")
    decimal = pa.array([None], pa.decimal128(38, 0))
    columns = [pa.array([[1]], pa.list_(pa.int32())), decimal]
    batch = pa.RecordBatch.from_arrays(columns, names=["a", "d"])
    rows = UnsafeRows(fields, "velox").serialize(batch)
    found = grade(rows.data, fields)
    assert (found.decodes, found.same_bytes, found.updatable) == (True, False, False)
    assert any("no multiple of 8" in oddity.what for oddity in found.oddities)
    assert found.text.startswith("other bytes than Spark writes; not updatable in place; ")
    assert "no multiple of 8" in found.text


def test_what_does_not_decode_says_why() -> None:
    """A grade of broken rows carries the reader's sentence."""
    found = _grade_of({"a": "boolean"}, 0, 2)
    assert not found.decodes
    assert "neither 0 nor 1" in found.reason
    assert found.text.startswith("not readable: ")


def test_compressed_groups_are_not_explained() -> None:
    """Their bytes have no place in the stream; whoever asks is told what to do."""
    batch = pa.RecordBatch.from_pydict({"a": pa.array([0] * 1000)})
    options = {"framing": "velox-group", "codec": "zstd"}
    data = serialize("unsaferow", [batch], fields_of(a="bigint"), options)
    with pytest.raises(UsageError, match="decompress it first"):
        list(inspect_rows("unsaferow", data, fields_of(a="bigint"), options))
