"""What a scan case reads, left in a folder, and the request that a program gets for it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from seambench.conformance.doors.facts import Facts
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import request_of
from seambench.seams.scan.doors import scan_request


def keep_scan(case: ScanCase, folder: Path) -> list[str]:
    """Unpack the table into `folder/table`, as the case edits it; see `Seam.keep`."""
    table, request = folder / "table", folder / "request.json"
    case.table.unpack(table, case.edits)
    if case.form:
        case.table.format.form(case.form).change(table)
    request.write_text(asked_scan(case, table) + "\n", encoding="utf-8")
    looked_at = [f"seamkit inspect {table}"] if find_spec("seamkit") else []
    return [
        *looked_at,
        f"./reader < {request} > rows.arrows    # as the door for programs asks",
    ]


def asked_scan(case: ScanCase, table: Path = Path("TABLE")) -> str:
    """The request as the door for programs has it; a filter only whoever states `where` gets."""
    return scan_request(request_of(case, table), Facts("any reader", capabilities={"where": True}))
