"""Presto's pages: golden bytes of Presto 0.296, both ways, and what pages alone decide."""

import random
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambase.pages.reader import frame, page_options, read_pages
from seambase.serde import SerdeField, SerdeRequest
from seambench.seams.serde.streams import batches_of
from seambench.seams.serde.vectors import Vector, decode_problem, load_golden
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.compression import Skipper
from seamkit.serde.presto.read import deserialize
from seamkit.serde.presto.read import read_pages as read_stream
from seamkit.serde.presto.write import PageWriter, serialize, serialize_many, serialized_size
from seamkit_tests import SUITES_GOLDEN

# Data only: nothing of the suites is imported.
GOLDEN = SUITES_GOLDEN / "presto"
NAMES = sorted(file.stem for file in GOLDEN.glob("*.json"))
BIGINT = [SerdeField("c", "bigint")]


def _vector(name: str) -> Vector:
    return load_golden(GOLDEN / f"{name}.json")


def _data(vector: Vector) -> bytes:
    assert vector.data is not None
    return vector.data


def _witness(vector: Vector) -> Any:
    return page_options(vector.request)


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("builder_")])
def test_builders_are_imitated(name: str) -> None:
    """Flat values give the runs and null flags that Presto's block builders leave."""
    vector = _vector(name)
    flat = deserialize(_data(vector), vector.request.fields, {"encodings": "flatten"})
    written = [bytes(serialize(b, vector.request.fields, {"layout": "builder"})) for b in flat]
    assert b"".join(written) == _data(vector)


def test_hash_tables_need_keys_of_known_hashes() -> None:
    """A table over other keys is refused by the column's name, not guessed."""
    batch = pa.record_batch([pa.array([[(1.5, 1)]], pa.map_(pa.float64(), pa.int64()))], ["m"])
    with pytest.raises(RefusedError, match="column 'm'"):
        serialize(batch, [SerdeField("m", "map(double,bigint)")], {"hash_tables": True})


#: XXH64 of seed 0, by the published vectors of the function.
_XXH64 = {"": 0xEF46DB3751D8E999, "a": 0xD24EC4F1A98C6E5B, "abc": 0x44BC2CF5AD770999}


def _slots(hashes: list[int]) -> list[int]:
    """Where MapBlock puts entries of these hashes: two slots for each, the next one if taken."""
    slots = [-1] * (2 * len(hashes))
    for entry, hash_ in enumerate(hashes):
        at = (((hash_ ^ hash_ >> 32) & 0xFFFFFFFF) * len(slots)) >> 32
        while slots[at] != -1:
            at = (at + 1) % len(slots)
        slots[at] = entry
    return slots


@pytest.mark.parametrize(("word", "kind"), [("varchar", pa.string()), ("varbinary", pa.binary())])
def test_hash_tables_of_text_keys(word: str, kind: pa.DataType) -> None:
    """Presto hashes texts and bytes by XXH64; the page is read and written again as it was."""
    keys = list(_XXH64) if word == "varchar" else [key.encode() for key in _XXH64]
    maps = [list(zip(keys, range(3), strict=True)), None, [(keys[2], 7)]]
    batch = pa.record_batch([pa.array(maps, pa.map_(kind, pa.int64()))], ["m"])
    fields = [SerdeField("m", f"map({word},bigint)")]
    page = serialize(batch, fields, {"hash_tables": True}).to_pybytes()
    [found] = read_pages(page, page_options(SerdeRequest("presto", fields, {})))
    expected = _slots(list(_XXH64.values())) + _slots([_XXH64["abc"]])
    assert found.columns[0].hash_table == expected
    [read] = deserialize(page, fields, {"layout": "preserve"})
    assert serialize(read, fields, {"layout": "preserve"}).to_pybytes() == page


