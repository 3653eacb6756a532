"""Columns of vectors, which Hudi 1.2.0 keeps as bytes of one length and shows as arrays."""

import json
import struct
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.errors import InputError, RefusedError
from seamkit.files.promotion import resolve_column
from seamkit.tables.hudi.config.value_types import HUDI_TYPES
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.avro_schemas import optional, record
from seamkit_tests.samples.hudi_files import Table, at, base, log
from seamkit_tests.samples.hudi_log_bytes import INSTANT, SCHEMA, avro_content, block
from seamkit_tests.samples.hudi_scans import scan_on

_F, _D, _B = (
    pa.list_(pa.field("element", kind)) for kind in (pa.float32(), pa.float64(), pa.int8())
)


def _vector(element: str, count: int, size: int, **other: Any) -> dict[str, Any]:
    """The Avro type, as Hudi 1.2.0 writes it for `VECTOR(count, element)`."""
    stated = {"dimension": count, "elementType": element, "storageBacking": "FIXED_BYTES"}
    name = f"vector_{element.lower()}_{count}"
    return {"type": "fixed", "name": name, "size": size, "logicalType": "vector", **stated, **other}


_RECORD = record(
    "r",
    k=optional("string"),
    f=optional(_vector("FLOAT", 2, 8)),
    d=optional(_vector("DOUBLE", 1, 8)),
    b=optional(_vector("INT8", 3, 3)),
    again=optional("vector_float_2"),  # a type that is named once is referred to
)
_ROWS: list[dict[str, Any]] = [
    {"k": "a", "f": [1.5, -2.0], "d": [0.1], "b": [1, -128, 127], "again": [0.0, 3.0]},
    {"k": "b", "f": None, "d": [1e300], "b": None, "again": None},
    {"k": "c", "f": [9.0, 9.5], "d": None, "b": [0, 0, -1], "again": [7.0, -7.0]},
]
_NEWER: dict[str, Any] = {"k": "b", "f": [4.0, 0.25], "d": [-1.0], "b": [5, 6, 7], "again": None}
_FORMS = {"f": "<2f", "d": "<1d", "b": "<3b", "again": "<2f"}


def _stored(row: dict[str, Any]) -> dict[str, Any]:
    bytes_of = {n: row[n] and struct.pack(form, *row[n]) for n, form in _FORMS.items()}
    key = row["k"]
    return {"_hoodie_record_key": key, **row, **bytes_of}


def _table(root: Path) -> HudiTable:
    """A base file of three rows, and a log with a newer one."""
    table = Table(root, 9, hoodie__table__recordkey__fields="k")
    kinds = {"_hoodie_record_key": pa.string(), "k": pa.string()}
    kinds |= {n: pa.binary(struct.calcsize(form)) for n, form in _FORMS.items()}
    stored = pa.Table.from_pylist([_stored(row) for row in _ROWS], pa.schema(kinds))
    pq.write_table(stored, root / base(10), row_group_size=2)
    key = {"name": "_hoodie_record_key", "type": optional("string")}
    schema = {**_RECORD, "fields": [key, *_RECORD["fields"]]}
    content = avro_content(schema, [_stored(_NEWER)])
    header: dict[int, str | bytes] = {INSTANT: at(20), SCHEMA: json.dumps(schema)}
    (root / log(20)).write_bytes(block("avro", header, content))
    for requested, name in ((10, base(10)), (20, log(20))):
        completed = at(requested + 1)
        table.instant(at(requested), "deltacommit", completed, name, schema=json.dumps(_RECORD))
    return HudiTable(str(root))


@pytest.mark.parametrize("path", ["merge", "connector"])
def test_vectors_are_lists_of_their_numbers(tmp_path: Path, path: str) -> None:
    """Of base files and of logs, whichever path reads them; a null is null."""
    table = _table(tmp_path)
    kinds = {name: table.schema.field(name).type for name in _FORMS}
    assert kinds == {"f": _F, "d": _D, "b": _B, "again": _F}
    found = scan_on(table, path, ["k", *_FORMS]).to_table()
    found.validate(full=True)
    rows = sorted(found.to_pylist(), key=lambda row: str(row["k"]))
    assert rows == [_ROWS[0], _NEWER, _ROWS[2]]


def test_base_files_alone_have_them_in_duckdb_too(tmp_path: Path) -> None:
    """Its own reader would hand out the bytes."""
    scan = _table(tmp_path).scan(["k", *_FORMS], query="read-optimized")
    names = ", ".join(["k", *_FORMS])
    rows = scan.relation(duckdb.connect()).order("k").project(names).fetchall()
    assert [list(row) for row in rows] == [list(row.values()) for row in _ROWS]


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        (_vector("FLOAT16", 4, 8), RefusedError, "of 'FLOAT16' in 'FIXED_BYTES'"),
        (_vector("FLOAT", 2, 8, storageBacking="ARRAY"), RefusedError, "of 'FLOAT' in 'ARRAY'"),
        (_vector("FLOAT", 3, 8), InputError, "of 3 FLOAT, which do not fill 8 bytes"),
        (_vector("FLOAT", 2, 8, dimension=None), InputError, "of None FLOAT"),
    ],
)
def test_what_is_no_known_vector_is_refused(
    tmp_path: Path, kind: Any, error: type[Exception], said: str
) -> None:
    """Bytes would be the wrong answer."""
    schema = json.dumps(record("r", k=optional("string"), f=optional(kind)))
    Table(tmp_path, 9).instant(at(10), "deltacommit", at(11), schema=schema)
    with pytest.raises(error, match=f"schema: column 'f' is a vector {said}"):
        _ = HudiTable(str(tmp_path)).schema


@pytest.mark.parametrize("begin", [0, 1, 2])
def test_slices_and_lists_of_one_length(begin: int) -> None:
    """Files in Lance have the latter; of a slice only its own rows count."""
    field = pa.field("f", _F)
    rows = [[1.0, 2.0], None, [3.0, 4.0]]
    packed = [row and struct.pack("<2f", *row) for row in rows]
    for stored in (
        pa.array(packed, pa.binary(8)),
        pa.array(rows, pa.list_(pa.float32(), 2)),
    ):
        column = resolve_column(stored.slice(begin), field, HUDI_TYPES, "x")
        column.validate(full=True)
        assert column.to_pylist() == rows[begin:]
    odd = pa.array([b"12345"], pa.binary(5))
    with pytest.raises(RefusedError, match="which does not promote"):
        resolve_column(odd, field, HUDI_TYPES, "x")
