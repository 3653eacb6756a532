"""`seambench run`: data, comparison and page in one go."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from seambase.errors import SeambenchError, UnavailableError
from seambench.cli.bench import run_bench
from seambench.cli.shared.common import (
    DataFolder,
    Queries,
    Readers,
    Results,
    Samples,
    ScansOnly,
    Site,
    Threads,
    data_folder,
    default_readers,
    error_console,
    parse_queries,
)
from seambench.cli.shared.recording import check_readers

__all__ = ["run"]


def run(
    scale: Annotated[float, typer.Option(help="TPC-H scale.")] = 0.01,
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format", help="Table format, repeatable (default: all that a reader offers)."
        ),
    ] = None,
    update_ratio: Annotated[
        list[float] | None,
        typer.Option(help="Per cent of rows updated in a changed slice, repeatable."),
    ] = None,
    slice_share: Annotated[
        float | None, typer.Option(help="Per cent of slices that are changed.")
    ] = None,
    reader: Readers = None,
    queries: Queries = "all",
    scans_only: ScansOnly = None,
    samples: Samples = 3,
    knob: Annotated[
        list[str] | None,
        typer.Option(
            help="A choice of a format's, [FORMAT.]KEY=VALUE, repeatable: ordering=commit."
        ),
    ] = None,
    slices: Annotated[
        int | None, typer.Option(min=1, help="Slices of each table in a table format.")
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option(help="Table in a table format, repeatable, or `all`.")
    ] = None,
    threads: Threads = None,
    memory: Annotated[
        bool, typer.Option(help="Measure the memory of streamed scans, each in its own process.")
    ] = True,
    conformance: Annotated[
        bool, typer.Option(help="Check the readers first: all cases of the scan seam.")
    ] = True,
    folder: DataFolder = None,
    results: Results = Path("results"),
    site: Site = Path("site"),
    jars: Annotated[
        list[str] | None,
        typer.Option(help="Jar to use instead of fetching the format's, repeatable."),
    ] = None,
) -> None:
    """Make the data, check the readers, compare them, build the page.

    Without --update-ratio and --slice-share: 0, 5, 20, 50 and 100 % in every slice, and 20 % in a
    fifth of the slices. Derived from TPC-H, not comparable with published TPC-H results.
    """
    from seambench.data import DEFAULT_TABLES, GenerateOptions, curve_layouts, generate
    from seambench.engines.spark import parse_settings
    from seambench.report import build

    readers = reader or default_readers()
    _check_first(readers, scans_only or (), queries, (results, site))
    options = GenerateOptions(
        scale=scale,
        data=data_folder(folder),
        layouts=curve_layouts(
            format_ or _offered(readers),
            update_ratio or (),
            slice_share,
            parse_settings(knob or (), "--knob"),
        ),
        tables=tuple(table or DEFAULT_TABLES),
        slices=slices,
        jars=tuple(jars or ()),
    )
    err = error_console()
    err.print(f"1 of 4: data sets of scale {scale:g}")
    datasets = generate(options)
    err.print("2 of 4: conformance" + ("" if conformance else " is left out"))
    checked = check_readers(readers) if conformance else []
    err.print("3 of 4: comparison")
    code = run_bench(
        datasets,
        readers,
        queries=queries,
        scans="all,q6,count",
        # Row at a time, the connector would take most of the run; its answers are checked by
        # `seambench bench` and whenever it is named.
        scans_only=scans_only or (() if reader else ("connector",)),
        samples=samples,
        threads=threads,
        budget=60.0,
        memory=memory,
        results=results,
        conformance=checked,
    )
    err.print("4 of 4: page")
    page = build(results, site)
    typer.echo(f"page: {page.resolve()}")
    raise typer.Exit(code)


def _offered(readers: Sequence[str]) -> list[str]:
    """Table formats that any of the readers offers; all, if none can tell."""
    from seambench.contracts import registry
    from seambench.contracts.formats import offered_formats

    names: set[str] = set()
    for reader in readers:
        with contextlib.suppress(SeambenchError):
            capabilities = registry.resolve("scan", reader).capabilities
            names |= {format_.name for format_ in offered_formats(capabilities)}
    return sorted(names)


def _check_first(
    readers: Sequence[str], scans_only: Sequence[str], queries: str, folders: Sequence[Path]
) -> None:
    """Refuse what would fail only after data were made, which takes minutes.

    Raises:
        UsageError: an unknown reader or query.
        UnavailableError: a reader that this machine lacks, or a folder that cannot be written.
    """
    from seambench.contracts import registry

    parse_queries(queries)
    for name in dict.fromkeys([*readers, *scans_only]):
        registry.resolve("scan", name)
    for folder in folders:
        whole = folder.absolute()
        there = next(path for path in (whole, *whole.parents) if path.exists())
        try:
            tempfile.TemporaryFile(dir=there).close()
        except OSError as error:
            raise UnavailableError(f"{folder} cannot be written: {error.strerror}") from error
