"""`seambench report`: build the page from the result records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seambench.cli.shared.common import Results, Site

__all__ = ["report"]


def report(
    results: Results = Path("results"),
    site: Site = Path("site"),
    validate: Annotated[
        bool, typer.Option("--validate", help="Only check every record; exit code 1 if one is bad.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Only print the records' form as JSON Schema.")
    ] = False,
) -> None:
    """Build the page over all records of a results folder, or check the records.

    A check holds every record against the published form and makes its verdicts again.
    """
    if schema:
        import json

        from seambench.records.model import json_schema

        typer.echo(json.dumps(json_schema(), indent=1))
        return
    if validate:
        from seambench.records.files import validate_tree

        broken = validate_tree(results)
        for line in broken:
            typer.echo(line)
        typer.echo(f"{len(broken)} broken" if broken else "all records are sound", err=True)
        raise typer.Exit(1 if broken else 0)
    from seambench.report import build

    typer.echo(str(build(results, site)))
