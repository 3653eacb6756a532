"""What the readers of all table formats do alike with a request of the scan seam."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seambase.errors import UsageError
from seambase.walk import Met
from seambench.contracts.scan import Scan, ScanRequest
from seamkit.catalogs.metastore import SCHEME
from seamkit.scan.scan import Scan as LibraryScan
from seamkit.tables.catalog_table import CatalogTable
from seamkit.tables.opening import open_table

__all__ = [
    "ReaderFormat",
    "explain_parts",
    "is_name",
    "named_table",
    "refuse_window",
    "request_of_named",
    "scan_arguments",
]


@dataclass(frozen=True)
class ReaderFormat:
    """A table format as a reader offers it.

    Attributes:
        name: of the format, as in the library's list of formats.
        capabilities: what is stated for its tables besides `formats.NAME`.
        open: plans a read; see `seambench.contracts.scan.Scanner.open`.
        explain: tells what a table's metadata says.
        explain_file: tells what a part of a table says, such as a log; None where nothing does.
    """

    name: str
    capabilities: Sequence[str]
    open: Callable[[ScanRequest], Scan]
    explain: Callable[[str], Iterator[Met]]
    explain_file: Callable[[Path], Iterator[Met]] | None = None


def scan_arguments(request: ScanRequest) -> dict[str, Any]:
    """Arguments that the `scan` of every table has, as a request says them."""
    return {
        "columns": request.columns,
        "query": request.query,
        "as_of": request.as_of,
        "batch_rows": request.batch_rows,
        "threads": request.threads,
        "memory_limit_bytes": request.memory_limit_bytes,
        "strict": request.strict,
    }


def refuse_window(request: ScanRequest, title: str) -> None:
    """Refuse the bounds of a query of changes, where a format has snapshots alone.

    Raises:
        UsageError: there are such bounds.
    """
    if request.begin is not None or request.end is not None or request.changes_alone:
        raise UsageError(f"a snapshot of a {title} table has neither begin nor end")


def explain_parts(scan: LibraryScan) -> Iterator[Met]:
    """The files of a scan and the way each is read, as lines of an explanation."""
    for line in scan.explain().splitlines()[1:]:
        path, _, file = line.strip().partition(" ")
        yield Met(0, 0, 1, path, file.strip())


def is_name(table: str) -> bool:
    """Whether a table is named, and not a folder or its address."""
    return table.startswith(SCHEME)


def named_table(name: str, storage_options: Mapping[str, Any] | None = None) -> CatalogTable:
    """The table of a name.

    Raises:
        UsageError: it is no name.
        InputError: there is no such table, or its folder is none.
        RefusedError: a view, or a format that is not supported.
        UnavailableError: the metastore does not answer.
    """
    table = open_table(name, storage_options or None)
    assert isinstance(table, CatalogTable)
    return table


def request_of_named(request: ScanRequest, table: CatalogTable) -> ScanRequest:
    """The request of a table's folder, and of the view that its name stands for.

    One of Hive's own keeps its name: its columns and partitions are those of the metastore.
    """
    where = request.table if table.format == "hive" else table.location
    view = request.query
    if view == "snapshot" and table.query == "read-optimized":
        view = "read-optimized"
    return replace(request, table=where, query=view)
