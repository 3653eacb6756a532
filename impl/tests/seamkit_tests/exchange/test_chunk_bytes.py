"""StarRocks' chunk bytes: by specification, since no server's bytes are at hand."""

import datetime as dt
import decimal
import json
import struct
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError, UsageError
from seamkit.core.memory import TrackedAllocator
from seamkit.exchange.formats.adaptive import EncodeLevels
from seamkit.exchange.formats.chunk_bytes import ChunkMeta, ChunkOptions, ChunkWriter
from seamkit.exchange.formats.chunk_reader import ChunkReader
from seamkit.exchange.formats.formats import chunk_format
from seamkit.exchange.formats.protobuf import CHUNK
from seamkit_tests import GOLDEN
from seamkit_tests.samples.failing import bears_failures

_PLAIN = ChunkOptions(encode_level=0, codec="none")
_GOLDEN = GOLDEN / "chunk-bytes.json"
_CASES = {case["name"]: case for case in json.loads(_GOLDEN.read_text())["cases"]}
_TYPES: dict[str, Any] = {
    "bool": pa.bool_(),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(19,2)": pa.decimal128(19, 2),
    "large_string": pa.large_string(),
    "list<int32>": pa.list_(pa.int32()),
    "map<int32,string>": pa.map_(pa.int32(), pa.string()),
    "struct<int32,string>": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "dictionary<string>": pa.dictionary(pa.int32(), pa.string()),
}


def _array(text: str, values: list[Any]) -> pa.Array:
    """The array of a case; texts stand for what JSON has not."""
    if text.startswith("runs<"):
        value_type = _TYPES.get(text[5:-1]) or pa.type_for_alias(text[5:-1])
        ends = [i + 1 for i in range(len(values)) if values[i + 1 : i + 2] != [values[i]]]
        kept = pa.array([values[end - 1] for end in ends], value_type)
        return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), kept)
    type_ = _TYPES.get(text) or pa.type_for_alias(text)
    if values and isinstance(values[0], str):
        return pa.array(values, pa.string()).cast(type_)
    return pa.array([[tuple(e) for e in v] if "map" in text and v else v for v in values], type_)


def _case(name: str) -> tuple[dict[str, Any], pa.RecordBatch]:
    case = _CASES[name]
    array = _array(case["type"], case["values"])
    schema = pa.schema([pa.field("a", array.type, case["nullable"])])
    return case, pa.RecordBatch.from_arrays([array], schema=schema)


def _parsed(chunk: bytes) -> Any:
    return CHUNK.FromString(chunk)


def _message(data: bytes, **fields: Any) -> bytes:
    """A chunk of one column, of just that data."""
    message = CHUNK(
        data=data,
        data_size=len(data),
        serialized_size=len(data),
        uncompressed_size=len(data),
        compress_type=2,
        slot_id_map=[0, 0],
        is_nulls=[True],
        is_consts=[False],
        encode_level=[0],
    )
    for name, value in fields.items():
        if isinstance(value, list):
            message.ClearField(name)
            getattr(message, name).extend(value)
        else:
            setattr(message, name, value)
    encoded: bytes = message.SerializeToString()
    return encoded


@pytest.mark.parametrize("name", _CASES)
def test_bytes_are_those_of_the_specification(name: str) -> None:
    """Each layout, worked out by hand; the way back gives the same values and types."""
    case, batch = _case(name)
    with TrackedAllocator() as allocator:
        message = _parsed(ChunkWriter(batch.schema, _PLAIN, allocator).encode(batch))
        assert message.data.hex() == case["bytes"].replace(" ", "")
        assert list(message.is_consts) == [case.get("const", False)]
        assert list(message.is_nulls) == [case.get("is_null", case["nullable"])]
        assert message.serialized_size == message.uncompressed_size == len(message.data)
        chunk = message.SerializeToString()
        found, meta = ChunkReader(batch.schema, allocator=allocator).decode(chunk)
        found.validate(full=True)
        assert found.schema == batch.schema
        assert found.to_pylist() == batch.to_pylist()
        assert meta.slots == (0,)
        del found


