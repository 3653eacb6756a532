"""Bloom filters of record keys in footers that Hudi wrote."""

import base64
import struct
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.base_files import KeyedParquetReader
from seamkit.tables.hudi.indexes.key_filters import read_key_filter
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack_table

_TABLES = ["mor-v6-event", "mor-v9-composite-key", "mor-v9-event"]


def _files(folder: Path) -> Iterator[tuple[Path, dict[bytes, bytes], list[str]]]:
    """Each base file with what its footer tells, and its record keys."""
    for file in sorted(folder.rglob("*.parquet")):
        with pq.ParquetFile(file) as opened:
            told: dict[bytes, bytes] = opened.metadata.metadata
            keys = opened.read(["_hoodie_record_key"]).column(0).to_pylist()
        yield file, told, keys


@pytest.mark.parametrize(
    ("condition", "counted", "is_left"),
    [
        (pc.field("k") == "nobody", None, False),
        (pc.field("k") == "nobody", {"k"}, False),
        (pc.field("k") == "nobody", {"v"}, True),
        ((pc.field("k") == "nobody") | (pc.field("v") == "x"), None, True),
        (pc.field("k") > "nobody", None, True),
        (pc.field("k") == "no:body", None, True),
        (pc.field("k").is_null() | (pc.field("k") == "nobody"), None, True),
    ],
)
def test_only_conditions_that_name_all_keys_are_asked(
    condition: pc.Expression, counted: set[str] | None, is_left: bool, tmp_path: Path
) -> None:
    """A condition that other rows may meet leaves nothing out, nor do columns that do not count."""
    folder = unpack_table("mor-v9-event", tmp_path)
    file = next(_files(folder))[0]
    content = pq.read_table(file)
    keys = pa.array(["a", "z"])  # a range that holds the key
    told = {**content.schema.metadata, b"hoodie_min_record_key": b"a"}
    told[b"hoodie_max_record_key"] = b"z"
    content = content.slice(0, 2).set_column(content.schema.get_field_index("k"), "k", keys)
    pq.write_table(content.replace_schema_metadata(told), folder / "one.parquet")
    reader = KeyedParquetReader(Storage(str(folder)), "one.parquet", ["k"])
    schema = pa.schema({"k": pa.string(), "v": pa.string()})
    assert bool(reader.row_groups_that_may_match(condition, schema, counted)) is is_left


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
@pytest.mark.parametrize("made_by", ["class=com.acme.SmallLetters", "type=USER_PROVIDED"])
def test_fields_do_not_tell_keys_that_a_class_of_the_users_makes(
    tmp_path: Path, made_by: str
) -> None:
    """A footer has the keys `a` and `b` of rows whose field is `A` and `B`; all rows are found."""
    folder = unpack_table("cow-v9", tmp_path)
    for file, told, _ in [*_files(folder)]:
        content = pq.read_table(file).replace_schema_metadata(told)
        at = content.schema.get_field_index("k")
        content = content.set_column(at, content.schema.field(at), pc.utf8_upper(content["k"]))
        pq.write_table(content, file, compression="none")
    properties = folder / ".hoodie" / "hoodie.properties"
    properties.write_text(f"{properties.read_text()}hoodie.table.keygenerator.{made_by}\n")
    table = HudiTable(str(folder))
    rows = table.scan(["k"]).to_table()["k"].to_pylist()
    found = [table.scan(filter=pc.field("k") == key).count_rows() for key in rows]
    assert rows
    assert found == [1] * len(rows)


@pytest.mark.parametrize("name", _TABLES)
def test_a_range_of_keys_counts_whichever_end_comes_first(name: str, tmp_path: Path) -> None:
    """Hudi 0.12.0 wrote the greatest key as the least where Spark's rows go in as they stand."""
    folder = unpack_table(name, tmp_path)
    file, told, keys = max(_files(folder), key=lambda one: len(one[2]))
    ends = [b"hoodie_max_record_key", b"hoodie_min_record_key"]
    swapped = dict(zip(ends, [told[end] for end in ends[::-1]], strict=True))
    assert len(set(swapped.values())) == 2
    content = pq.read_table(file)
    pq.write_table(content.replace_schema_metadata({**told, **swapped}), folder / "one.parquet")
    reader = KeyedParquetReader(Storage(str(folder)), "one.parquet", [])
    schema = pa.schema({"_hoodie_record_key": pa.string()})
    for key in keys:
        condition = pc.field("_hoodie_record_key") == key
        assert reader.row_groups_that_may_match(condition, schema) == [0]


def _simple(version: int, hashes: int, kind: int, bits: int, body: bytes) -> bytes:
    return struct.pack(">iibi", version, hashes, kind, bits) + body


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (b"", b"SIMPLE", "broken"),
        (_simple(-1, 3, 1, 16, b"\0"), b"SIMPLE", "14 bytes"),
        (_simple(-1, 0, 1, 16, b"\0\0"), b"SIMPLE", "0 hashes"),
        (_simple(-1, 3, 1, 0, b""), b"SIMPLE", "0 bits"),
        (_simple(-1, 3, 1, -8, b""), b"SIMPLE", "-8 bits"),
        (_simple(-1, 3, 1, 16, struct.pack(">iii", 9, 9, 1 << 30)), b"DYNAMIC_V0", "bytes"),
        (
            _simple(-1, 3, 1, 8, struct.pack(">iii", 9, 9, 1)) + _simple(-1, 4, 1, 8, b"\0"),
            b"DYNAMIC_V0",
            "differ",
        ),
    ],
)
def test_broken_filters_are_refused(data: bytes, kind: bytes, words: str) -> None:
    """Sizes must agree; another kind or hash rules nothing out."""
    with pytest.raises(InputError, match=words):
        read_key_filter(base64.b64encode(data), kind, "file")
    other = _simple(-1, 3, 0, 16, b"\0\0")
    assert read_key_filter(base64.b64encode(other), b"SIMPLE", "file") is None
    assert read_key_filter(base64.b64encode(data), b"XOR", "file") is None
    with pytest.raises(InputError, match="broken"):
        read_key_filter(b"no base64!", b"SIMPLE", "file")


def test_a_dynamic_filter_is_several_simple_ones(tmp_path: Path) -> None:
    """A key is in one of them; each says for itself what it is."""
    files = list(_files(unpack_table("mor-v9-composite-key", tmp_path)))
    told, keys = files[0][1], files[0][2]
    data = base64.b64decode(told[b"org.apache.hudi.bloomfilter"])
    empty = data[:13] + bytes(len(data) - 13)
    whole = data[:13] + struct.pack(">iii", 9, 9, 2) + empty + data
    found = read_key_filter(base64.b64encode(whole), b"DYNAMIC_V0", "file")
    assert found is not None
    assert len(found.rows) == 2
    assert all(map(found.may_hold, keys))
    assert not found.may_hold("nobody")
