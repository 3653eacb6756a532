"""Parquet files of Arrow, arrow-rs, DuckDB and Polars under Hive tables; each reads another's.

A table's files hold the same kinds of rows in other forms: versions of pages, encodings, codecs,
row groups and pages of a few rows, page indexes and Bloom filters.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from seambench.formats.arrow_rows import arrow_rows
from seambench.formats.hive.golden import DESCRIPTOR
from seambench_suites.writers.by_iceberg_rust import BUILD
from seambench_suites.writers.iceberg_programs import built
from seambench_suites.writers.keeping import Recipe, Row, Second, carry_out
from seambench_suites.writers.sample import EDGES, EDGES_NOTE, FLAT, NESTED, rows_of_edges, sample

COLUMNS = {"k": "bigint", **FLAT, **NESTED}
#: Hive's moments are readings of a clock.
MOMENTS = {"ts": pa.timestamp("us")}


def by_polars(path: Path, _: str) -> pa.Table:
    """What Polars' reader makes of all files."""
    return pl.scan_parquet(f"{path}/**/*.parquet", hive_partitioning=True).collect().to_arrow()


def by_duckdb(path: Path, _: str) -> pa.Table:
    """What DuckDB's reader makes of all files."""
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        files = f"{path}/**/*.parquet"
        found = connection.read_parquet(files, union_by_name=True, hive_partitioning=True)
        return found.to_arrow_table()


POLARS: dict[str, Second] = {f"Polars {pl.__version__}": by_polars}
DUCKDB: dict[str, Second] = {f"DuckDB {duckdb.__version__}": by_duckdb}


class Table(Recipe):
    """A Hive table while its files are written, by a writer's name in ids, and its version.

    `name` and `note` (a sentence) say what it is about; `second` is what other reader is asked, by
    name and version. `declared` are further keys of the declaration; `recipe` is the module.
    """

    def __init__(
        self,
        writer: str,
        title: str,
        name: str,
        note: str,
        columns: Mapping[str, str],
        second: Mapping[str, Second],
        recipe: str = "seambench_suites.writers.by_parquet",
        **declared: Any,
    ) -> None:
        partition = declared.get("partition", [])
        listed = [
            {"name": one, "type": kind} for one, kind in columns.items() if one not in partition
        ]
        descriptor: dict[str, Any] = {"format": "parquet", "columns": listed}
        if partition:
            descriptor["partitions"] = [{"name": p, "type": columns[p]} for p in partition]
        declared = {"features": ["hive.parquet"], **declared, "descriptor": descriptor}
        super().__init__(
            "hive", writer, title, name, note, columns, second, declared, recipe=recipe
        )
        self.path.mkdir(parents=True)
        text = json.dumps(descriptor, indent=2)
        (self.path / DESCRIPTOR).write_text(text + "\n", encoding="utf-8")
        self.rows: list[Row] = []

    def next_file(self) -> Path:
        """Where the next file is written, in a folder of no partition."""
        return self.path / f"{len(self.steps) + 1}.parquet"

    def done(self, rows: Sequence[Row], said: str) -> None:
        """Note a step that wrote rows."""
        self.rows += rows
        self.step(said, len(self.steps) + 1)

    def keep(self) -> None:
        """Ask for all rows, and keep the table."""
        self.ask("all-rows", self.rows)
        super().keep()


class Making(Table):
    """A Hive table whose files a library or program of this machine writes."""

    def __init__(
        self, writer: str, name: str, note: str, columns: Mapping[str, str], **declared: Any
    ) -> None:
        titles = {
            "arrow": f"pyarrow {pa.__version__}",
            "arrow-22": "pyarrow 22.0.0",
            "arrow-rs": "arrow-rs 58.4.1",
            "duckdb": f"DuckDB {duckdb.__version__}",
            "polars": f"Polars {pl.__version__}",
        }
        second = POLARS if writer == "duckdb" else DUCKDB
        super().__init__(writer, titles[writer], name, note, columns, second, **declared)

    def arrow(self, rows: Sequence[Row], said: str, **options: Any) -> None:
        """Write a file with Arrow."""
        table = arrow_rows(rows, self.columns, MOMENTS)
        pq.write_table(table, self.next_file(), **options)
        self.done(rows, said)

    def rust(self, rows: Sequence[Row], said: str, **how: Any) -> None:
        """Write a file with arrow-rs."""
        table = arrow_rows(rows, self.columns, MOMENTS)
        stream = Path(tempfile.mkdtemp(prefix="golden-rows-")) / "rows.arrow"
        with pa.ipc.new_stream(stream, table.schema) as out:
            out.write_table(table)
        made = built("rust", BUILD, "target/debug/parquet")
        command = [str(made), str(stream), str(self.next_file()), json.dumps(how)]
        subprocess.run(command, check=True)
        shutil.rmtree(stream.parent)
        self.done(rows, said)

    def polars(self, rows: Sequence[Row], said: str, **options: Any) -> None:
        """Write a file with Polars, out of a lazy frame."""
        frame = pl.from_arrow(arrow_rows(rows, self.columns, MOMENTS))
        assert isinstance(frame, pl.DataFrame)
        frame.lazy().sink_parquet(self.next_file(), **options)
        self.done(rows, said)

    def duckdb(self, rows: Sequence[Row], said: str, *options: str) -> None:
        """Write a file, or a folder of partitions, with DuckDB."""
        partition = any(option.startswith("PARTITION") for option in options)
        to = self.path if partition else self.next_file()
        table = arrow_rows(rows, self.columns, MOMENTS)
        with duckdb.connect() as connection:
            connection.register("given", table)
            listed = ", ".join(["FORMAT parquet", *options])
            connection.execute(f"COPY given TO '{to}' ({listed})")
        self.done(rows, said)