def _wide_batch(rows: int = 300) -> pa.RecordBatch:
    """A column of each kind of part, long enough for every encoding."""
    schema = pa.schema(
        [
            pa.field("k", pa.int64()),
            pa.field("s", pa.string()),
            pa.field("n", pa.int32(), nullable=False),
            pa.field("b", pa.large_binary()),
            pa.field("l", pa.list_(pa.int16())),
        ]
    )
    return pa.RecordBatch.from_pylist(
        [
            {
                "k": i * 3 - 100 if i % 7 else None,
                "s": "text" * (i % 5) if i % 11 else None,
                "n": i % 300,
                "b": bytes([i % 256]) * (i % 3),
                "l": [i, None] * (i % 3),
            }
            for i in range(rows)
        ],
        schema=schema,
    )


def _witness_words(stream: bytes, size: int, *, delta: bool) -> bytes:
    """Stream VByte, read word by word."""
    count = (size + 3) // 4
    at, before, words = (count + 3) // 4, 0, []
    for i in range(count):
        taken = (stream[i // 4] >> 2 * (i % 4) & 3) + 1
        value = int.from_bytes(stream[at : at + taken], "little")
        before = (value + before) % 2**32 if delta else value
        words.append(struct.pack("<I", before))
        at += taken
    assert at == len(stream)
    return b"".join(words)[:size]


def _witness_plain(data: bytes, parts: list[str]) -> bytes:
    """An encoded chunk as it would be without encoding, read by a plain second reader."""
    out, at = [data[:8]], 8
    for kind in parts:
        width = 8 if kind.startswith("large") else 4
        size = int.from_bytes(data[at : at + width], "little")
        out.append(data[at : at + width])
        at += width
        if size < 256:
            out.append(data[at : at + size])
            at += size
            continue
        encoded = int.from_bytes(data[at : at + 8], "little")
        body = data[at + 8 : at + 8 + encoded]
        if kind.endswith("text"):
            out.append(pa.Codec("lz4_raw").decompress(body, size, asbytes=True))
        else:
            out.append(_witness_words(body, size, delta=kind == "offsets"))
        at += 8 + encoded
    assert data[at:] == bytes(16)
    return b"".join(out)


def test_encoded_parts_say_the_same_as_plain_ones() -> None:
    """Integers as Stream VByte, 32-bit offsets by differences, strings as LZ4: a second reader."""
    batch = _wide_batch()
    plain = _parsed(ChunkWriter(batch.schema, _PLAIN).encode(batch)).data
    options = ChunkOptions(encode_level=6, codec="none")
    encoded = _parsed(ChunkWriter(batch.schema, options).encode(batch))
    parts = ["flags", "values", "flags", "text", "offsets", "values"]
    parts += ["flags", "large text", "large offsets", "flags", "offsets", "flags", "values"]
    assert _witness_plain(encoded.data, parts) == plain
    assert encoded.uncompressed_size == encoded.serialized_size + 16
    assert list(encoded.encode_level) == [6] * 5


@pytest.mark.parametrize(("rows", "encoded"), [(63, False), (64, True)])
def test_only_parts_of_256_bytes_are_encoded(rows: int, encoded: bool) -> None:
    """A part of 252 bytes is plain whatever the level, one of 256 bytes is not."""
    batch = pa.record_batch({"a": pa.array([0] * rows, pa.int32())})
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False)])
    chunk = ChunkWriter(schema, ChunkOptions(2, "none")).encode(batch)
    size = 8 + 4 + (8 + rows // 4 + rows if encoded else 4 * rows)
    assert _parsed(chunk).serialized_size == size
    assert len(_parsed(chunk).data) == size + 16


@pytest.mark.parametrize("level", range(8))
@pytest.mark.parametrize("codec", ["none", "lz4", "snappy", "zlib", "zstd", "gzip"])
def test_chunks_come_back_at_every_level_and_codec(level: int, codec: str) -> None:
    """Chunk after chunk, while adaptive levels settle."""
    batch = _wide_batch()
    with TrackedAllocator() as allocator:
        options = ChunkOptions(encode_level=level, codec=codec)
        bound = chunk_format("starrocks", batch.schema, vars(options), allocator)
        for _ in range(7):
            found = bound.decode(bound.encode(batch))
            assert found.equals(batch)
        del found, bound


def test_a_chunk_is_sent_compressed_only_if_that_pays() -> None:
    """StarRocks, `rpc_compress_ratio_threshold`: the factor must be more than 1.1."""
    schema = pa.schema([pa.field("a", pa.binary(), nullable=False)])
    dull = pa.record_batch([pa.array([b"x" * 5000], pa.binary())], schema=schema)
    # No four bytes come twice, so that no LZ4 match is found.
    noise = b"".join(struct.pack(">I", i * 2654435761 % 2**32) for i in range(1000))
    noisy = pa.record_batch([pa.array([noise], pa.binary())], schema=schema)
    writer = ChunkWriter(schema, ChunkOptions(encode_level=0))
    small, large = _parsed(writer.encode(dull)), _parsed(writer.encode(noisy))
    assert (small.compress_type, small.uncompressed_size) == (4, 8 + 4 + 5000 + 4 + 8)
    assert pa.Codec("lz4_raw").decompress(small.data, 5024, asbytes=True)[12:5012] == b"x" * 5000
    assert (large.compress_type, len(large.data)) == (2, 8 + 4 + 4000 + 4 + 8)
    kept = ChunkWriter(schema, ChunkOptions(encode_level=0, compress_ratio=10**6))
    assert _parsed(kept.encode(dull)).compress_type == 2


def test_levels_adapt_in_periods_that_double() -> None:
    """StarRocks, `EncodeContext`: five samples of 64 chunks, then of 128; below nine tenths."""
    levels = EncodeLevels(3, 7)
    seen = []
    for chunk in range(140):
        seen.append(list(levels.levels))
        levels.update([100, 100, 100], [89, 90, 89 if chunk < 100 else 90])
    changes = [i + 1 for i, (a, b) in enumerate(pairwise(seen)) if a != b]
    assert changes == [5, 133]
    assert (seen[4], seen[5]) == ([7, 7, 7], [7, 0, 7])
    assert seen[133] == [7, 0, 0]
    fixed = EncodeLevels(1, 6)
    for _ in range(200):
        fixed.update([1], [2])
    assert fixed.levels == [6]


def test_meta_travels_with_the_first_chunk() -> None:
    """A later chunk leaves out what the receiver knows, unless it has changed."""
    array = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["x"]))
    batch = pa.record_batch({"a": array, "b": pa.array([1, 2])})
    other = batch.set_column(
        0,
        batch.schema.field(0),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["x", "y"])),
    )
    writer = ChunkWriter(batch.schema, ChunkOptions(slots=(7, 3)))
    reader = ChunkReader(batch.schema)
    first, meta = reader.decode(writer.encode(batch))
    assert meta == ChunkMeta((7, 3), (False, True), (True, False))
    later = writer.encode(batch, meta)
    assert not _parsed(later).slot_id_map
    assert not _parsed(later).is_nulls
    assert reader.decode(later, meta)[0].to_pylist() == first.to_pylist() == batch.to_pylist()
    with pytest.raises(InputError, match="none came before it"):
        reader.decode(later)
    changed, told = reader.decode(writer.encode(other, meta), meta)
    assert changed.to_pylist() == other.to_pylist()
    assert told.is_consts == (False, False)


