"""`seambench report`: the pages from the result records, and what they hold in other forms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from seambase.errors import UsageError
from seambase.wording import counted
from seambench.cli.shared.common import Results, Site


def report(
    results: Results = Path("results"),
    site: Site = Path("site"),
    validate: Annotated[
        bool, typer.Option("--validate", help="Only check every record; exit code 1 if one is bad.")
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Only print the records' form as JSON Schema.")
    ] = False,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", help="Only print all outcomes: as markdown, json, csv or junit (XML)."
        ),
    ] = None,
    regressions: Annotated[
        bool,
        typer.Option(
            "--regressions",
            help="Only name the kernels of results/history that became slower, with the commits; "
            "exit code 1 while one is neither mended nor acknowledged.",
        ),
    ] = False,
    documents: Annotated[
        bool,
        typer.Option(
            "--documents",
            help="Only write the tables of figures in README.md and docs/ of the checkout in the "
            "current folder anew, from the records that stand.",
        ),
    ] = False,
    publish: Annotated[
        Path | None,
        typer.Option(help="Folder for the pages with what static hosts want to find."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="PNG file for a picture of the first page; needs a browser."),
    ] = None,
) -> None:
    """Build the pages over all records of a results folder, or check or print the records.

    A check holds every record against the published form and makes its verdicts again.
    """
    if schema:
        import json

        from seambench.records.model import json_schema

        typer.echo(json.dumps(json_schema(), indent=1))
        return
    if validate:
        _validate(results)
    if regressions:
        _regressions(results / "history")
        return
    if documents:
        for name, text in documents_now(Path(), results).items():
            Path(name).write_text(text, encoding="utf-8")
            typer.echo(name)
        return
    if form is not None:
        from seambench.report import exported, load_records

        if not results.is_dir():
            raise UsageError(f"{results}: no such results folder")
        loaded = load_records(results)
        for problem in loaded.problems:
            typer.echo(f"no record: {problem.file}: {problem.reason}", err=True)
        typer.echo(exported(loaded, form), nl=False)
        raise typer.Exit(1 if loaded.problems else 0)
    from seambench import report as pages

    index = pages.publish(results, publish) if publish else pages.build(results, site)
    if picture is not None:
        typer.echo(str(pages.take_picture(index, picture)), err=True)
    typer.echo(str(index))


def documents_now(checkout: Path, results: Path) -> dict[str, str]:
    """Texts of a checkout's documents whose tables of figures are as the records have them."""
    from seambench.contracts import registry
    from seambench.records.tables import load_tables, with_tables
    from seambench.report.views.load import load_records

    suite = registry.resolve_suite("tpch")
    records = [shown.record for shown in load_records(results).records]
    found = {}
    tables = load_tables(suite.tables)
    for name in dict.fromkeys(table.document for table in tables):
        path = checkout / name
        if not path.is_file():
            raise UsageError(f"{path}: no such document; run it in a checkout")
        own = {table.name: table for table in tables if table.document == name}
        found[name] = with_tables(path.read_text(encoding="utf-8"), own, records)
    return found


def _validate(results: Path) -> NoReturn:
    from seambench.records.files import validate_tree

    broken = validate_tree(results)
    for line in broken:
        typer.echo(line)
    typer.echo(f"{len(broken)} broken" if broken else "all records are sound", err=True)
    raise typer.Exit(1 if broken else 0)


def _regressions(history: Path) -> None:
    from seambench.report.draw.text import percent
    from seambench.report.views.history import regressions
    from seambench.report.views.load import Problem

    if not history.is_dir():
        raise UsageError(f"{history}: no results by commit; `asv run` leaves them there")
    problems: list[Problem] = []
    steps = regressions(history, problems)
    for kernel, step in steps:
        words = {"seconds": "slower", "bytes": "more memory"}
        more = words.get(kernel.unit, f"more {kernel.unit}")
        typer.echo(
            f"{kernel.label}: {percent(step.factor)} {more} since {step.first_bad} "
            f"(git log {step.last_good}..{step.first_bad}; on {kernel.machine})"
            + (f": {step.reason}" if step.reason else "")
        )
    for problem in problems:
        typer.echo(f"no results: {problem.file}: {problem.reason}", err=True)
    unexplained = sum(not step.reason for _, step in steps)
    typer.echo(f"{counted(len(steps), 'regression')}, {unexplained} not acknowledged", err=True)
    raise typer.Exit(1 if problems or unexplained else 0)