def arrow_22() -> None:
    """Times of INT96 before 1970, which Arrow counted back from midnight until its release 22."""
    columns = {"k": "bigint", "ts": "timestamp", "st": "struct<t:timestamp>"}
    made = Making("arrow-22", "times", "times of INT96 before and after 1970", columns)
    times = (
        *("1969-12-31T23:59:59.999999", "1969-12-31T00:00:00", "1970-01-01T00:00:00.000001"),
        *("1823-11-12T00:06:21.572613", "2024-02-29T12:34:56.123456"),
    )
    moments = [dt.datetime.fromisoformat(f"{time}+00:00") for time in times]
    rows: list[Row] = [{"k": k, "ts": at, "st": {"t": at}} for k, at in enumerate(moments)]
    rows += [{"k": 9, "ts": None, "st": None}]
    for unit in ("ns", "us"):
        stream = made.path.parent / "given.arrow"
        table = arrow_rows(rows, columns, {"timestamp": pa.timestamp("us"), **MOMENTS})
        kinds = [pa.int64(), pa.timestamp(unit), pa.struct([("t", pa.timestamp(unit))])]
        table = table.cast(pa.schema(zip(columns, kinds, strict=True)))
        with pa.ipc.new_stream(stream, table.schema) as out:
            out.write_table(table)
        program = (
            "import sys, pyarrow as pa, pyarrow.parquet as pq; "
            "rows = pa.ipc.open_stream(sys.argv[1]).read_all(); "
            "pq.write_table(rows, sys.argv[2], use_deprecated_int96_timestamps=True)"
        )
        uv = ["uv", "run", "--no-project", "--with", "pyarrow==22.0.0", "python", "-c", program]
        subprocess.run([*uv, str(stream), str(made.next_file())], check=True)
        stream.unlink()
        made.done(rows, f"INT96 out of Arrow's timestamps in {unit}")
    made.keep()


def sample_rows(first: int) -> list[Row]:
    """The sample, and rows whose values repeat."""
    values, edges, nulls = sample({**FLAT, **NESTED})
    rows = [values, edges, nulls, values, nulls, edges, values]
    return [{"k": first + n} | row for n, row in enumerate(rows)]


def encodings() -> None:
    """Every encoding and codec that Arrow writes, in row groups and pages of few rows."""
    note = "encodings, codecs and versions of pages, row groups of two rows"
    made = Making("arrow", "encodings", note, COLUMNS)
    small: dict[str, Any] = {"row_group_size": 2, "data_page_size": 16, "write_batch_size": 1}
    made.arrow(sample_rows(0), "dictionaries, pages of version 1, snappy", **small)
    plain: dict[str, Any] = {"use_dictionary": False, "compression": "none", **small}
    made.arrow(
        sample_rows(10),
        "plain, page indexes, checksums",
        write_page_index=True,
        write_page_checksum=True,
        **plain,
    )
    encoded = {
        **dict.fromkeys(("k", "i", "l", "day", "ts"), "DELTA_BINARY_PACKED"),
        **dict.fromkeys(("s",), "DELTA_BYTE_ARRAY"),
        **dict.fromkeys(("y",), "DELTA_LENGTH_BYTE_ARRAY"),
        **dict.fromkeys(("f", "d"), "BYTE_STREAM_SPLIT"),
        "b": "RLE",
        "st.b": "DELTA_BYTE_ARRAY",
        "st.a": "BYTE_STREAM_SPLIT",
    }
    made.arrow(
        sample_rows(20),
        "encodings of version 2 in pages of version 2, zstd",
        data_page_version="2.0",
        use_dictionary=False,
        column_encoding=encoded,
        compression="zstd",
        **small,
    )
    made.arrow(
        sample_rows(30),
        "pages of version 2 with dictionaries, decimals as whole numbers, gzip",
        data_page_version="2.0",
        store_decimal_as_integer=True,
        compression="gzip",
        **small,
    )
    made.arrow(
        sample_rows(40),
        "INT96, brotli, no statistics, no Arrow schema",
        use_deprecated_int96_timestamps=True,
        write_statistics=False,
        store_schema=False,
        compression="brotli",
        row_group_size=3,
    )
    made.arrow(
        sample_rows(50), "Parquet 1.0, LZ4", version="1.0", compression="lz4", row_group_size=7
    )
    made.keep()


