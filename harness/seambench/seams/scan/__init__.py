"""The scan seam: a scanner hands a table's rows to an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seambench.contracts.common import OVER, TimedFamily
from seambench.contracts.explanation import Explanation
from seambench.contracts.peers.catalogue import Peer
from seambench.contracts.seam import Case, Pass, Request, Seam

if TYPE_CHECKING:
    from seambench.contracts.scan import Scanner
    from seambench.seams.scan.cases import ScanCase

__all__ = ["SEAM"]

_WORDS = {
    "formats.parquet": "reads folders of Parquet files",
    "query.snapshot": "the newest state, or that of an instant",
    "query.read-optimized": "data files alone, without what was written to be merged with them",
    "query.incremental": "rows that changed between two instants",
    "query.cdc": "changes with both images of a row",
    "as-of": "earlier states",
    "partitioned": "columns that stand in names of folders alone",
    "named-columns": "is told which columns are wanted, as by an engine with a catalog",
    "path-per-slice": "reports by which path each slice was read",
    "pushdown": "its dataset prunes columns and applies filters",
    "relation": "gives a relation of DuckDB, in which DuckDB's own reader takes part",
    "row-kinds": "tells of rows that were written whether they insert, update or delete",
    "schema-evolution": "columns added, widened, renamed or dropped over time",
    "sql": "answers queries in SQL by its own engine",
    "strict": "refuses on request the damage that the format's own reader skips",
    "warnings": "reports what it skipped",
    "where": "applies a filter in DuckDB's SQL by itself",
}


class _ScanSeam(Seam):
    name = "scan"
    title = "a scanner hands a table's rows to an engine"
    method = "open"

    @property
    def words(self) -> Mapping[str, str]:
        from seambench.contracts.formats import format_names, resolve_format

        words = dict(_WORDS)
        for name in format_names():
            found = resolve_format(name)
            words |= {f"formats.{name}": f"reads tables of {found.title}", **found.capabilities}
        return words

    @property
    def timed(self) -> Sequence[TimedFamily]:
        note = "Whole plans, read units and all; nothing is kept of the one before."
        parts = ("tables", "where", "by")
        return (
            TimedFamily("planning", "tables of many files, planned", parts, parts[-1:], note),
            TimedFamily("text", "lineitem as text, by one thread", ("columns", "by"), ("by",)),
            TimedFamily("bucket", "one large bucket, streamed by so many threads"),
            TimedFamily(
                "evolved",
                "queries of tables whose columns changed",
                ("engine", "query", OVER),
                (OVER,),
                "Both tables of a format have the same rows in the same files.",
                moves=False,
            ),
        )

    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        from seambase.errors import UsageError
        from seambench.seams.scan.cases import scan_cases

        if golden is not None:
            raise UsageError("--golden: golden tables of the scan seam belong to its case files")
        return scan_cases(root, begins)

    def check(self, case: ScanCase, implementation: Scanner) -> int | None:
        from seambench.seams.scan.check import check_scan

        return check_scan(case, implementation)

    def attempt(self, case: ScanCase, implementation: Scanner) -> None:
        from seambench.seams.scan.check import read_case

        read_case(case, implementation)

    def explain(self, case: ScanCase) -> Explanation:
        from seambench.seams.scan.explained_case import explain_scan

        return explain_scan(case)

    def keep(self, case: ScanCase, folder: Path) -> Sequence[str]:
        from seambench.seams.scan.keep import keep_scan

        return keep_scan(case, folder)

    def asked(self, case: ScanCase) -> str:
        from seambench.seams.scan.keep import asked_scan

        return asked_scan(case)

    @property
    def doors(self) -> Mapping[str, Callable[[str], Any]]:
        from functools import partial

        from seambench.seams.scan.doors import CommandScanner, LibraryScanner
        from seambench.seams.scan.service import ServiceScanner

        services = {scheme: partial(ServiceScanner, scheme) for scheme in ("http", "https")}
        return {"cmd": CommandScanner, "lib": LibraryScanner, **services}

    def wrap(self, function: Callable[..., Any], name: str) -> Any:
        from seambench.seams.scan.function import FunctionScanner

        return FunctionScanner(function, name)

    def served(self, peer: Peer, version: str) -> Any:
        from seambench.seams.scan.peer_program import ServedScanner

        return ServedScanner(peer, version)

    @property
    def requests(self) -> Mapping[str, Request]:
        from seambench.seams.scan.forms import check_form
        from seambench.seams.scan.invariants import check_ways, hold_invariants

        return {
            "form": check_form,
            "ways": check_ways,
            "invariants": lambda case, scanner, _: {"digest": hold_invariants(case, scanner)},
        }

    @property
    def passes(self) -> Mapping[str, Pass]:
        from seambench.seams.scan.forms import vary_forms
        from seambench.seams.scan.invariants import compare_readers, vary_ways

        return {"forms": vary_forms, "invariants": compare_readers, "ways": vary_ways}

    def pass_cases(self, name: str, cases: Sequence[ScanCase]) -> Sequence[Case]:
        from seambench.seams.scan.forms import varied
        from seambench.seams.scan.invariants import through_outlets

        return {"forms": varied, "ways": through_outlets}.get(name, list)(cases)


SEAM = _ScanSeam()
