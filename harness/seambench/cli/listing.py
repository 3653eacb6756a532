"""`seambench list`: seams, table formats, implementations, cases, data sets and queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from seambase.command.terminal import JSON_SCHEMA, plain_text, print_json
from seambase.errors import SeambenchError, UsageError
from seambench.cli.shared import completing
from seambench.cli.shared.common import NARROW, DataFolder, console, data_folder, narrow_rows

_KINDS = ("seams", "capabilities", "formats", "implementations", "cases", "data", "queries")


def list_all(
    what: Annotated[
        str | None,
        typer.Argument(
            help="seams, capabilities, formats, implementations, cases, data or queries "
            "(default: a summary).",
            autocompletion=completing.one_of(*_KINDS),
        ),
    ] = None,
    folder: DataFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List what there is to check and to compare: in short, or one kind in full."""
    if what is not None and what not in _KINDS:
        raise UsageError(f"{what!r} cannot be listed; choose from {', '.join(_KINDS)}")
    makers = {
        "seams": _seams,
        "capabilities": _capabilities,
        "formats": _formats,
        "implementations": _implementations,
        "cases": _cases,
        "data": lambda: _datasets(folder),
        "queries": _queries,
    }
    listed = {kind: make() for kind, make in makers.items() if what in (None, kind)}
    if as_json:
        print_json({"schema": JSON_SCHEMA, **listed})
        return
    if what is None:
        _print_summary(listed)
    else:
        _print(what, listed[what])


def _formats() -> list[dict[str, Any]]:
    """Every table format: its jars, how its layouts are spelled, and the readers that offer it."""
    from seambench.contracts.formats import announced_formats

    offered = {f"{row['seam']}.{row['name']}": row["capabilities"] for row in _implementations()}
    return [
        {
            "name": one.name,
            "title": one.title,
            "jars": list(one.bundle(None).packages),
            "layouts": "" if one.layouts is None else one.layouts.SPELLING,
            "readers": [n for n, able in offered.items() if f"formats.{one.name}" in able],
        }
        for one in announced_formats()
    ]


def _implementations() -> list[dict[str, Any]]:
    """Every announced implementation; one that cannot be loaded says why."""
    from seambench.contracts import registry

    rows = []
    for seam in registry.seams():
        for name in registry.names(seam):
            row: dict[str, Any] = {"seam": seam, "name": name}
            try:
                made = registry.resolve(seam, name)
            except SeambenchError as error:
                row |= {"kind": None, "version": None, "capabilities": [], "problem": str(error)}
            else:
                able = sorted(word for word, has in made.capabilities.items() if has)
                row |= {
                    "kind": made.kind,
                    "version": str(made.version),
                    "capabilities": able,
                    "problem": None,
                }
            rows.append(row)
    return rows


def _seams() -> list[dict[str, Any]]:
    from seambench.contracts import registry

    return [
        {
            "name": name,
            "what": registry.find_seam(name).title,
            "passes": sorted(registry.find_seam(name).passes),
            "capabilities": dict(registry.find_seam(name).words),
        }
        for name in registry.seams()
    ]


def _capabilities() -> list[dict[str, Any]]:
    """Every word that implementations may state, by seam and table format."""
    from seambench.contracts import registry
    from seambench.contracts.formats import announced_formats

    rows = []
    for seam in registry.seams():
        words = registry.find_seam(seam).words
        about: dict[str, str] = {}
        for one in announced_formats():
            about |= dict.fromkeys((f"formats.{one.name}", *one.capabilities), one.name)
        rows += [
            {"seam": seam, "of": about.get(word, "") if seam == "scan" else "", "word": word}
            | {"meaning": meaning}
            for word, meaning in words.items()
        ]
    return sorted(rows, key=lambda row: (row["seam"], row["of"]))


def _cases() -> list[dict[str, Any]]:
    from seambench.conformance.load import load_cases
    from seambench.contracts import registry

    return [
        {"seam": seam, "id": case.id, "level": case.level, "requirement": case.requirement}
        for seam in registry.seams()
        for case in load_cases(seam)
    ]


def _datasets(folder: Any) -> list[dict[str, Any]]:
    from seambench.data import list_datasets

    return [
        {
            "name": dataset.name,
            "path": str(dataset.path),
            "formats": dataset.formats,
            "tables": [t.name for t in dataset.tables.values() if not t.is_plain],
            "lineitem_rows": dataset.expected()["lineitem"].rows,
        }
        for dataset in list_datasets(data_folder(folder))
    ]


def _queries() -> list[dict[str, Any]]:
    from seambench.contracts import registry

    rows = []
    for suite in registry.suites():
        for number, sql in registry.resolve_suite(suite).queries.items():
            first = next((line for line in sql.splitlines() if line.strip()), "")
            rows.append({"suite": suite, "number": number, "begins": first.strip()})
    return rows


def _print_summary(listed: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    """A line for each group of what there is."""
    made = listed["implementations"]
    names: dict[str, list[str]] = {}
    for row in made:
        names.setdefault(row["seam"], []).append(row["name"] + (" (-)" if row["problem"] else ""))
    _print("implementations", [{"seam": seam, "names": ", ".join(n)} for seam, n in names.items()])
    if any(row["problem"] for row in made):
        console().print("  (-): not to be had here; `seambench list implementations` says why\n")
    counts = Counter((row["seam"], row["id"].split("/")[1]) for row in listed["cases"])
    groups: dict[str, list[str]] = {}
    for (seam, group), count in counts.items():
        groups.setdefault(seam, []).append(f"{group} {count:,}")
    _print("cases", [{"seam": seam, "groups": ", ".join(g)} for seam, g in groups.items()])
    _print("formats", [row | {"readers": len(row["readers"])} for row in listed["formats"]])
    _print("data", listed["data"])
    suites = Counter(row["suite"] for row in listed["queries"])
    _print("queries", [{"suite": suite, "queries": count} for suite, count in suites.items()])
    console().print(f"in full: seambench list {'|'.join(_KINDS)}", markup=False)


def _print(kind: str, rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    out = console(NARROW) if kind == "data" else console()
    out.print(f"[bold]{kind}[/bold]")
    if not rows:
        out.print("  none\n")
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[plain_text(_cell(row.get(name))) for name in columns] for row in rows]
    if narrow_rows(out, columns, cells, wraps=True):
        out.print()
        return
    table = Table(box=None, header_style="dim")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in cells:
        table.add_row(*map(escape, row))
    out.print(table)
    out.print()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, (list, dict)) else str(value)