def test_a_constant_is_null_where_its_dictionary_says_so() -> None:
    """The index is valid, the value it stands for is NULL."""
    indexed = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array([None, "x"]))
    array = pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), indexed)
    batch = pa.record_batch({"a": array})
    found, meta = ChunkReader(batch.schema).decode(ChunkWriter(batch.schema).encode(batch))
    assert (meta.is_nulls, meta.is_consts) == ((True,), (True,))
    assert found.to_pylist() == [{"a": None}] * 3


def _decoded(reader: ChunkReader, chunk: bytes) -> bool:
    """Whether a chunk is taken; what is taken is whole."""
    try:
        batch, _ = reader.decode(chunk)
    except (InputError, RefusedError):
        return False
    batch.validate(full=True)
    return True


def _small_chunks() -> list[Any]:
    chunks = []
    for name in _CASES:
        _, batch = _case(name)
        chunk = ChunkWriter(batch.schema, _PLAIN).encode(batch)
        chunks.append(pytest.param(batch.schema, chunk, id=name))
    for column in _wide_batch().schema.names:
        batch = _wide_batch(90).select([column])
        options = ChunkOptions(encode_level=6, codec="none")
        chunk = ChunkWriter(batch.schema, options).encode(batch)
        chunks.append(pytest.param(batch.schema, chunk, id=f"encoded {column}"))
    return chunks


@pytest.mark.parametrize(("schema", "chunk"), _small_chunks())
def test_no_byte_may_be_missing(schema: pa.Schema, chunk: bytes) -> None:
    """Data that ends anywhere earlier is refused, though every size around it says so too."""
    with TrackedAllocator() as allocator:
        reader = ChunkReader(schema, allocator=allocator)
        whole = _parsed(chunk)
        for size in range(len(whole.data)):
            cut = _parsed(chunk)
            cut.data = whole.data[:size]
            cut.data_size = cut.uncompressed_size = size
            cut.serialized_size = min(size, whole.serialized_size)
            assert not _decoded(reader, cut.SerializeToString()), size


