"""Small files that become large: a scan's limit of memory bounds what is unpacked of them.

Each is read by a process of its own, whose peak memory is measured.
"""

import gzip
import io
import json
import re
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import seamkit
from seambase.errors import RefusedError
from seamkit.core.unpack import Bound
from seamkit.tables.hudi.listing.hfile import read_hfile
from seamkit_tests.hudi.test_hostile_logs import _last_block, _with_block
from seamkit_tests.iceberg.test_manifests import _read
from seamkit_tests.samples.apart import apart
from seamkit_tests.samples.avro_schemas import record, zigzag
from seamkit_tests.samples.delta_tables import edit_actions, unpack_delta
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hfile_bytes import build_hfile
from seamkit_tests.samples.iceberg_tables import MadeCommit, MadeFile, MadeTable

_BYTES = 96 << 20
_LIMIT = 4 << 20
#: What reading may take beside what the limit is of: libraries' pools and buffers.
_BESIDE = 56 << 20

_TEXT = pa.table({"a": [""]})


def _long() -> str:
    return "a" * _BYTES


def _avro(schema: dict[str, Any], content: bytes, header: dict[str, str]) -> bytes:
    """A container of one block, whatever that holds."""
    out = io.BytesIO()
    fastavro.writer(out, schema, [], codec="deflate", metadata=header)
    whole, mark = out.getvalue(), out.getvalue()[-16:]
    deflate = zlib.compressobj(9, wbits=-15)
    block = deflate.compress(content) + deflate.flush()
    return whole + zigzag(1) + zigzag(len(block)) + block + mark


def _hive(
    file_format: str, name: str, content: Callable[[], bytes], kind: str = "string"
) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        folder.mkdir()
        (folder / name).write_bytes(content())
        told = {"columns": {"a": kind}, "format": file_format}
        (folder.parent / "how.json").write_text(json.dumps(told))

    return make


def _parquet(make: Callable[[], pa.Array] | None = None, **how: Any) -> Callable[[], bytes]:
    """A long text, or some kilobytes of which each text of a dictionary is named often."""

    def content() -> bytes:
        out = io.BytesIO()
        rows = pa.table({"a": make() if make else [_long()]})
        pq.write_table(rows, out, **{"compression": "zstd", **how})
        return out.getvalue()

    return content


def _often(text: str, rows: int) -> pa.Array:
    indices = pa.array([0] * rows, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, [text])


def _in_a_list(text: str, rows: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, rows], pa.int32()), _often(text, rows))


def _orc(texts: Callable[[], pa.Array], **how: Any) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO()
        orc.write_table(pa.table({"a": texts()}), out, compression="zlib", **how)
        return out.getvalue()

    return make


def _lying_parquet() -> bytes:
    """Its footer says that its chunk has a thousand bytes; the page's own header does not."""
    whole = _parquet(use_dictionary=False, write_statistics=False)()
    size = pq.read_metadata(io.BytesIO(whole)).row_group(0).column(0).total_uncompressed_size
    at = whole.rindex(zigzag(size))
    told = zigzag(1000)
    footer = int.from_bytes(whole[-8:-4], "little") - len(zigzag(size)) + len(told)
    rest = whole[at + len(zigzag(size)) : -8]
    return whole[:at] + told + rest + footer.to_bytes(4, "little") + b"PAR1"


def _sequence() -> bytes:
    texts = ["org.apache.hadoop.io.BytesWritable", "org.apache.hadoop.io.Text"]
    head = b"SEQ\x06" + b"".join(bytes([len(t)]) + t.encode() for t in texts) + b"\x01\x00"
    codec = b"org.apache.hadoop.io.compress.DefaultCodec"
    value = zlib.compress(b"\x8c" + struct.pack(">i", _BYTES) + b"a" * _BYTES)
    mark = bytes(range(16))
    header = head + bytes([len(codec)]) + codec + struct.pack(">i", 0) + mark
    return header + struct.pack(">ii", len(value), 0) + value


def _hadoop_snappy() -> bytes:
    packed: bytes = pa.compress(b"a" * _BYTES, codec="snappy", asbytes=True)
    return struct.pack(">ii", _BYTES, len(packed)) + packed


def _iceberg_manifests(folder: Path) -> None:
    key = {"id": 1, "name": "k", "required": False, "type": "long"}
    made = MadeTable(folder, [key])
    made.commit(MadeCommit([MadeFile("a.parquet", pa.table({"k": [1]}))]))
    file = folder / "metadata/snap-1.avro"
    schema, header, _ = _read(file)
    file.write_bytes(_avro(schema, bytes(_BYTES), header))


