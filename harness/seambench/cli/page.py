"""`seambench page`: bytes of pages and rows into tables, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seambase.command.terminal import print_rows
from seambase.errors import InputError, RefusedError, SeambenchError, UnavailableError, UsageError
from seambase.whole_file import whole_file
from seambench.cli.shared.common import console

if TYPE_CHECKING:
    from seambase.serde import SerdeRequest

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Turn bytes of an engine into rows, and back.")

_ROWS_SHOWN = 20
_Format = Annotated[str, typer.Option("--format", help="presto, unsaferow, compactrow or arrow.")]
_Schema = Annotated[
    str,
    typer.Option(
        help="`id bigint, tags array(varchar)`, for rows `id:bigint,tags:array<string>`, or a "
        "golden file's .json."
    ),
]
_Options = Annotated[
    list[str] | None,
    typer.Option("--option", help="NAME=VALUE of the format, repeatable: codec=lz4."),
]
_Impl = Annotated[str, typer.Option("--impl", help="Who does it: a name from `seambench list`.")]


@app.command()
def decode(
    file: Annotated[Path, typer.Argument(help="File of pages or rows.")],
    schema: _Schema,
    format_: _Format = "presto",
    option: _Options = None,
    impl: _Impl = "seambench",
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="FILE.arrow|.parquet|.csv|.jsonl, or - (Arrow stream)."
        ),
    ] = None,
) -> None:
    """Read bytes: a short table here, or all rows into a file."""
    from seambase.command.export import check_target, export

    if output is not None:
        check_target(output)
    request = _request(format_, schema, option)
    data = _read(file)
    try:
        batches = _serde(impl).deserialize(request, data)
    except SeambenchError as error:
        raise _named(error, file) from error
    if output is None:
        _show(request, batches)
        return
    import pyarrow as pa

    from seambase.types import schema_of
    from seambench.seams.serde.values import plain_batch

    flat = [plain_batch(batch, request) for batch in batches]
    stream = pa.RecordBatchReader.from_batches(schema_of(request), flat)
    rows = export(stream, output)
    sys.stderr.write(f"{rows:,} rows written to {output}\n")


@app.command()
def encode(
    file: Annotated[Path, typer.Argument(help="FILE.arrow or FILE.parquet.")],
    schema: _Schema,
    output: Annotated[Path, typer.Option("-o", "--output", help="File for the bytes.")],
    format_: _Format = "presto",
    option: _Options = None,
    impl: _Impl = "seambench",
) -> None:
    """Write the rows of a file as bytes of a format, one page for each batch."""
    request = _request(format_, schema, option)
    batches = _batches(file, request)
    try:
        written = bytes(_serde(impl).serialize(request, batches))
    except SeambenchError as error:
        raise _named(error, file) from error
    with whole_file(output) as temporary:
        temporary.write_bytes(written)
    rows = sum(batch.num_rows for batch in batches)
    sys.stderr.write(f"{rows:,} rows written to {output} ({len(written):,} bytes)\n")


def _named(error: SeambenchError, file: Path) -> SeambenchError:
    """The same refusal with the file's name; foreign subclasses may want other arguments."""
    kinds = (UsageError, InputError, RefusedError, UnavailableError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), SeambenchError)
    return kind(f"{file}: {error}")


def _request(format_: str, schema: str, option: list[str] | None) -> SerdeRequest:
    from seambase.command.terminal import parse_options
    from seambench.seams.serde.schema_text import request_of

    return request_of(format_, schema, parse_options(option or []))


def _serde(name: str) -> Any:
    from seambench.contracts import registry

    return registry.resolve("serde", name)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: not readable ({error.strerror})") from error


def _batches(file: Path, request: SerdeRequest) -> list[Any]:
    """Batches of a file, their columns those of the request."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from seambase.foreign_arrow import sound
    from seambase.types import schema_of

    if file.suffix not in (".arrow", ".parquet"):
        raise UsageError(f"{file}: rows are read from .arrow (IPC file) or .parquet")
    wanted = schema_of(request)
    try:
        if file.suffix == ".parquet":
            table = pq.read_table(file)
        else:
            with pa.ipc.open_file(file) as reader:
                count = reader.num_record_batches
                batches = [sound(reader.get_batch(n), str(file)) for n in range(count)]
                table = pa.Table.from_batches(batches, reader.schema)
        chosen = table.select(wanted.names)
        return list(chosen.cast(wanted).to_batches())
    except OSError as error:
        raise UsageError(f"{file}: not readable ({error})") from error
    except KeyError as error:
        raise UsageError(f"{file}: {error.args[0]}") from error
    except pa.ArrowException as error:
        raise UsageError(f"{file}: its columns are not those of the schema: {error}") from error


def _show(request: SerdeRequest, batches: list[Any]) -> None:
    """Print the first rows as a table."""
    from seambench.seams.serde.values import plain_values

    rows = sum(batch.num_rows for batch in batches)
    first: list[tuple[object, ...]] = []
    for batch in batches:
        part = batch.slice(0, _ROWS_SHOWN - len(first))
        first += zip(*(plain_values(column) for column in part.columns), strict=True)
    out = console()
    if request.fields:
        print_rows([field.name for field in request.fields], first)
    if rows > _ROWS_SHOWN and request.fields:
        out.print(f"... {rows - _ROWS_SHOWN:,} more")
    out.print(f"{rows:,} row{'' if rows == 1 else 's'} in {len(batches):,} batches")