def test_a_null_in_a_run_of_no_keys_is_written_as_it_was() -> None:
    """Maps without entries have no keys, so none of them is null."""
    run = b"\3\0\0\0RLE" + bytes(4) + b"\x0a\0\0\0LONG_ARRAY\1\0\0\0\1\x80"
    values = b"\x0a\0\0\0LONG_ARRAY" + bytes(5)
    payload = b"\1\0\0\0\3\0\0\0MAP" + run + values + b"\xff" * 4 + bytes(9)
    fields, options = [SerdeField("m", "map(bigint,bigint)")], {"layout": "preserve"}
    page = frame(0, payload)
    [batch] = deserialize(page, fields, options)
    assert batch.num_rows == 0
    assert serialize(batch, fields, options).to_pybytes() == page


@pytest.mark.parametrize("step", [1, 2, 20, 21, 22, 50, 10_000])
def test_pages_arrive_in_pieces(step: int) -> None:
    """A page comes out once its last byte is there, however the bytes are cut."""
    vector = _vector("stream_three_pages")
    data = _data(vector)
    seen: list[int] = []

    def chunks() -> Iterator[bytes]:
        for at in range(0, len(data), step):
            seen.append(at)
            yield data[at : at + step]

    batches = list(read_stream(chunks(), vector.request.fields))
    assert decode_problem(vector, batches) is None


def test_a_stream_that_ends_early_is_an_error() -> None:
    """What is missing of the last page is told with its offset in the stream."""
    vector = _vector("stream_three_pages")
    pages = read_stream([_data(vector)[:-1]], vector.request.fields)
    assert [next(pages).num_rows, next(pages).num_rows] == [batch.rows for batch in vector.batches][
        :2
    ]
    with pytest.raises(InputError, match="at byte"):
        next(pages)


def test_selections_are_pages_of_their_rows() -> None:
    """A page of some rows holds just those rows in that order; many selections, many pages."""
    batch = pa.record_batch({"c": pa.array([10, None, 30, 40, None], pa.int64())})
    pages = serialize_many(batch, BIGINT, [None, range(1, 3), [4, 0, 0], []])
    found = [deserialize(page, BIGINT)[0].column(0).to_pylist() for page in pages]
    assert found == [[10, None, 30, 40, None], [None, 30], [None, 10, 10], []]


@pytest.mark.parametrize("rows", [[5], [-1], range(3, 6), [[0]], [0.5], [2**40]])
def test_rows_beyond_the_batch_are_refused(rows: Any) -> None:
    """A selection with a row that the batch does not have is a UsageError."""
    batch = pa.record_batch({"c": pa.array([1, 2, 3, 4, 5], pa.int64())})
    with pytest.raises(UsageError):
        serialize(batch, BIGINT, rows=rows)


def test_the_size_is_known_beforehand() -> None:
    """The size given beforehand is that of the page, and the page takes just that much memory."""
    vector = _vector("lineitem_300_nulls")
    batch = batches_of(vector)[0]
    fields = vector.request.fields
    allocator = TrackedAllocator()
    page = serialize(batch, fields, allocator=allocator)
    assert serialized_size(batch, fields) == len(page)
    assert allocator.counters().current_bytes == len(page)
    assert allocator.counters().peak_bytes <= len(page) + (1 << 20)
    del page
    assert allocator.counters().live_blocks == 0


@pytest.mark.parametrize("codec", ["lz4", "zstd", "snappy", "gzip", "zlib"])
def test_compressed_bytes_of_another_size_are_refused(codec: str) -> None:
    """A payload that yields more or fewer bytes than the header says is an error, nothing more."""
    batch = pa.record_batch({"c": pa.array([7] * 1000, pa.int64())})
    page = bytearray(bytes(serialize(batch, BIGINT, {"codec": codec})))
    right = int.from_bytes(page[5:9], "little")
    for wrong in (right - 1, right + 1):
        page[5:9] = wrong.to_bytes(4, "little")
        with pytest.raises(InputError, match="at byte 21"):
            deserialize(page, BIGINT, {"codec": codec})


