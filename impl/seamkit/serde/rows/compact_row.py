"""Velox's CompactRow (snapshot of August 2026)."""

from __future__ import annotations

from typing import Any

from seamkit.core._seam import lib
from seamkit.serde.rows.codec import RowCodec


class CompactRows(RowCodec):
    """CompactRows of one schema; see `RowCodec`."""

    def _layout(self, source: Any, choice: Any, gap: int, starts: Any, error: Any) -> int:
        code: int = lib.seam_compact_row_layout(source, choice, gap, starts, error)
        return code

    def _write(self, source: Any, choice: Any, gap: int, starts: Any, out: Any, error: Any) -> int:
        code: int = lib.seam_compact_row_write(source, choice, gap, starts, out, error)
        return code

    def _read(self, frames: Any, out: Any, error: Any) -> int:
        code: int = lib.seam_compact_row_read(
            self.allocator.pointer, self.program.root, frames, out, error
        )
        return code
