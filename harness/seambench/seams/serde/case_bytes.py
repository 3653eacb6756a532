"""Bytes as case files state them: hex with remarks, payloads of pages, changes to golden ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from seambase.errors import UsageError
from seambase.pages.reader import frame


@dataclass(frozen=True)
class PageSpec:
    """A page of a case: its payload, and what its header says.

    Attributes:
        repeat: how often the payload stands in the page, end to end.
        header: fields that say something else than they should: `rows`, `marker`, `uncompressed`,
            `size`, `checksum`.
    """

    rows: int
    payload: str
    codec: str = "none"
    checksum: bool = False
    repeat: int = 1
    header: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ByteEdit:
    """A change to bytes: `overwrite` and `insert` put `hex` at `at`, `truncate` keeps `at` bytes.

    `at` counts from the end where it is negative.
    """

    op: Literal["overwrite", "insert", "truncate"]
    at: int
    hex: str = ""


def hex_bytes(text: str) -> bytes:
    """Bytes of hex with blanks and remarks."""
    return bytes.fromhex(" ".join(line.partition("#")[0] for line in text.splitlines()))


def framed_page(page: PageSpec) -> bytes:
    """A page with its header, which is then bent as told."""
    whole = frame(page.rows, hex_bytes(page.payload) * page.repeat, page.codec, page.checksum)
    for name, (at, width) in _HEADER.items():
        if name in page.header:
            value = page.header[name].to_bytes(width, "little", signed=page.header[name] < 0)
            whole = whole[:at] + value + whole[at + width :]
    if strange := set(page.header) - set(_HEADER):
        raise UsageError(f"a page's header has no field {min(strange)!r}")
    return whole


_HEADER: Mapping[str, tuple[int, int]] = {
    "rows": (0, 4),
    "marker": (4, 1),
    "uncompressed": (5, 4),
    "size": (9, 4),
    "checksum": (13, 8),
}


def edited(data: bytes, edit: ByteEdit) -> bytes:
    """Bytes after one edit."""
    at = edit.at if edit.at >= 0 else len(data) + edit.at
    if not 0 <= at <= len(data):
        raise UsageError(f"an edit at {edit.at}, but there are {len(data)} bytes")
    if edit.op == "truncate":
        return data[:at]
    patch = bytes.fromhex(edit.hex)
    return data[:at] + patch + data[at + (len(patch) if edit.op == "overwrite" else 0) :]