@pytest.mark.parametrize(
    ("ratio", "dialect", "marker"),
    [(None, "presto", 1), (None, "velox", 0), (0.88, "velox", 1), (0.5, "presto", 0)],
)
def test_compression_must_pay(ratio: float | None, dialect: str, marker: int) -> None:
    """Presto keeps a payload of up to 0.9 of its size, Velox of 0.8, unless told otherwise."""
    chance = random.Random(5)
    # About 0.85 of its size: random values, and some that are all the same.
    values = [chance.getrandbits(63) for _ in range(850)] + [1] * 150
    batch = pa.record_batch({"c": pa.array(values, pa.int64())})
    options = {"codec": "lz4", "dialect": dialect, "min_compression_ratio": ratio}
    assert bytes(serialize(batch, BIGINT, options))[4] == marker


def test_attempts_are_left_out_after_failures() -> None:
    """As many as before and one more, up to 30; an attempt that pays takes nothing back."""
    skipper = Skipper(min_bytes=10)
    assert not skipper.wants(9)
    left_out = []
    for _ in range(8):
        assert skipper.wants(100)
        skipper.tried(False)
        left_out.append(0)
        while not skipper.wants(100):
            left_out[-1] += 1
        skipper.tried(True)
        assert not skipper.wants(9)
    assert left_out == [1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codec": "lzo"}, "codec"),
        ({"wrong": 1}, "'wrong'"),
        ({"dialect": "trino"}, "dialect"),
        ({"nulls_first": True}, "velox"),
        ({"timestamps": "lossless"}, "velox"),
        ({"checksum": 1}, "checksum"),
        ({"size_limit": -1}, "size_limit"),
        ({"min_compression_ratio": 2}, "min_compression_ratio"),
        ({"dialect": "velox", "layout": "builder"}, "Velox"),
        ({"source": b"short"}, "source"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    """An option that is unknown, has no such value or belongs to the other dialect is named."""
    with pytest.raises(UsageError, match=message):
        serialize(pa.record_batch({"c": pa.array([1], pa.int64())}), BIGINT, options)


@pytest.mark.parametrize(
    ("type_", "array"),
    [
        ("bigint", pa.array([1], pa.int32())),
        ("bigint", pa.array([1], pa.uint64())),
        ("varchar", pa.array(["a"], pa.string_view())),
        ("timestamp", pa.array([1], pa.timestamp("us"))),
        ("decimal(10,2)", pa.array([1], pa.decimal128(10, 3))),
        ("array(bigint)", pa.array([[1]], pa.list_(pa.int32()))),
        ("row(a bigint)", pa.array([{"b": 1}], pa.struct([("b", pa.int64())]))),
    ],
)
def test_columns_of_other_types_are_refused(type_: str, array: pa.Array) -> None:
    """A column that is not the Arrow type of its Presto type is a UsageError naming both."""
    with pytest.raises(UsageError, match="'c'"):
        serialize(pa.record_batch([array], ["c"]), [SerdeField("c", type_)])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None], pa.int64()),
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array([1], pa.int64())),
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1], pa.int32()), pa.array([1, None], pa.int64())
        ),
        pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([None], pa.int64())),
    ],
    ids=["flat", "index", "entry", "run"],
)
def test_nulls_where_none_may_be_are_refused(column: pa.Array) -> None:
    """A field that is not nullable refuses nulls in both directions, in any encoding."""
    strict = [SerdeField("c", "bigint", nullable=False)]
    batch = pa.record_batch([column], ["c"])
    with pytest.raises(UsageError, match="'c'"):
        serialize(batch, strict)
    with pytest.raises(InputError, match="'c'"):
        deserialize(serialize(batch, BIGINT), strict)


