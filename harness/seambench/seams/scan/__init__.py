"""The scan seam: a scanner hands a table's rows to an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from seambench.contracts.common import OVER, TimedFamily
from seambench.contracts.seam import Case, Seam, late

if TYPE_CHECKING:
    from seambench.seams.scan.cases import ScanCase

_WORDS = {
    "formats.parquet": "reads folders of Parquet files",
    "query.snapshot": "the newest state, or that of an instant",
    "query.read-optimized": "data files alone, without what was written to be merged with them",
    "query.incremental": "rows that changed between two instants",
    "query.cdc": "changes with both images of a row",
    "as-of": "earlier states",
    "partitioned": "columns that stand in names of folders alone",
    "named-columns": "is given the columns that are wanted, as by an engine with a catalog",
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

_SERVICE = late("seambench.seams.scan.service:ServiceScanner")
_DOORS = {
    "cmd": late("seambench.seams.scan.doors:CommandScanner"),
    "lib": late("seambench.seams.scan.doors:LibraryScanner"),
    **{scheme: partial(_SERVICE, scheme) for scheme in ("http", "https")},
}
_HELD = late("seambench.seams.scan.invariants:hold_invariants")
_REQUESTS = {
    "form": late("seambench.seams.scan.forms:check_form"),
    "ways": late("seambench.seams.scan.invariants:check_ways"),
    "invariants": lambda case, scanner, _: {"digest": _HELD(case, scanner)},
}
_PASSES = {
    "forms": late("seambench.seams.scan.forms:vary_forms"),
    "invariants": late("seambench.seams.scan.invariants:compare_readers"),
    "ways": late("seambench.seams.scan.invariants:vary_ways"),
}

_NOTE = "Whole plans, read units and all; nothing is kept of the one before."
_PARTS = ("tables", "where", "by")
_TIMED = (
    TimedFamily("planning", "tables of many files, planned", _PARTS, _PARTS[-1:], _NOTE),
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


class _ScanSeam(Seam):
    name = "scan"
    title = "a scanner hands a table's rows to an engine"
    method = "open"
    timed = _TIMED
    doors = _DOORS
    requests = _REQUESTS
    passes = _PASSES
    check = late("seambench.seams.scan.check:check_scan")
    attempt = late("seambench.seams.scan.check:read_case")
    explain = late("seambench.seams.scan.explained_case:explain_scan")
    keep = late("seambench.seams.scan.doors:keep_scan")
    asked = late("seambench.seams.scan.doors:line_of_case")
    wrap = late("seambench.seams.scan.function:FunctionScanner")
    served = late("seambench.seams.scan.peer_program:ServedScanner")

    @property
    def words(self) -> Mapping[str, str]:
        from seambench.contracts.formats import format_names, resolve_format

        words = dict(_WORDS)
        for name in format_names():
            format_ = resolve_format(name)
            words |= {f"formats.{name}": f"reads tables of {format_.title}", **format_.capabilities}
        return words

    def cases(self, root: Path, golden: Path | None, begins: Sequence[str]) -> Sequence[Case]:
        from seambase.errors import UsageError
        from seambench.seams.scan.cases import scan_cases

        if golden is not None:
            raise UsageError("--golden: golden tables of the scan seam belong to its case files")
        return scan_cases(root, begins)

    def pass_cases(self, name: str, cases: Sequence[ScanCase]) -> Sequence[Case]:
        from seambench.seams.scan.forms import varied
        from seambench.seams.scan.invariants import through_outlets

        return {"forms": varied, "ways": through_outlets}.get(name, list)(cases)


SEAM = _ScanSeam()
