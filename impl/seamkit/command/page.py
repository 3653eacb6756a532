"""`seamkit page`: bytes of pages and rows into tables, and back."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seambase.command.export import check_target, export
from seambase.command.terminal import parse_options
from seambase.errors import InputError, RefusedError, SeambenchError, UnavailableError, UsageError
from seambase.serde import SerdeField, SerdeRequest
from seambase.types import SerdeType, language_of, parse_type
from seambase.wording import counted
from seambase.written import whole_file
from seamkit.command.scan import read_file, show_rows

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_SHOWN = 20


def request_of(format_: str, schema: str, options: Mapping[str, Any]) -> SerdeRequest:
    """A request from a schema in the words of its format.

    Args:
        format_: `presto`, `unsaferow`, `compactrow` or `arrow`.
        schema: `id bigint, tags array(varchar)` for Presto, `id:bigint,tags:array<string>` for
            Spark; or the `.json` of a golden file, whose columns and options are taken.
        options: options of the request; they go before those of a golden file.
    """
    if schema.endswith(".json"):
        return _of_golden(format_, Path(schema), options)
    request = SerdeRequest(format_, (), options)
    language = language_of(request)
    whole = parse_type(f"row({schema})" if language == "presto" else f"struct<{schema}>", language)
    return SerdeRequest(format_, _fields(whole, schema), options)


def _fields(whole: SerdeType, schema: str) -> list[SerdeField]:
    if "" in whole.names:
        raise UsageError(f"schema {schema!r}: column {whole.names.index('') + 1} has no name")
    return [SerdeField(n, t.text) for n, t in zip(whole.names, whole.children, strict=True)]


def _of_golden(format_: str, file: Path, options: Mapping[str, Any]) -> SerdeRequest:
    """Columns and options that the description of a golden file tells."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        columns = content["columns"]
        fields = [SerdeField(c["name"], c["type"], c.get("nullable", True)) for c in columns]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: no description of a golden file ({error!r})") from error
    stated = {key: content[key] for key in ("codec", "checksum", "framing") if key in content}
    if stated.get("framing") == "packed":
        stated["lengths"] = [row["length"] for row in content["rows"]]
    return SerdeRequest(format_, fields, {**stated, **content.get("options", {}), **options})


def decode(given: argparse.Namespace) -> int:
    """Read bytes: a short table here, or all rows into a file."""
    import pyarrow as pa

    if given.output is not None:
        check_target(given.output)
    # What leaves here is plain: dictionaries and runs are read as values.
    request = _request(given, {"encodings": "flatten"} if given.format == "presto" else {})
    try:
        batches = _deserialized(request, read_file(Path(given.file)))
    except SeambenchError as error:
        raise _named(error, given.file) from error
    rows = sum(batch.num_rows for batch in batches)
    if given.output is None:
        show_rows([one.name for one in request.fields], _first(batches), rows)
        return 0
    from seambase.types import schema_of

    export(pa.RecordBatchReader.from_batches(schema_of(request), batches), given.output)
    sys.stderr.write(f"{counted(rows, 'row')} written to {given.output}\n")
    return 0


def _first(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    first: list[pa.RecordBatch] = []
    left = _ROWS_SHOWN
    for batch in batches:
        first.append(batch.slice(0, left))
        left -= first[-1].num_rows
    return first


def encode(given: argparse.Namespace) -> int:
    """Write the rows of a file as bytes of a format, one page for each batch."""
    request = _request(given, {})
    batches = _batches(Path(given.file), request)
    try:
        written = _serialized(request, batches)
    except SeambenchError as error:
        raise _named(error, given.file) from error
    with whole_file(Path(given.output)) as temporary:
        temporary.write_bytes(written)
    rows = sum(batch.num_rows for batch in batches)
    sys.stderr.write(
        f"{counted(rows, 'row')} written to {given.output} ({counted(len(written), 'byte')})\n"
    )
    return 0


def _request(given: argparse.Namespace, defaults: dict[str, Any]) -> SerdeRequest:
    return request_of(given.format, given.schema, {**defaults, **parse_options(given.option)})


def _deserialized(request: SerdeRequest, data: bytes) -> list[pa.RecordBatch]:
    if request.format == "presto":
        from seamkit.serde.presto.read import deserialize as read_pages

        return read_pages(data, request.fields, request.options)
    from seamkit.serde.rows.serde import deserialize as read_rows

    return [read_rows(request.format, data, request.fields, request.options)]


def _serialized(request: SerdeRequest, batches: list[pa.RecordBatch]) -> bytes:
    if request.format == "presto":
        from seamkit.serde.presto.write import serialize as write_page

        pages = (write_page(batch, request.fields, request.options) for batch in batches)
        return b"".join(memoryview(page) for page in pages)
    from seamkit.serde.rows.serde import serialize as write_rows

    return bytes(write_rows(request.format, batches, request.fields, request.options))


def _named(error: SeambenchError, file: str) -> SeambenchError:
    """The same refusal with the file's name."""
    kinds = (UsageError, InputError, RefusedError, UnavailableError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), SeambenchError)
    return kind(str(error) if str(error).startswith(f"{file}: ") else f"{file}: {error}")


def _batches(file: Path, request: SerdeRequest) -> list[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from seambase.foreign_arrow import sound
    from seambase.types import schema_of

    if file.suffix not in (".arrow", ".parquet"):
        raise UsageError(f"{file}: rows are read from .arrow (IPC file) or .parquet")
    wanted = schema_of(request)
    try:
        if file.suffix == ".parquet":
            table = pq.ParquetFile(file).read()  # nothing from the names of its folders
        else:
            with pa.ipc.open_file(file) as reader:
                count = reader.num_record_batches
                batches = [sound(reader.get_batch(n), str(file)) for n in range(count)]
                table = pa.Table.from_batches(batches, reader.schema)
        return list(table.select(wanted.names).cast(wanted).to_batches())
    except OSError as error:
        raise UsageError(f"{file}: not readable ({error})") from error
    except KeyError as error:
        raise UsageError(f"{file}: {error.args[0]}") from error
    except pa.ArrowException as error:
        raise UsageError(f"{file}: its columns are not those of the schema: {error}") from error
