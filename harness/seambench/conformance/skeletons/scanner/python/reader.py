"""A scanner to begin with: it states what it will read, and refuses everything."""

from __future__ import annotations

from collections.abc import Mapping

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest


class Reader:
    """Implements `seambench.contracts.scan.Scanner`."""

    name = "NAME"
    version = "0.1"
    kind: Kind = "peer"
    #: Cases about anything else are not asked; `seambench list seams --json` has all words.
    capabilities: Mapping[str, bool] = dict.fromkeys(
        (
            *("formats.hudi", "table-version.9", "query.snapshot", "query.read-optimized"),
            *("merge.event-time", "merge.commit-time", "blocks.avro", "blocks.delete"),
        ),
        True,
    )

    def open(self, request: ScanRequest) -> Scan:
        """Plan a read of `request.table`; rows are read when the scan is asked for them.

        Return an object with `schema`, `to_reader()`, `dataset()` and `report()`:
        `help(seambench.contracts.scan.Scan)` says what each is.

        Raises:
            RefusedError: always, so far. Keep it for what your reader does not support: a refusal
                that says so is never counted as a wrong answer.
        """
        raise RefusedError(f"NAME reads no tables yet, so not {request.table} either")
