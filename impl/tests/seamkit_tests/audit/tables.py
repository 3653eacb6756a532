"""Tables of all formats for audits, and readers of them that are wrong in a known way."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from seambase.errors import RefusedError
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan import AutoReader
from seamkit.scan.unit_scan import UnitScan
from seamkit_tests.samples.delta_tables import unpack_delta
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.iceberg_tables import unpack_iceberg
from seamkit_tests.samples.paimon_tables import unpack_paimon

UNPACK: Mapping[str, Callable[[Path], Path]] = {
    "hudi": lambda folder: unpack_table("mor-v9-event", folder),
    "delta": lambda folder: unpack_delta("vectors-several", folder),
    "iceberg": lambda folder: unpack_iceberg("positions", folder),
    "paimon": lambda folder: unpack_paimon("aggregate-bool", folder),
}

ROWS = {"hudi": 8, "delta": 4, "iceberg": 5, "paimon": 3}
"""Rows of each, as the engine that wrote it reads them."""


class FilesAlone(AutoReader):
    """Leaves all changes out, without a word."""

    name = "files-alone"

    def open(self, request: ScanRequest) -> Scan:
        """A scan of the data files as they stand."""
        scan = super().open(request)
        assert isinstance(scan, UnitScan)
        return scan.files_alone()


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
