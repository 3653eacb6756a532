"""Spark's UnsafeRow (Spark 3.5.9), as Spark or as Velox writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from seambase.errors import UsageError
from seambase.serde import SerdeField
from seamkit.core._seam import lib
from seamkit.core.memory import TrackedAllocator
from seamkit.serde.rows.codec import RowCodec
from seamkit.serde.rows.program import RowProgram

Writer = Literal["spark", "velox"]
_WRITERS = {"spark": lib.SEAM_UNSAFE_SPARK, "velox": lib.SEAM_UNSAFE_VELOX}


class UnsafeRows(RowCodec):
    """UnsafeRows of one schema; see `RowCodec`. What either writer made can be read.

    Args:
        fields: the columns, in order, with types in Spark's words; or a program made of them.
        writer: whose bytes to write. `spark`: those of UnsafeProjection. `velox`: those of
            UnsafeRowFast, with arrays that end on any byte and no places kept for nulls.
        allocator: where output comes from; None for one of its own without a limit.
    """

    _read = staticmethod(lib.seam_unsafe_row_read)

    def __init__(
        self,
        fields: Sequence[SerdeField] | RowProgram,
        writer: Writer = "spark",
        allocator: TrackedAllocator | None = None,
    ) -> None:
        super().__init__(fields, allocator)
        if writer not in _WRITERS:
            raise UsageError(f"writer = {writer!r}: one of {', '.join(get_args(Writer))} is meant")
        whose = _WRITERS[writer]
        self._layout = lambda source, *rest: lib.seam_unsafe_row_layout(source, whose, *rest)
        self._write = lambda source, *rest: lib.seam_unsafe_row_write(source, whose, *rest)
