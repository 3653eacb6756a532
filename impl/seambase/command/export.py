"""Writing a stream of batches to a file or to standard output, whole or not at all."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import decimal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from seambase.command.terminal import json_text
from seambase.errors import UsageError
from seambase.written import whole_file

ENDINGS = (".arrow", ".parquet", ".csv", ".jsonl")


def check_target(target: str) -> None:
    """Check an `--output` before anything is read.

    An unknown ending, a folder, a missing folder, or binary data to a terminal is refused.
    """
    if target == "-":
        if sys.stdout.isatty():
            raise UsageError("--output -: an Arrow stream is not for a terminal; redirect it")
        return
    path = Path(target)
    if path.suffix not in ENDINGS:
        raise UsageError(f"--output {target!r} must end in {', '.join(ENDINGS)}, or be -")
    if path.is_dir():
        raise UsageError(f"--output {target!r} is a folder")
    if not path.parent.is_dir():
        raise UsageError(f"--output {target!r}: there is no folder {str(path.parent)!r}")


def export(stream: Any, target: str, on_rows: Callable[[int], None] | None = None) -> int:
    """Write all batches of a `pyarrow.RecordBatchReader`; how many rows they had.

    The target is a file (its ending tells the format) or `-` for an Arrow IPC stream on standard
    output. A file appears under its name when it is complete. `on_rows` gets the number of rows
    after each batch.
    """
    if target == "-":
        import pyarrow as pa

        with pa.ipc.new_stream(sys.stdout.buffer, stream.schema) as sink:
            rows = _write(stream, sink.write_batch, on_rows)
        sys.stdout.buffer.flush()
        return rows
    path = Path(target)
    with whole_file(path) as temporary, _opened(temporary, path.suffix, stream.schema) as write:
        return _write(stream, write, on_rows)


def _write(stream: Any, write: Callable[[Any], None], on_rows: Callable[[int], None] | None) -> int:
    rows = 0
    for batch in stream:
        write(batch)
        rows += batch.num_rows
        if on_rows is not None:
            on_rows(rows)
    return rows


@contextlib.contextmanager
def _opened(path: Path, ending: str, schema: Any) -> Iterator[Callable[[Any], None]]:
    import pyarrow as pa

    if ending == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as arrow:
            yield arrow.write_batch
    elif ending == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, schema, compression="zstd") as parquet:
            yield parquet.write_batch
    elif ending == ".csv":
        import pyarrow.csv as pc

        plain = _plain_schema(schema)
        with pa.OSFile(str(path), "wb") as file, pc.CSVWriter(file, plain) as csv:
            yield lambda batch: csv.write_batch(batch.cast(plain))
    else:
        with path.open("w", encoding="utf-8") as text:
            yield lambda batch: _write_lines(text, batch)


def _plain_schema(schema: Any) -> Any:
    """CSV has no dictionaries: their values are written. Of what is nested nothing is."""
    import pyarrow as pa

    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind) or _is_bytes(kind):
            raise UsageError(
                f"--output: column {field.name!r} is {field.type}, which CSV has no form for: "
                f"choose .jsonl, .parquet or .arrow, or columns without it"
            )
    return pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
    )


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    of_any_length = (pa.binary(), pa.large_binary(), pa.binary_view())
    return bool(pa.types.is_fixed_size_binary(kind)) or kind in of_any_length


def _write_lines(file: IO[str], batch: Any) -> None:
    """One object per row; decimals, dates and times as text, bytes as base64."""
    # So are numbers that JSON lacks: "NaN", "Infinity", "-Infinity".
    for row in batch.to_pylist():
        file.write(json_text(row, _text, ensure_ascii=False) + "\n")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, decimal.Decimal | dt.date | dt.time | dt.timedelta):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")
