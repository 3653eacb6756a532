"""Tables of all formats for audits, and readers of them that are wrong in a known way."""

import os
import time
from pathlib import Path

from seambase.errors import RefusedError
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan import AutoReader
from seamkit_tests.samples.golden_tables import unpack

#: Of each format a golden table, and its rows as the engine that wrote it reads them.
_TABLES = {
    "hudi": ("mor-v9-event", 8),
    "delta": ("vectors-several", 4),
    "iceberg": ("positions", 5),
    "paimon": ("aggregate-bool", 3),
}
ROWS = {name: rows for name, (_, rows) in _TABLES.items()}


def unpacked(name: str, folder: Path) -> Path:
    """The table of a format."""
    return unpack(f"{name}/{_TABLES[name][0]}", folder / "table")


class Refusing(AutoReader):
    """Refuses every table."""

    name = "refusing"

    def open(self, request: ScanRequest) -> Scan:
        """Never opens one."""
        raise RefusedError(f"{request.table} is not for me")


class Dying(AutoReader):
    """Takes its process with it."""

    name = "dying"

    def open(self, request: ScanRequest) -> Scan:  # noqa: ARG002 - the seam's signature
        """Never returns."""
        os._exit(7)


class Hanging(AutoReader):
    """Never answers."""

    name = "hanging"

    def open(self, request: ScanRequest) -> Scan:
        """Comes back when nobody waits any more."""
        time.sleep(600)
        return super().open(request)