@pytest.mark.parametrize(("schema", "chunk"), _small_chunks())
def test_a_wrong_byte_is_refused_or_harmless(schema: pa.Schema, chunk: bytes) -> None:
    """Any one byte of a chunk, or of its message, turned into others: an error or a whole batch."""
    with TrackedAllocator() as allocator:
        reader = ChunkReader(schema, ChunkOptions(size_limit=1 << 20), allocator)
        for at in range(len(chunk)):
            for flip in (0x01, 0x80, 0xFF):
                turned = bytearray(chunk)
                turned[at] ^= flip
                _decoded(reader, bytes(turned))


@pytest.mark.parametrize(
    ("data", "fields", "message"),
    [
        ("02000000 01000000", {}, r"version 2, not 1 \(at byte 0\)"),
        ("01000000 f1ffff7f", {}, "a chunk of 2,147,483,633 rows"),
        ("01000000 02000000 01000000 00", {}, r"'a': null flags: 1 bytes where .* \(at byte 8\)"),
        ("01000000 01000000 01000000 02", {}, "null flag is neither 0 nor 1"),
        ("01000000 01000000 01000000 00 ffffffff", {}, "bytes takes 4294967295 bytes where 0 are"),
        ("01000000 00000000 00000000 00000000 04000000 01000000", {}, "first offset is 1, not 0"),
        ("01000000 02000000 02000000 0000 01000000 78 0c000000 00000000 01000000 00000000", {},
         "offset 2 is less than that before"),
        ("01000000 01000000 01000000 00 01000000 78 08000000 00000000 02000000", {},
         "1 bytes where the last offset is 2"),
        ("01000000 01000000 01000000 00 01000000 ff 08000000 00000000 01000000", {},
         r"column 'a': .*not UTF-8"),
        ("01000000 00000000", {"encode_level": [0, 0]}, "1 column has 2 encode levels"),
        ("01000000 00000000", {"data_size": 9}, "of 9 bytes came with 8"),
        ("01000000 00000000", {"uncompressed_size": 9}, "of 8 bytes says that it has 9"),
        ("01000000 00000000", {"compress_type": 11}, "compression type 11"),
        ("01000000 00000000", {"compress_type": 4, "uncompressed_size": 2041}, "cannot become"),
        ("01000000 00000000", {"compress_type": 4}, "lz4"),
        ("01000000 00000000", {"uncompressed_size": -1}, "a chunk of -1 bytes"),
        ("01000000 00000000", {"is_nulls": [True, True]}, "1 column is 2 with 1"),
        ("01000000 00000000", {"slot_id_map": [0, 1]}, "are not those of 1 column"),
        ("01000000 03000000 0200000000000000", {"is_consts": [True]}, "a constant for 2 rows"),
        ("01000000 00000080 00000000", {"is_consts": [True]}, "a chunk of 2,147,483,648 rows"),
        ("01000000 ffffff7e ffffff7e00000000 01000000 01 01000000 00", {"is_consts": [True]},
         "takes more than size_limit"),
        ("01000000 ffffff7e", {}, "8 bytes cannot hold 2130706431 rows"),
        ("01000000 00000000 00000000 00000000 04000000 00000000 00", {},
         "1 byte follows its columns|its columns end here, not at 25"),
    ],
)  # fmt: skip
def test_malformed_chunks_are_refused_by_name(
    data: str, fields: dict[str, Any], message: str
) -> None:
    """Sizes, counts, offsets, flags and sums that cannot be: column, reason and byte."""
    reader = ChunkReader(pa.schema([pa.field("a", pa.string())]))
    chunk = _message(bytes.fromhex(data.replace(" ", "")), **fields)
    with pytest.raises((InputError, RefusedError), match=message):
        reader.decode(chunk)
    with pytest.raises(InputError, match="not a ChunkPB"):
        reader.decode(b"\xff\xff")


