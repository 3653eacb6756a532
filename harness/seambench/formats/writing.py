"""Writing golden tables: a small Spark session, archives, and what is noted beside them."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import Written
from seambench.engines.spark import SparkOptions, spark_session

#: One task at a time, so that a table is written in the same way each time.
_SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.default.parallelism": "1"}


@contextmanager
def small_session(
    format_: TableFormat, version: str | None = None, *, brief: bool = True
) -> Iterator[Any]:
    """A Spark session for small tables, with one version of a format's jars; times are UTC.

    See `SparkOptions` for `brief`; of hundreds of tables Java's second compiler pays.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    options = SparkOptions(
        "local[1]", "1500m", conf=_SETTINGS, brief=brief, bundle=format_.bundle(version)
    )
    with spark_session(options) as (session, _log):
        yield session


def pack(table: Path, archive: Path, *, side_files: bool = False) -> None:
    """Write a table's folder as a zip, entries sorted and dated alike, whole or not at all."""
    partial = archive.with_suffix(".tmp")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for file in sorted(table.rglob("*")):
            name = file.relative_to(table).as_posix()
            if file.name.startswith(".") and file.suffix == ".crc" and not side_files:
                continue
            info = zipfile.ZipInfo(name + ("/" if file.is_dir() else ""), (2020, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, b"" if file.is_dir() else file.read_bytes())
    partial.replace(archive)


def origin_text(writer: str, archive: Path, declaration: Path | None, written: Written) -> str:
    """Text of `origin.toml` (`seambench.contracts.tables.Origin`)."""
    lines = [
        "# Written by a program, together with the archive.",
        f'writer = "{writer}"',
        f"made = {dt.date.today().isoformat()}",
        f"instants = {json.dumps(written.instants)}",
    ]
    if any(written.completions):
        lines.append(f"completions = {json.dumps(written.completions)}")
    lines.append(f'sha256 = "{file_digest(archive)}"')
    if declaration is not None:
        lines.append(f'spec = "{file_digest(declaration)}"')
    return "\n".join(lines) + "\n"


def file_digest(file: Path) -> str:
    """SHA-256 of a file, as it stands in `origin.toml`."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