def test_decimals_beyond_their_digits_are_refused() -> None:
    """A value that needs more digits than its type has is not written, and not read."""
    field = [SerdeField("c", "decimal(3,0)")]
    wide = pa.record_batch([pa.array([1234], pa.decimal128(4, 0))], ["c"])
    page = serialize(wide, [SerdeField("c", "decimal(4,0)")])
    with pytest.raises(InputError, match="'c'"):
        deserialize(page, field)
    lied = pa.Array.from_buffers(pa.decimal128(3, 0), 1, wide.column(0).buffers())
    with pytest.raises(InputError, match="'c'"):
        serialize(pa.record_batch([lied], ["c"]), field)


def test_sources_of_a_batch_are_not_the_next_ones() -> None:
    """A writer that heeds layouts writes a batch that has none as if it were its first."""
    fields, options = [SerdeField("a", "bigint")], {"layout": "preserve", "source": b"\2" * 24}
    ids = pa.array([0, 1] * 20, pa.int32())
    batch = pa.record_batch([pa.DictionaryArray.from_arrays(ids, pa.array([5, 6]))], ["a"])
    page = bytes(serialize(batch, fields, {"source": b"\1" * 24}))
    writer = PageWriter(fields, options)
    first = bytes(writer.write(batch))
    assert bytes(writer.write(*deserialize(page, fields, options))) == page
    assert bytes(writer.write(batch)) == first != page


@pytest.mark.parametrize("kind", ["bigint", "varchar", "array(bigint)", "row(a bigint,b varchar)"])
def test_bare_nulls_stand_for_any_type(kind: str) -> None:
    """A BYTE_ARRAY of nulls is a column of nulls whatever the schema says, also between others."""
    fields = [SerdeField("a", "bigint"), SerdeField("b", kind), SerdeField("c", "varchar")]
    unknown = [fields[0], SerdeField("b", "unknown"), fields[2]]
    columns = [pa.array([1, 2], pa.int64()), pa.nulls(2), pa.array(["x", None])]
    batch = pa.record_batch(columns, ["a", "b", "c"])
    page = bytes(serialize(batch, unknown))
    found = deserialize(page + page, fields, {"layout": "preserve"})
    for each in found:
        each.validate(full=True)
        assert each.to_pydict() == {"a": [1, 2], "b": [None, None], "c": ["x", None]}
        assert bytes(serialize(each, fields, {"layout": "preserve"})) == page


_ROWS = [SerdeField("r", "row(a bigint)")]


@pytest.mark.parametrize("encodings", ["preserve", "flatten"])
@pytest.mark.parametrize(
    ("offsets", "dialects"),
    [
        ([0, 1, 1, 2, 2], ["presto", "velox"]),
        ([0, 1, 0, 2, 0], ["velox"]),
        ([0, 1, 0, 2, 2], ["velox"]),
        ([0, 1, 1, 2, 0], ["velox"]),
        ([0, 1, 2, 2, 2], []),
        ([0, 1, 1, 0, 2], []),
        ([0, 0, 0, 1, 1], []),
        ([0, 1, 0, 1, 0], []),
        ([0, 1, -1, 2, 2], []),
        ([1, 1, 0, 2, 0], []),
    ],
    ids=str,
)
def test_offsets_of_null_rows_may_be_0_to_velox(
    offsets: list[int], dialects: list[str], encodings: str
) -> None:
    """Presto takes another field for the row behind, so that to it they are broken.

    Those of rows that are present, and others of null rows, are as both write them.
    """
    written = bytes(serialize(_rows(), _ROWS))
    begin = len(written) - 2 - 4 * len(offsets)  # a byte says that flags follow, then they do
    page = written[:begin] + struct.pack("<5i", *offsets) + written[-2:]
    for dialect in ("presto", "velox"):
        options = {"dialect": dialect, "encodings": encodings}
        witness = page_options(SerdeRequest("presto", _ROWS, options))
        if dialect in dialects:
            [batch] = deserialize(page, _ROWS, options)
            assert batch["r"].to_pylist() == _rows()["r"].to_pylist()
            assert read_pages(page, witness)[0].columns[0].nulls == [False, True, False, True]
            continue
        with pytest.raises(InputError, match="offset"):
            deserialize(page, _ROWS, options)
        with pytest.raises(InputError, match="offsets"):
            read_pages(page, witness)