def edges() -> None:
    """Values that change where they pass through another type."""
    made = Making("arrow", "edges", EDGES_NOTE, EDGES)
    made.arrow(rows_of_edges(), "by default")
    made.keep()


def rust_encodings() -> None:
    """Encodings, codecs and pages of arrow-rs."""
    note = "encodings, versions of pages, Bloom filters, row groups and pages of few rows"
    made = Making("arrow-rs", "encodings", note, COLUMNS)
    made.rust(sample_rows(0), "dictionaries, pages of version 1, snappy", compression="SNAPPY")
    small = {"rows_in_group": 2, "rows_in_page": 1}
    made.rust(sample_rows(10), "plain, Bloom filters", dictionary=False, bloom=True, **small)
    made.rust(
        sample_rows(20),
        "pages of version 2, delta encodings by default, zstd",
        version=2,
        dictionary=False,
        compression="ZSTD(1)",
        **small,
    )
    encoded = dict.fromkeys(("k", "l", "f", "d", "i", "n9"), "BYTE_STREAM_SPLIT")
    encoded |= {"s": "DELTA_LENGTH_BYTE_ARRAY", "y": "DELTA_BYTE_ARRAY"}
    made.rust(
        sample_rows(30),
        "bytes of streams split, texts by lengths, no statistics, no Arrow schema",
        dictionary=False,
        encodings=encoded,
        statistics="none",
        arrow_schema=False,
        compression="LZ4_RAW",
    )
    made.rust(
        sample_rows(40),
        "dictionaries that fall back, pages of version 2, gzip",
        version=2,
        dictionary_bytes=1,
        rows_in_page=1,
        compression="GZIP(6)",
    )
    made.keep()


def polars_sink() -> None:
    """What Polars has, which lacks maps, by `sink_parquet`."""
    columns = {name: kind for name, kind in COLUMNS.items() if not kind.startswith("map")}
    note = "flat and nested types, texts as views, row groups and pages of few rows"
    made = Making("polars", "sink", note, columns)
    made.polars(sample_rows(0), "sink_parquet by default")
    small: dict[str, Any] = {"row_group_size": 2, "data_page_size": 16}
    made.polars(sample_rows(10), "row groups of two rows, snappy", compression="snappy", **small)
    made.polars(sample_rows(20), "no statistics, gzip", statistics=False, compression="gzip")
    made.keep()


def duckdb_types() -> None:
    """Every type, by both versions of DuckDB's pages."""
    note = "flat and nested types in two versions of pages, with Bloom filters"
    made = Making("duckdb", "types", note, COLUMNS)
    made.duckdb(sample_rows(0), "version 1, snappy", "PARQUET_VERSION v1")
    near = [row | {"i": None if row["i"] is None else row["i"] // 4} for row in sample_rows(10)]
    # DuckDB 2.0.0 packs differences of 32-bit numbers into 33 bits, which Parquet's specification
    # forbids writers and pyarrow refuses: no two neighbours are that far apart here.
    made.duckdb(near, "version 2, zstd", "PARQUET_VERSION v2", "COMPRESSION zstd")
    made.duckdb(
        sample_rows(20), "no dictionaries, gzip", "DICTIONARY_SIZE_LIMIT 0", "COMPRESSION gzip"
    )
    made.keep()


def duckdb_partitions() -> None:
    """Partitions of Hive as DuckDB writes them."""
    columns = {"k": "bigint", "v": "string", "p": "string", "n": "int"}
    # DuckDB escapes bytes of UTF-8, Hive's rule means characters: 'é' would come as two.
    note = "partitions by text and number, with signs that are escaped"
    made = Making("duckdb", "partitions", note, columns, partition=["p", "n"])
    rows: list[Row] = [
        {"k": 1, "v": "x", "p": "a", "n": 1},
        {"k": 2, "v": None, "p": "b c/d=%20+&?#:", "n": -1},
        {"k": 3, "v": "", "p": "a", "n": 1},
        {"k": 4, "v": "z", "p": "a", "n": 2},
    ]
    made.duckdb(rows, "COPY with PARTITION_BY p, n", "PARTITION_BY (p, n)", "OVERWRITE_OR_IGNORE")
    made.keep()


if __name__ == "__main__":
    carry_out(
        encodings, edges, rust_encodings, polars_sink, duckdb_types, duckdb_partitions, arrow_22
    )
