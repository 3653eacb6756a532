"""Tables that Spark and Paimon wrote, unpacked from the suites' golden files, and their rows."""

import io
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seamkit.avro.data_file import read_container
from seamkit.connector.change_rows import reader_of
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.avro_schemas import container, logical, optional, record
from seamkit_tests.samples.golden_tables import unpack

_GOLDEN = SUITES_GOLDEN / "paimon"
#: Tables of which the engine itself loses rows, as NaN equals every number there.
NAN_TABLES = ("core-nan-keys", "core-nan-sequence", "core-nan-group", "core-nan-inside")


def paimon_table_names() -> list[str]:
    """The names that `unpack_paimon` knows."""
    return sorted(path.parent.name for path in _GOLDEN.glob("*/table.zip"))


def witnessed_paimon_tables() -> list[str]:
    """Those among them of which an engine's own answers are kept."""
    return [name for name in paimon_table_names() if (_GOLDEN / name / "witness.json").exists()]


def witnessed_paimon_states(name: str) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    """Snapshots as the first step that left them, and None for the newest as the last one did."""
    folder = _GOLDEN / name
    instants = tomllib.loads((folder / "origin.toml").read_text(encoding="utf-8"))["instants"]
    steps = json.loads((folder / "witness.json").read_text(encoding="utf-8"))
    for number, (instant, witness) in enumerate(zip(instants, steps, strict=True)):
        later = [other for other in instants[number:] if other]
        went_back = any(int(other) < int(instant or 0) for other in later)
        if instant and instant not in instants[:number] and not went_back:
            yield int(instant), witness
    yield None, steps[-1]


def need_packages(name: str) -> None:
    """Skip a test of a table whose merge takes a package that is not there."""
    if name == "core-sketches":
        pytest.importorskip("datasketches")


def unpack_paimon(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder; returns that folder."""
    return unpack(f"paimon/{name}", folder / name)


def rows_of_table(table: Path, **how: Any) -> pa.Table:
    """All rows of a table."""
    return PaimonTable(str(table)).scan(threads=1, **how).to_table()


def scan_by(
    table: Path, path: str = "auto", columns: Sequence[str] | None = None, **how: Any
) -> UnitScan:
    """A scan of a table on our own paths, or a row at a time on `connector`."""
    scan = PaimonTable(str(table)).scan(columns, **how)
    assert isinstance(scan, UnitScan)
    return scan.read_by(path, reader_of(scan)) if path == "connector" else scan


def edit_schema(
    table: Path, edit: Callable[[dict[str, Any]], object], number: int = 0, of: int | None = None
) -> None:
    """Change the schema of a number, or make it of that of another one."""
    folder = table / "schema"
    content = json.loads((folder / f"schema-{number if of is None else of}").read_bytes())
    edit(content)
    (folder / f"schema-{number}").write_text(json.dumps(content), encoding="utf-8")


def rewrite_manifests(
    table: Path,
    change: Callable[[dict[str, Any]], None],
    written_by: Callable[[Any], None] = lambda _: None,
) -> None:
    """Change each entry of all manifests, and mend their sizes wherever these are told.

    `written_by` changes the schema that they are written by.
    """
    sizes: dict[str, int] = {}

    def resized(record: dict[str, Any]) -> None:
        record["_FILE_SIZE"] = sizes[record["_FILE_NAME"]]

    manifests = sorted(table.glob("manifest/manifest-*"))
    lists = [file for file in manifests if file.name.startswith("manifest-list-")]
    for file in manifests:
        if file not in lists:
            sizes[file.name] = rewritten(file, change, written_by)
    lengths = {file.name: rewritten(file, resized) for file in lists}
    for file in table.glob("snapshot/snapshot-*"):
        snapshot = json.loads(file.read_text("utf-8"))
        for word in ("base", "delta", "changelog"):
            if snapshot.get(f"{word}ManifestListSize") is not None:
                snapshot[f"{word}ManifestListSize"] = lengths[snapshot[f"{word}ManifestList"]]
        file.write_text(json.dumps(snapshot), "utf-8")


def rewritten(
    file: Path,
    change: Callable[[dict[str, Any]], None],
    written_by: Callable[[Any], None] = lambda _: None,
) -> int:
    """Change the records of an Avro file; returns its new size."""
    content = file.read_bytes()
    schema: Any = fastavro.reader(io.BytesIO(content)).writer_schema
    written_by(schema)
    records = list(read_container(content, str(file)))
    for one in records:
        change(one)
    out = io.BytesIO()
    fastavro.writer(out, schema, records)
    return file.write_bytes(out.getvalue())


def files_as(table: Path, ending: str) -> None:
    """Data files in Parquet become such as end in `orc` or `avro`; of flat columns, no decimals."""
    sizes = {}
    for file in table.glob("**/data-*.parquet"):
        other, rows = file.with_suffix(f".{ending}"), pq.ParquetFile(file).read()
        if ending == "orc":
            orc.write_table(rows, str(other))
        else:
            other.write_bytes(_avro(rows))
        sizes[file.stem] = other.stat().st_size
        file.unlink()

    def named(record: dict[str, Any]) -> None:
        told = record["_FILE"]
        stem = told["_FILE_NAME"].removesuffix(".parquet")
        told["_FILE_NAME"] = f"{stem}.{ending}"
        told["_FILE_SIZE"] = sizes.get(stem, told["_FILE_SIZE"])

    rewrite_manifests(table, named)


def _avro(rows: pa.Table) -> bytes:
    day, moment = logical("int", "date"), logical("long", "local-timestamp-micros")
    kinds = {pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.date32(): day}
    named = {field.name: optional(kinds.get(field.type, moment)) for field in rows.schema}
    return container(record("r", **named), rows.to_pylist(), codec="deflate")