def _rows() -> pa.RecordBatch:
    rows = [{"a": 4}, None, {"a": 5}, None]
    return pa.record_batch([pa.array(rows, pa.struct([("a", pa.int64())]))], ["r"])


def test_limits_hold() -> None:
    """A page that would grow beyond the size limit, or nest beyond the depth limit, is refused."""
    run = pa.RunEndEncodedArray.from_arrays(pa.array([2**31 - 1], pa.int32()), pa.array(["x"]))
    fields = [SerdeField("c", "varchar")]
    page = serialize(pa.record_batch([run], ["c"]), fields)
    assert len(page) < 100
    with pytest.raises(RefusedError, match="limit"):
        deserialize(page, fields)
    assert deserialize(page, fields, {"size_limit": 2**31})[0].num_rows == 2**31 - 1
    with pytest.raises(RefusedError, match="limit"):
        deserialize(page, fields, {"size_limit": 2**31, "encodings": "flatten"})
    with pytest.raises(RefusedError, match="depth"):
        deserialize(page, fields, {"size_limit": 2**31, "depth_limit": 1})


def test_a_compression_bomb_is_not_unpacked() -> None:
    """The announced size is held to the limit before anything is decompressed."""
    batch = pa.record_batch({"c": pa.array([0] * 1_000_000, pa.int64())})
    page = serialize(batch, BIGINT, {"codec": "zstd"})
    allocator = TrackedAllocator(limit_bytes=1 << 20)
    with pytest.raises(RefusedError, match="limit"):
        deserialize(page, BIGINT, {"codec": "zstd", "size_limit": 1 << 20}, allocator=allocator)


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        # All entries used: the dictionary stays, whatever the order of use.
        ([2, 0, 1, 0], (["a", "b", "c"], [2, 0, 1, 0])),
        # Unused entries go; what is left is numbered in order of first use.
        ([2, 0, 2, 0], (["c", "a"], [0, 1, 0, 1])),
        ([1], (["b"], [0])),
    ],
)
def test_dictionaries_are_compacted_as_presto_does(used: list[int], expected: Any) -> None:
    """Presto 0.296, DictionaryBlock.compact: only used entries are written, in order of use."""
    array = pa.DictionaryArray.from_arrays(pa.array(used, pa.int32()), ["a", "b", "c"])
    fields = [SerdeField("c", "varchar")]
    found = deserialize(serialize(pa.record_batch([array], ["c"]), fields), fields)[0].column(0)
    assert (found.dictionary.to_pylist(), found.indices.to_pylist()) == expected


def _block(name: str, *content: int | bytes) -> bytes:
    """A column by its encoding's name; whole numbers take four bytes."""
    parts = [name.encode(), *content]
    return struct.pack("<i", len(name)) + b"".join(
        part if isinstance(part, bytes) else struct.pack("<i", part) for part in parts
    )


_THREE = _block("LONG_ARRAY", 3, b"\0", struct.pack("<3q", 7, 8, 9))
_CODED = _block("DICTIONARY", 3, _THREE, 2, 0, 2, bytes(24))
_NULL = _block("LONG_ARRAY", 1, b"\1\x80")


