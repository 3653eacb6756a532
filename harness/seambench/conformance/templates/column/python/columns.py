"""Off-heap columns to begin with: they state what they will hold, and refuse everything."""

from __future__ import annotations

from collections.abc import Mapping

from seambase.errors import RefusedError
from seambench.contracts.column import ColumnChunk, ColumnRequest
from seambench.contracts.common import Kind


class Columns:
    """Implements `seambench.contracts.column.ColumnTable`."""

    name = "NAME"
    version = "0.1"
    kind: Kind = "peer"
    #: Cases about anything else are not asked; `seambench list capabilities` has all words.
    capabilities: Mapping[str, bool] = dict.fromkeys(("kinds.int", "kinds.string"), True)

    def chunks(self, request: ColumnRequest) -> list[ColumnChunk]:
        """Append the rows, and read every chunk back through its meta chain (docs/columns.md).

        Raises:
            RefusedError: always, so far.
        """
        raise RefusedError(f"NAME holds nothing yet, so no {', '.join(request.types)}")

    def live_blocks(self) -> int:
        """Blocks of off-heap memory still held; 0 once every chunk is released."""
        return 0
