"""`seambench scan`: read a table to the terminal or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from seambase.errors import UsageError
from seambench.cli.shared.common import (
    Allow,
    Threads,
    console,
    error_console,
    parse_bytes,
    parse_list,
    plain_text,
    print_rows,
)

if TYPE_CHECKING:
    from seambase.scan import Query, ScanReport
    from seambench.cli.stages.plan_files import PlannedReading
    from seambench.contracts.scan import Scanner
    from seambench.engines.table_reading import TableReading

__all__ = ["scan"]

_QUERIES = ("snapshot", "read-optimized", "incremental", "cdc")
_ROWS_SHOWN = 20
_WARNINGS_SHOWN = 10
#: What means something where a plan is written, or read.
_OF_PLAN = frozenset(
    {
        *("table", "columns", "where", "reader", "query", "as-of", "begin", "end", "plan"),
        *(
            "changes-alone",
            "threads",
            "batch-size",
            "memory-limit",
            "strict",
            "storage-option",
            "allow",
        ),
    }
)
_OF_UNIT = frozenset({"unit", "index", "reader", "storage-option", "output"})


def scan(
    context: typer.Context,
    table: Annotated[
        str | None,
        typer.Argument(help="Folder of the table, or its address (s3://, gs://, hdfs://)."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Names between commas (default: all but meta columns).")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="One DuckDB SQL expression over the table's columns.")
    ] = None,
    reader: Annotated[str, typer.Option(help="auto, native, merge, connector, or any other.")] = (
        "auto"
    ),
    query: Annotated[str, typer.Option(help="snapshot, read-optimized, incremental or cdc.")] = (
        "snapshot"
    ),
    as_of: Annotated[str | None, typer.Option(help="Only changes up to this instant.")] = None,
    begin: Annotated[str | None, typer.Option(help="Incremental, cdc: after this instant.")] = None,
    end: Annotated[str | None, typer.Option(help="Incremental, cdc: up to this instant.")] = None,
    changes_alone: Annotated[
        bool,
        typer.Option(
            "--changes-alone", help="Incremental: merge changes without the rows they changed."
        ),
    ] = False,
    limit: Annotated[int | None, typer.Option(min=0, help="At most this many rows.")] = None,
    engine: Annotated[
        str, typer.Option(help="local, or spark: slices are read by Spark's tasks.")
    ] = "local",
    master: Annotated[
        str | None, typer.Option(help="With --engine spark: its master (default: local[*]).")
    ] = None,
    threads: Threads = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Most rows in a batch.")] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Most memory for decoded logs and merged rows, e.g. 1GiB.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse damage that is otherwise skipped.")
    ] = False,
    meta: Annotated[bool, typer.Option("--meta", help="Also the format's meta columns.")] = False,
    storage_option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE of the storage's fsspec file system, repeatable: anon=true."),
    ] = None,
    allow: Allow = None,
    plan: Annotated[
        Path | None,
        typer.Option(help="Write what would be read to FILE, as JSON, and read nothing."),
    ] = None,
    unit: Annotated[
        Path | None,
        typer.Option(help="Read what a plan in FILE says, in place of a table's folder."),
    ] = None,
    index: Annotated[
        list[int] | None,
        typer.Option(help="With --unit: the number of a unit of the plan, repeatable."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="FILE.arrow|.parquet|.csv|.jsonl, or - (Arrow stream)."
        ),
    ] = None,
) -> None:
    """Read a table: a short table here, or all rows into a file.

    Instants are written as the timeline writes them (14 or 17 digits) or as ISO 8601. A plan that
    --plan has written is read by any other process with --unit, all of it or some of its units.
    """
    if unit is not None:
        _scan_planned(context, table, unit, index, reader, storage_option, output)
        return
    if table is None or index:
        raise UsageError("name a table" if table is None else "--index goes with --unit")
    if query not in _QUERIES:
        raise UsageError(f"--query {query!r}: the queries are {', '.join(_QUERIES)}")
    names, memory = parse_list(columns), parse_bytes(memory_limit)
    from seambench.cli.export import check_target
    from seambench.cli.stages.plan_files import require_only, write_plan
    from seambench.contracts.scan import ScanRequest
    from seambench.seams.serde.schema_text import parse_options

    if output is not None:
        check_target(output)
    # Imports DuckDB and pyarrow: after everything that can fail without them.
    from seambench.engines.table_reading import TableReading

    request = ScanRequest(
        table=table,
        query=cast("Query", query),
        as_of=as_of,
        begin=begin,
        end=end,
        changes_alone=changes_alone,
        batch_rows=batch_size,
        threads=threads,
        memory_limit_bytes=memory,
        strict=strict,
        storage_options=parse_options(storage_option or [], "--storage-option"),
        allow=allow or (),
    )
    if plan is not None:
        require_only(context, _OF_PLAN, "--plan")
        own = replace(request, columns=names, where=where)
        with _scanner(reader, engine, master) as scanner:
            count = write_plan(scanner, own, plan)
        sys.stderr.write(plain_text(f"a plan of {count} units written to {plan}") + "\n")
        return
    with _scanner(reader, engine, master) as scanner:
        reading = TableReading(scanner, request, names, where=where, meta=meta, limit=limit)
        rows = _read(reading, output)
        _tell(reading.report(), request.table, rows, output)


def _scan_planned(
    context: typer.Context,
    table: str | None,
    file: Path,
    index: list[int] | None,
    reader: str,
    storage_option: list[str] | None,
    output: str | None,
) -> None:
    """Read units of a plan."""
    from seambench.cli.export import check_target
    from seambench.cli.stages.plan_files import PlannedReading, require_only
    from seambench.seams.serde.schema_text import parse_options

    if table is not None:
        raise UsageError("a plan says which table is read: name none with --unit")
    require_only(context, _OF_UNIT, "--unit")
    if output is not None:
        check_target(output)
    options = parse_options(storage_option or [], "--storage-option")
    with _scanner(reader, "local", None) as scanner:
        reading = PlannedReading(scanner, file, index or None, options)
        rows = _read(reading, output)
        _tell(reading.report(), str(file), rows, output)


@contextmanager
def _scanner(reader: str, engine: str, master: str | None) -> Iterator[Scanner]:
    """The reader, as it is or with its scans given to Spark."""
    from seambench.contracts import registry

    scanner = cast("Scanner", registry.resolve("scan", reader))
    if engine == "local":
        if master is not None:
            raise UsageError("--master goes with --engine spark")
        yield scanner
    elif engine == "spark":
        from seambench.engines.spark import SparkOptions, spark_session

        options = SparkOptions(master=master, memory="1g")
        with spark_session(options) as (session, log):
            from seambench.engines.spark_scan import SparkScanner

            yield SparkScanner(scanner, session, log)
    else:
        raise UsageError(f"--engine {engine!r}: the engines are local and spark")


def _read(reading: TableReading | PlannedReading, output: str | None) -> int:
    """Read all rows to where they should go; their number."""
    from seambench.cli.export import export

    with reading.open() as stream:
        if output is None:
            return _show(stream)
        with error_console().status("reading") as status:
            return export(
                stream, output, lambda count: status.update(f"reading, {count:,} rows so far")
            )


def _show(stream: Any) -> int:
    """Print the first rows as a table, and count the rest."""
    rows, first = 0, list[tuple[object, ...]]()
    with error_console().status("reading") as status:
        for batch in stream:
            if rows < _ROWS_SHOWN:
                columns = [_values(column) for column in batch.slice(0, _ROWS_SHOWN - rows).columns]
                first += zip(*columns, strict=True)
            rows += batch.num_rows
            status.update(f"reading, {rows:,} rows so far")
    out = console()
    if stream.schema.names:
        print_rows(stream.schema.names, first)
    if rows > _ROWS_SHOWN:
        out.print(f"... {rows - _ROWS_SHOWN:,} more")
    out.print(f"{rows:,} row{'' if rows == 1 else 's'}")
    return rows


def _values(column: Any) -> list[object]:
    """A column's values for people; moments that Python has no object for are their numbers."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        from seambench.seams.serde.values import plain_values

        return plain_values(column)


def _tell(report: ScanReport, source: str, rows: int, output: str | None) -> None:
    """Remarks on standard error: warnings, the paths taken, the file."""
    for warning in report.warnings[:_WARNINGS_SHOWN]:
        sys.stderr.write(f"warning: {plain_text(str(warning))}\n")
    rest = len(report.warnings) - _WARNINGS_SHOWN
    if rest > 0:
        sys.stderr.write(f"warning: {rest} more places were skipped\n")
    paths = ", ".join(f"{path} {count}" for path, count in sorted(report.paths.items()))
    is_file = output is not None and output != "-"
    written = f"{rows:,} rows written to {output}" if is_file else source
    sys.stderr.write(plain_text(f"{written}{f' (slices: {paths})' if paths else ''}") + "\n")
    if report.unread_pages:
        sys.stderr.write(
            f"{report.unread_pages:,} of {report.pages:,} pages left out by their index\n"
        )