def _delta_vector(folder: Path) -> None:
    """Runs, of which each six bytes stand for 65,536 positions."""
    unpack_delta("vectors-several", folder.parent).rename(folder)
    count = 192  # of which each takes half a megabyte
    flags = b"\xff" * (count // 8)
    cookie = struct.pack("<I", 12347 | (count - 1) << 16) + flags
    keys = b"".join(struct.pack("<HH", key, 0xFFFF) for key in range(count))
    body = len(cookie) + len(keys) + 4 * count
    places = b"".join(struct.pack("<I", body + 6 * key) for key in range(count))
    runs = struct.pack("<HHH", 1, 0, 0xFFFF) * count
    bitmap = struct.pack("<QI", 1, 0) + cookie + keys + places + runs
    data = struct.pack("<i", 1681511377) + bitmap
    stored = b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (folder / "bomb.bin").write_bytes(stored)
    vector = {
        "storageType": "p",
        "pathOrInlineDv": f"file://{folder}/bomb.bin",
        "offset": 1,
        "sizeInBytes": len(data),
        "cardinality": count << 16,
    }

    def edit(action: dict[str, Any]) -> None:
        if "deletionVector" in action.get("add", {}):
            action["add"]["deletionVector"] = vector
            action["add"].pop("stats", None)

    for commit in sorted((folder / "_delta_log").glob("*.json")):
        edit_actions(folder, int(commit.stem), edit)
    for told in (folder / "_delta_log").glob("*.crc"):
        told.unlink()


def _delta_checkpoint(folder: Path) -> None:
    """A path of a megabyte that a hundred actions have."""
    unpack_delta("vectors-several", folder.parent).rename(folder)
    log = folder / "_delta_log"
    last = max(log.glob("*.json")).stem
    path = _often("a" * 1_000_000, _BYTES // 1_000_000)
    pq.write_table(
        pa.table({"add": pa.StructArray.from_arrays([path], ["path"])}),
        log / f"{last}.checkpoint.parquet",
        compression="zstd",
    )
    (log / "_last_checkpoint").write_text(json.dumps({"version": int(last), "size": len(path)}))
    for told in log.glob("*.crc"):
        told.unlink()


def _hudi_block(folder: Path) -> None:
    unpack_table("mor-v9-parquet-blocks", folder)
    _, found = _last_block(folder)
    texts = pq.read_table(pa.BufferReader(pa.py_buffer(found.content))).schema
    name = next(f.name for f in texts if f.type == pa.string() and not f.name.startswith("_"))

    def change(rows: pa.Table) -> pa.Table:
        at = rows.schema.get_field_index(name)
        long = pa.array([_long()] + [None] * (len(rows) - 1), pa.string())
        return rows.set_column(at, rows.schema.field(at), long)

    _with_block(folder, change, compression="zstd", use_dictionary=False)


def _hfile(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.hfile").write_bytes(build_hfile([[(b"k", bytes(_BYTES))]], codec=1, checksum=0))


_KINDS: dict[str, Callable[[Path], object]] = {
    "hive text": _hive("text", "a.gz", lambda: gzip.compress(_long().encode(), 1)),
    "hive json": _hive(
        "json", "a.gz", lambda: gzip.compress(b'{"a":"' + _long().encode() + b'"}', 1)
    ),
    "hive snappy": _hive("text", "a.snappy", _hadoop_snappy),
    "hive sequence": _hive("sequence", "a.seq", _sequence),
    "hive avro": _hive(
        "avro", "a.avro", lambda: _avro(record(a="string"), zigzag(_BYTES) + _long().encode(), {})
    ),
    "parquet page": _hive("parquet", "a.parquet", _parquet()),
    "parquet plain page": _hive(
        "parquet", "a.parquet", _parquet(compression="gzip", use_dictionary=False)
    ),
    "parquet brotli": _hive("parquet", "a.parquet", _parquet(compression="brotli")),
    "parquet that lies": _hive("parquet", "a.parquet", _lying_parquet),
    "parquet list of texts": _hive(
        "parquet",
        "a.parquet",
        _parquet(lambda: _in_a_list("a" * 1_000_000, _BYTES // 1_000_000)),
        "array<string>",
    ),
    "delta checkpoint": _delta_checkpoint,
    "orc texts": _hive("orc", "a.orc", _orc(lambda: pa.array(["a" * 1000] * (_BYTES // 1000)))),
    "orc dictionary": _hive(
        "orc",
        "a.orc",
        _orc(lambda: pa.array(["a" * 1000] * (_BYTES // 1000)), dictionary_key_size_threshold=1.0),
    ),
    "orc nulls": _hive("orc", "a.orc", _orc(lambda: pa.nulls(_BYTES // 4).cast(pa.string()))),
    "orc lists": _hive(
        "orc",
        "a.orc",
        _orc(lambda: pa.array([["a" * 1000] * 100] * (_BYTES // 100_000), pa.list_(pa.string()))),
        "array<string>",
    ),
    "iceberg manifests": _iceberg_manifests,
    "delta vector": _delta_vector,
    "hudi block": _hudi_block,
    "hfile": _hfile,
}
#: Of what these go through another kind shows each step; they are read at night.
_ALIKE = ("hive json", "parquet brotli", "orc texts", "orc lists")


def read(folder: str) -> tuple[str, int]:
    """How reading a table with a limit ends, and by how much the process has grown."""
    import seamkit.tables.hive.table as hive

    pa.set_memory_pool(pa.system_memory_pool())
    pq.read_table(pa.BufferReader(_parquet_of(_TEXT)))
    told = Path(folder).parent / "how.json"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        if told.exists():
            how = json.loads(told.read_text())
            table: Any = hive.HiveTable(folder, columns=how["columns"], file_format=how["format"])
            table.scan(memory_limit_bytes=_LIMIT, threads=1).to_table()
        elif (Path(folder) / "a.hfile").exists():
            content = (Path(folder) / "a.hfile").read_bytes()
            read_hfile(content, file="a.hfile", bound=Bound.of(_LIMIT))
        else:
            seamkit.open_table(folder).scan(memory_limit_bytes=_LIMIT, threads=1).to_table()
        ended = "rows"
    except RefusedError as error:
        ended = str(error)
    return ended, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10


def count(folder: str) -> tuple[str, int]:
    """Rows and bytes of what came of a Hive table batch by batch, and what `read` says, too."""
    import seamkit.tables.hive.table as hive

    pa.set_memory_pool(pa.system_memory_pool())
    pq.read_table(pa.BufferReader(_parquet_of(_TEXT)))
    how = json.loads((Path(folder).parent / "how.json").read_text())
    table = hive.HiveTable(folder, columns=how["columns"], file_format=how["format"])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = size = 0
    for batch in table.scan(memory_limit_bytes=_LIMIT, threads=1).to_reader():
        rows, size = rows + batch.num_rows, size + batch.nbytes
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    return f"{rows} rows of {size // 1_000_000} MB", grown


def _parquet_of(rows: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    pq.write_table(rows, out, compression="zstd")
    return out.getvalue()


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.slow if kind in _ALIKE else ()) for kind in _KINDS],
)
def test_what_is_unpacked_is_bounded_by_the_limit(kind: str, tmp_path: Path) -> None:
    """The refusal names the file, its place, what the bytes become and the option."""
    folder = tmp_path / "t"
    _KINDS[kind](folder)
    ended, grown = apart(read, str(folder))
    assert re.search(r"(become|bytes).* may have \d+ \(memory_limit_bytes\)", ended)
    assert str(folder) in ended or kind == "hfile"
    assert grown < _LIMIT + _BESIDE


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        *(("flat", "1.0"), ("struct", "2.0"), ("lists", "1.0"), ("fixed", "2.0")),
        *(
            pytest.param(kind, version, marks=pytest.mark.slow)
            for kind, version in (("flat", "2.0"), ("struct", "1.0"), ("lists", "2.0"))
        ),
        pytest.param("fixed", "1.0", marks=pytest.mark.slow),
    ],
)
def test_texts_of_a_dictionary_come_in_batches_within_the_limit(
    kind: str, version: Any, tmp_path: Path
) -> None:
    """All rows, equal to those without a limit; a process takes little more than the limit."""
    # Of values of one length Arrow holds some 80 MB, however many there are.
    rows, beside = _BYTES // 1_000_000, _BESIDE
    if kind == "fixed":
        rows, beside = 2 * rows, 2 * _BESIDE
    texts = _often("a" * 1_000_000, rows)
    makers: dict[str, tuple[str, Callable[[], pa.Array]]] = {
        "flat": ("string", lambda: texts),
        "struct": ("struct<t:string>", lambda: pa.StructArray.from_arrays([texts], ["t"])),
        "lists": (
            "array<string>",
            lambda: pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), texts),
        ),
        "fixed": ("binary", lambda: pa.array([b"a" * 1_000_000] * rows, pa.binary(1_000_000))),
    }
    word, make = makers[kind]
    folder = tmp_path / "t"
    content = _parquet(make, data_page_version=version)
    _hive("parquet", "a.parquet", content, word)(folder)
    assert (folder / "a.parquet").stat().st_size < 4000

    ended, grown = apart(count, str(folder))

    assert ended == f"{rows} rows of {rows} MB"
    assert grown < 2 * _LIMIT + beside
    table = seamkit.HiveTable(str(folder), columns={"a": word}, file_format="parquet")
    limited = table.scan(memory_limit_bytes=_LIMIT, threads=1).to_table()
    assert limited.equals(table.scan().to_table())


@pytest.mark.parametrize("limit", [None, 128 << 20])
def test_who_allows_more_gets_it(limit: int | None, tmp_path: Path) -> None:
    """The default is a gigabyte, and a limit may be larger than what is there."""
    folder = tmp_path / "t"
    _hive("parquet", "a.parquet", _parquet())(folder)
    table = seamkit.HiveTable(str(folder), columns={"a": "string"}, file_format="parquet")
    assert len(table.scan(memory_limit_bytes=limit).to_table()["a"][0].as_py()) == _BYTES
