"""Avro bytes made to hang or kill a reader: named errors, in time that fits their length."""

import io
import json
import zlib
from typing import Any

import fastavro
import psutil
import pyarrow as pa
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.avro.data_file import read_container, record_reader
from seamkit.avro.schema import parse_schema
from seamkit.core.unpack import Bound
from seamkit_tests.samples.avro_schemas import record, zigzag

_SYNC = b"s" * 16


def _container(
    schema: Any, datum: bytes, count: int = 1, codec: bytes = b"null", size: int | None = None
) -> bytes:
    entries = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec}
    header = b"".join(zigzag(len(text)) + text for pair in entries.items() for text in pair)
    block = zigzag(count) + zigzag(len(datum) if size is None else size) + datum + _SYNC
    return b"Obj\x01" + zigzag(len(entries)) + header + zigzag(0) + _SYNC + block


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_records_are_those_that_fastavro_wrote(codec: str) -> None:
    """An independent writer, several blocks, both compressions that are read."""
    schema = record(a="long", b=["null", "string"], c={"type": "array", "items": "int"})
    records = [{"a": i, "b": None if i % 3 else str(i), "c": [i] * 3} for i in range(5000)]
    out = io.BytesIO()
    fastavro.writer(out, schema, records, codec=codec, sync_interval=1000)
    assert list(read_container(out.getvalue(), "file")) == records


@pytest.mark.parametrize(
    ("content", "error", "reason"),
    [
        (_container(record(a=["null", "r"]), b"\x02" * 300_000), RefusedError, "holds itself"),
        (
            _container(record(a={"type": "array", "items": "null"}), zigzag(10**10)),
            RefusedError,
            "items that take no bytes",
        ),
        (
            _container(
                record(a={"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}),
                zigzag(10**10),
            ),
            RefusedError,
            "items that take no bytes",
        ),
        (_container(record(a="string"), zigzag(1 << 60)), InputError, "record 0 is not readable"),
        (_container(record(a="null"), b"", count=10**10), InputError, "ends after 1 of"),
        (_container("string", b"", size=1 << 60), InputError, "is broken"),
        (_container("string", b"\0", codec=b"lzw"), RefusedError, "compressed"),
        (_container("string", b"\0\0"), InputError, "bytes follow"),
        (_container(record(a="nobody"), b""), InputError, "unknown type"),
        (b"Obj\x01" + b"\xff" * 20, InputError, "header of an Avro file"),
        (b"Obj\x01\x02" + b"\xff" * 9 + b"\x7f" + b"a" * 20, InputError, "header of an Avro file"),
        (_container("string", b"")[:-17] + b"\xff" * 40, InputError, "end in 64 bits"),
        (b"", InputError, "no Avro file"),
    ],
)
def test_what_takes_more_than_its_bytes_say_is_refused(
    content: bytes, error: type[Exception], reason: str
) -> None:
    """Nesting without end, items for nothing, lengths beyond the file: each by its reason."""
    with pytest.raises(error, match=reason):
        list(read_container(content, "file"))


def test_a_block_that_grows_without_bounds_is_refused() -> None:
    """Deflate makes a thousand bytes of one."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(bytes(2 << 20)) + packer.flush()
    content = _container("bytes", packed, codec=b"deflate")
    with pytest.raises(RefusedError, match=f"{len(packed):,} bytes become more"):
        list(read_container(content, "file", Bound.of(1 << 20)))


def test_a_broken_block_of_zstandard_keeps_no_memory() -> None:
    """What a block could grow to is not made room for, and never lost: address space, too."""
    schema, datum = record(a="string"), zigzag(200_000) + b"a" * 200_000
    block = pa.compress(datum, codec="zstd", asbytes=True)
    whole = _container(schema, block, codec=b"zstandard")
    assert list(read_container(whole, "file")) == [{"a": "a" * 200_000}]
    broken = _container(schema, block[:-3], codec=b"zstandard")
    before = psutil.Process().memory_info().vms
    for _ in range(4):
        with pytest.raises(InputError, match="not readable as zstd"):
            list(read_container(broken, "file"))
    # pyarrow may reserve a gigabyte of addresses for itself, once.
    assert psutil.Process().memory_info().vms - before < 2 << 30


def test_a_block_of_zstandard_that_grows_without_bounds_is_refused() -> None:
    """One byte over the limit is refused, the limit itself is read."""
    bound = Bound(100_000)
    schema = record(a="string")
    for size, fits in ((100_000, True), (100_001, False)):
        text = b"a" * (size - 3)  # its length takes three bytes
        block = pa.compress(zigzag(len(text)) + text, codec="zstd", asbytes=True)
        content = _container(schema, block, codec=b"zstandard")
        if fits:
            assert list(read_container(content, "file", bound)) == [{"a": text.decode()}]
        else:
            with pytest.raises(RefusedError, match=r"become more, where .* 100000 \(memory_limit"):
                list(read_container(content, "file", bound))


def test_every_cut_and_flip_of_a_file_is_the_same_or_an_error() -> None:
    """Cut anywhere it is refused; a flipped bit gives records or a named error."""
    schema = record(a="long", b={"type": "map", "values": {"type": "array", "items": "string"}})
    out = io.BytesIO()
    fastavro.writer(out, schema, [{"a": 1, "b": {"x": ["y", "z"]}}])
    content = out.getvalue()
    for length in range(1, len(content)):
        with pytest.raises((InputError, RefusedError, StopIteration)):  # or there is no record
            next(read_container(content[:length], "file"))
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        try:
            list(read_container(bytes(changed), "file"))
        except (InputError, RefusedError) as error:
            assert str(error)  # noqa: PT017 - either outcome is right


def test_schemas_with_more_types_than_any_table_has_are_refused() -> None:
    """Two hundred thousand columns; twenty thousand are read."""
    wide = record(**{f"c{i}": "int" for i in range(200_000)})
    with pytest.raises(InputError, match="more than 100000 types"):
        parse_schema(wide)
    few = record(**{f"c{i}": "int" for i in range(20_000)})
    assert len(parse_schema(few).names) == 20_000
    assert record_reader(json.dumps(few), "schema")(io.BytesIO(b"\2" * 20_000))["c7"] == 1