@pytest.mark.parametrize("dialect", ["presto", "velox"])
@pytest.mark.parametrize(
    ("type_", "column", "values"),
    [
        ("bigint", _CODED, [9, 7, 9]),
        ("array(bigint)", _block("ARRAY", _CODED, 2, 0, 2, 3, b"\0"), [[9, 7], [9]]),
        ("bigint", _block("RLE", 0, _NULL), []),
        ("bigint", _block("DICTIONARY", 0, _THREE, bytes(24)), []),
    ],
    ids=["an entry to spare", "below an array", "empty run", "empty dictionary"],
)
def test_encodings_are_written_as_they_were_read(
    dialect: str, type_: str, column: bytes, values: list[Any]
) -> None:
    """With `layout="preserve"` no dictionary or run that was read is compacted or taken out.

    The bytes are laid out by hand (Presto 0.296, DictionaryBlockEncoding, RunLengthBlockEncoding).
    """
    fields = [SerdeField("c", type_)]
    page = frame(len(values), struct.pack("<i", 1) + column)
    options = {"dialect": dialect, "layout": "preserve"}
    (batch,) = deserialize(page, fields, options)
    assert batch.column(0).to_pylist() == values
    assert bytes(serialize(batch, fields, options)) == page


def test_every_dictionary_gets_the_source_that_was_given() -> None:
    """The option `source` ends every dictionary of a page; without it 24 zero bytes do."""
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), ["a", "b"])
    fields = [SerdeField("c", "varchar"), SerdeField("d", "varchar")]
    batch = pa.record_batch([coded, coded], ["c", "d"])
    source = bytes(range(100, 124))
    assert bytes(serialize(batch, fields, {"source": source})).count(source) == 2
    assert bytes(serialize(batch, fields)).count(bytes(24)) == 2


@pytest.mark.parametrize(
    ("type_", "values", "ids", "preserve", "kept"),
    [
        # Types of at most four bytes never pay.
        ("integer", pa.array([1, 2], pa.int32()), [0, 1] * 50, False, False),
        ("integer", pa.array([1, 2], pa.int32()), [0, 1] * 50, True, True),
        # Two values of eight bytes and four bytes a row are less than eight bytes a row.
        ("bigint", pa.array([1, 2], pa.int64()), [0, 1] * 50, False, True),
        ("bigint", pa.array([1, 2], pa.int64()), [0, 1, 0], False, False),
        ("varchar", pa.array(["a", "b"]), [0, 1, 0], False, True),
        # Every row is its own.
        ("varchar", pa.array(["a", "b"]), [1, 0], False, False),
        # Nulls of the dictionary's own, and no rows at all.
        ("varchar", pa.array(["a", "b"]), [1, None, 1], True, False),
        ("varchar", pa.array(["a", "b"]), [], True, False),
    ],
)
def test_velox_keeps_dictionaries_that_pay(
    type_: str, values: pa.Array, ids: list[int | None], preserve: bool, kept: bool
) -> None:
    """Velox's batch writer (2026-08) writes out dictionaries that save nothing, unless told."""
    array = pa.DictionaryArray.from_arrays(pa.array(ids, pa.int32()), values)
    fields = [SerdeField("c", type_)]
    options = {"dialect": "velox", "preserve_encodings": preserve}
    found = deserialize(serialize(pa.record_batch([array], ["c"]), fields, options), fields)[0]
    assert pa.types.is_dictionary(found.column(0).type) == kept
    wanted = [None if at is None else values[at].as_py() for at in ids]
    assert found.column(0).to_pylist() == wanted


def test_velox_orders_entries_by_index_and_flattens_in_arrays() -> None:
    """Used entries keep their order; below an array or a map nothing stays encoded."""
    options = {"dialect": "velox", "preserve_encodings": True}
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int32()), ["a", "b", "c"])
    fields = [SerdeField("c", "varchar")]
    found = deserialize(serialize(pa.record_batch([coded], ["c"]), fields, options), fields)[0]
    assert found.column(0).dictionary.to_pylist() == ["a", "c"]
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), coded)
    fields = [SerdeField("c", "array(varchar)")]
    found = deserialize(serialize(pa.record_batch([lists], ["c"]), fields, options), fields)[0]
    assert found.column(0).type == pa.list_(pa.string())
    assert found.column(0).to_pylist() == [["c", "a"], ["c"]]
