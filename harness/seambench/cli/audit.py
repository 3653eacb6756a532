"""`seambench audit`: what state a table is in, and what to do about it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from seambase.command.terminal import parse_bytes, parse_list, plain_text, print_json, print_rows
from seambase.errors import UsageError
from seambench.cli.shared import completing
from seambench.cli.shared.common import Allow, console, error_console, narrow_rows

if TYPE_CHECKING:
    from seambench.contracts.scan import Scanner
    from seambench.seams.scan.audit.model import Audit

_UNANSWERED, _DAMAGED, _DISAGREED, _BROKEN = 1, 3, 4, 5


def audit(
    table: Annotated[
        str | None,
        typer.Argument(help="Folder of the table, or its address (s3://, gs://, hdfs://)."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="Most time for everything; what is left out is named.")
    ] = 60.0,
    most_bytes: Annotated[
        str,
        typer.Option(
            "--bytes",
            help="Most that is read for checks and measurements; other readers, who read the whole "
            "table, are asked only if it has no more.",
        ),
    ] = "1GiB",
    peer: Annotated[
        list[str] | None,
        typer.Option(
            help="Reader to compare with, repeatable: any that --reader takes elsewhere "
            "(default: all that are installed and state the table's format).",
            autocompletion=completing.implementations,
        ),
    ] = None,
    no_peers: Annotated[bool, typer.Option("--no-peers", help="Ask no other reader.")] = False,
    key: Annotated[
        str | None,
        typer.Option(help="Columns that tell rows apart, between commas (default: as declared)."),
    ] = None,
    reader: Annotated[
        str | None,
        typer.Option(
            help="Who looks at the table (default: the library).",
            autocompletion=completing.implementations,
        ),
    ] = None,
    storage_option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE of the storage's fsspec file system, repeatable: anon=true."),
    ] = None,
    allow: Allow = None,
    page: Annotated[Path | None, typer.Option(help="HTML file for the same as a page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Only print the form of the JSON as JSON Schema.")
    ] = False,
) -> None:
    """Look at a table without changing it: layout, damage, cost of merging, what to do first.

    Other readers that are installed count and sum the same rows. Ends with 0 where all is fine, 3
    where something is damaged, 4 where another reader has other rows, 5 where the table breaks a
    rule of its format that must hold (as `seambench lint`), 1 where a reader that was named gives
    no answer, 2 where there is no table.
    """
    from seambench.seams.scan.audit.model import json_schema

    if schema:
        typer.echo(json.dumps(json_schema(), indent=1))
        return
    if table is None:
        raise UsageError("name the folder of a table, or its address")
    if no_peers and peer:
        raise UsageError("--peer and --no-peers contradict each other")
    limit = parse_bytes(most_bytes)
    assert limit is not None
    from seambase.command.terminal import parse_options
    from seambench.contracts import registry
    from seambench.contracts.scan import ScanRequest
    from seambench.seams.scan.audit.run import Plan
    from seambench.seams.scan.audit.run import audit as run

    storage = parse_options(storage_option or [], "--storage-option")
    # Of somebody unknown, `Path.expanduser` dies where this leaves `~` as it is.
    folder = Path(os.path.expanduser(table))  # noqa: PTH111
    if folder.exists():
        table = str(folder.resolve())  # some readers know absolute paths without ".." alone
    plan = Plan(
        request=ScanRequest(table, storage_options=storage, allow=allow or ()),
        seconds=seconds,
        most_bytes=limit,
        peers=() if no_peers else peer,
        key=parse_list(key) or (),
    )
    scanner = cast("Scanner", registry.resolve("scan", reader or registry.default_reader()))
    err = error_console()
    with err.status("auditing") as status:
        result = run(scanner, plan, lambda now: status.update(plain_text(now)))
    if page is not None:
        from seambench.report.audit_page import write_audit_page

        write_audit_page(result, page)
        err.print(f"page: {page}", markup=False)
    _show(result, as_json=as_json)
    if result.damage:
        raise typer.Exit(_DAMAGED)
    if result.disagrees:
        raise typer.Exit(_DISAGREED)
    if result.breaks:
        raise typer.Exit(_BROKEN)
    if peer and (not result.answered or len(result.peers) < len(peer)):
        err.print("not every reader that was named has answered")
        raise typer.Exit(_UNANSWERED)


def _show(result: Audit, *, as_json: bool) -> None:
    if as_json:
        import msgspec

        print_json(msgspec.to_builtins(result))
        return
    from seambench.seams.scan.audit.words import sections, verdict

    out = console()
    for section in sections(result):
        out.print(f"\n{section.title}", style="bold", markup=False)
        cells = [[plain_text(cell) for cell in row] for row in section.rows]
        if not narrow_rows(out, section.columns, cells, whole=True):
            print_rows(section.columns, section.rows, whole=True)
        for line in (*section.details, *([section.note] if section.note else [])):
            out.print(plain_text(line), markup=False)
    out.print(f"\n{plain_text(verdict(result))}", markup=False)
