"""The rows of a column case, left in a folder, and the request that a program gets for it."""

from __future__ import annotations

from pathlib import Path

from seambase.errors import UsageError
from seambench.contracts.outcomes import NotOffered
from seambench.seams.column.cases import ColumnCase
from seambench.seams.column.check import request_of
from seambench.seams.column.doors import rows_stream
from seambench.seams.column.request_rows import column_request


def asked_column(case: ColumnCase) -> str:
    """The request as the door for programs has it; empty for a case that passes no door."""
    content = case.content()
    if isinstance(content, list) or content.get("kinds"):
        return ""
    return column_request(request_of(content))


def keep_column(case: ColumnCase, folder: Path) -> list[str]:
    """Leave the rows as an Arrow stream; see `Seam.keep`."""
    line = asked_column(case)
    if not line:
        raise UsageError(f"{folder}: nothing to keep, since {case.id} passes no door")
    try:
        content = rows_stream(request_of(case.content()))
    except NotOffered as reason:
        raise UsageError(f"{folder}: nothing to keep: {reason}") from reason
    folder.mkdir(parents=True)
    (folder / "input").write_bytes(content)
    (folder / "request.json").write_text(line + "\n", encoding="utf-8")
    files = f"{folder / 'request.json'} {folder / 'input'}"
    return [f"cat {files} | ./columns    # as the door for programs asks"]