def test_a_value_without_meaning_is_refused_by_its_column_and_place() -> None:
    """Among several columns: text that is no UTF-8, whose column begins at byte 25."""
    fields = [pa.field(name, pa.string(), nullable=False) for name in ("a", "b", "c")]
    schema = pa.schema(fields)
    data = b"\1\0\0\0\1\0\0\0"
    for text in (b"x", b"\xff", b"\xfe"):
        data += struct.pack("<I", 1) + text + struct.pack("<III", 8, 0, 1)
    chunk = _message(
        data,
        slot_id_map=[0, 0, 1, 1, 2, 2],
        is_nulls=[False] * 3,
        is_consts=[False] * 3,
        encode_level=[0] * 3,
    )
    with pytest.raises(InputError, match=r"^column 'b': .*not UTF-8.* \(at byte 25\)$"):
        ChunkReader(schema).decode(chunk)


def test_a_message_may_have_its_fields_in_any_order() -> None:
    """Protobuf: `data` need not be first, and may not be there twice."""
    schema = pa.schema([pa.field("a", pa.int8(), nullable=False)])
    chunk = ChunkWriter(schema, _PLAIN).encode(
        pa.record_batch([pa.array([7, 8], pa.int8())], schema=schema)
    )
    data = _parsed(chunk).data
    field = b"\x0a" + bytes([len(data)]) + data
    assert chunk.startswith(field)
    turned = chunk[len(field) :] + field
    assert ChunkReader(schema).decode(turned)[0].to_pydict() == {"a": [7, 8]}
    for twice in (chunk + field, field + turned):
        with pytest.raises(InputError, match="data twice"):
            ChunkReader(schema).decode(twice)
    with pytest.raises(InputError, match="breaks off within a field"):
        ChunkReader(schema).decode(field[:-1])


def _int_parts(size: int, encoded: int, body: bytes) -> bytes:
    return b"\1\0\0\0\x80\0\0\0" + struct.pack("<IQ", size, encoded) + body


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_int_parts(512, 2**32, bytes(200)), "takes 4294967296 bytes where 200 are left"),
        (_int_parts(512, 159, bytes(159)), "159 bytes cannot hold 512"),
        (_int_parts(512, 161, bytes(161)), "goes on for 1 bytes after the last"),
        (_int_parts(512, 160, b"\xff" + bytes(159)), r"is cut off .* \(at byte 180\)"),
        (_int_parts(512, 600, bytes(600)), "cannot be the stream of 128 words"),
    ],
)
def test_malformed_streams_are_refused(data: bytes, message: str) -> None:
    """Sizes of encoded integers on the wire are held to what is there and what words can take."""
    reader = ChunkReader(pa.schema([pa.field("a", pa.int32(), nullable=False)]))
    with pytest.raises(InputError, match=message):
        reader.decode(_message(data, encode_level=[2], is_nulls=[False]))


def test_strings_that_break_their_block_are_refused() -> None:
    """An LZ4 part that is damaged, too small for its size, or beyond the limit."""
    schema = pa.schema([pa.field("a", pa.string(), nullable=False)])
    head = b"\1\0\0\0\1\0\0\0"
    fields = {"encode_level": [4], "is_nulls": [False]}
    for body, message in (
        (
            struct.pack("<IQ", 300, 4) + b"\xff\xff\xff\xff" + struct.pack("<III", 8, 0, 300),
            r"column 'a': .*lz4 .*\(at byte 20\)",
        ),
        (struct.pack("<IQ", 3000, 4) + bytes(4), "block of 4 bytes cannot hold 3000"),
    ):
        with pytest.raises(InputError, match=message):
            ChunkReader(schema).decode(_message(head + body, **fields))
    batch = pa.record_batch([pa.array(["x" * 5000])], schema=schema)
    chunk = ChunkWriter(schema, ChunkOptions(encode_level=4)).encode(batch)
    with pytest.raises(RefusedError, match="more than size_limit"):
        ChunkReader(schema, ChunkOptions(size_limit=4999)).decode(chunk)


@pytest.mark.parametrize(
    ("array", "nullable", "message"),
    [
        (pa.array([1, None]), False, "'a' has nulls where its field has none"),
        (pa.array([2**31 - 1], pa.date32()), True, "int32|32"),
        (pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([None], pa.int8())),
         False, "'a' has nulls"),
    ],
)  # fmt: skip
def test_values_without_a_stored_form_are_refused(
    array: pa.Array, nullable: bool, message: str
) -> None:
    """A null where there is no flag for it, a day beyond 32 bits."""
    schema = pa.schema([pa.field("a", array.type, nullable)])
    batch = pa.RecordBatch.from_arrays([array], schema=schema)
    with pytest.raises(InputError, match=message):
        ChunkWriter(schema).encode(batch)


def test_options_and_types_that_cannot_be_are_refused() -> None:
    """At the start, not with the first chunk."""
    schema = pa.schema([pa.field("a", pa.int32())])
    for options, message in (
        ({"encode_level": 8}, "from 0 to 7, not 8"),
        ({"codec": "lzo"}, "codec 'lzo'"),
        ({"slots": (1, 1)}, "1 column needs as many slots"),
        ({"slots": (-1,)}, "have 31 bits"),
        ({"level": 1}, "no option 'level'"),
    ):
        with pytest.raises(UsageError, match=message):
            chunk_format("starrocks", schema, options)
    for type_, message in (
        (pa.uint32(), "uint32"),
        (pa.list_(pa.timestamp("ns")), "have microseconds"),
        (pa.struct([pa.field("x", pa.int8(), nullable=False)]), r"NOT NULL column 'a\.x'"),
    ):
        with pytest.raises(RefusedError, match=message):
            ChunkWriter(pa.schema([pa.field("a", type_)]))
    with pytest.raises(UsageError, match="another schema"):
        ChunkWriter(schema).encode(pa.record_batch({"a": ["x"]}))


def test_every_failing_allocation_is_an_error_and_leaves_nothing() -> None:
    """Writing and reading with the first allocation failing, then the second, and so on."""
    batch = _wide_batch(100)
    chunk = ChunkWriter(batch.schema).encode(batch)

    def write_and_read(owner: TrackedAllocator) -> bool:
        written = ChunkWriter(batch.schema, allocator=owner).encode(batch)
        found, _ = ChunkReader(batch.schema, allocator=owner).decode(chunk)
        return written == chunk and found.equals(batch)

    assert bears_failures(write_and_read, least=10)


_FLAT: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), st.text(max_size=20)),
    (pa.large_string(), st.text(max_size=20)),
    (pa.binary(), st.binary(max_size=20)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes(min_value=dt.datetime(1, 1, 1))),
    (pa.decimal128(9, 3), st.decimals(-999999, 999999, places=3)),
    (pa.decimal128(18, 0), st.integers(-(10**18) + 1, 10**18 - 1).map(decimal.Decimal)),
    (pa.decimal128(38, 0), st.integers(-(10**30), 10**30).map(decimal.Decimal)),
]


@st.composite
def _typed(draw: Any, depth: int = 4) -> tuple[Any, st.SearchStrategy[Any]]:
    """An Arrow type and a strategy for its values, null among them."""
    kind = draw(st.sampled_from(["flat", "list", "map", "struct"] if depth > 1 else ["flat"]))
    if kind == "flat":
        type_, values = draw(st.sampled_from(_FLAT))
        return type_, st.none() | values
    inner, values = draw(_typed(depth - 1))
    if kind == "list":
        return pa.list_(inner), st.none() | st.lists(values, max_size=4)
    if kind == "map":
        pairs = st.lists(st.tuples(st.integers(-5, 5), values), max_size=3)
        return pa.map_(pa.int32(), inner), st.none() | pairs
    fields = [("x", inner, values), ("y", *draw(_typed(depth - 1)))]
    values = st.fixed_dictionaries({name: strategy for name, _, strategy in fields})
    return pa.struct([(name, type_) for name, type_, _ in fields]), st.none() | values


@st.composite
def _batches(draw: Any) -> pa.RecordBatch:
    """One to three columns of up to 200 rows, which repeat; some batches are slices."""
    columns, rows = draw(st.lists(_typed(), min_size=1, max_size=3)), draw(st.integers(0, 200))
    arrays = []
    for type_, values in columns:
        pool = draw(st.lists(values, min_size=1, max_size=6))
        arrays.append(pa.array([pool[i * i % len(pool)] for i in range(rows)], type_))
    batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])
    return batch.slice(draw(st.integers(0, min(rows, 3))))


@settings(
    max_examples=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
@given(batch=_batches(), level=st.integers(0, 7), codec=st.sampled_from(["none", "lz4", "zstd"]))
def test_random_batches_come_back(batch: pa.RecordBatch, level: int, codec: str) -> None:
    """Types up to four levels deep, nulls at each, slices, every level: the same values."""
    with TrackedAllocator() as allocator:
        chunk = ChunkWriter(batch.schema, ChunkOptions(level, codec), allocator).encode(batch)
        found, _ = ChunkReader(batch.schema, allocator=allocator).decode(chunk)
        found.validate(full=True)
        assert found.schema == batch.schema
        assert found.to_pylist() == batch.to_pylist()
        del found
