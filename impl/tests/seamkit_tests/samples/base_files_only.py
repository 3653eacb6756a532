"""A reader that leaves out whatever changes rows of data files, in every table format."""

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.scan import Scan, ScanRequest
from seambench_impl.scan import AutoReader
from seamkit.scan.unit_scan import UnitScan


def planned(request: ScanRequest) -> UnitScan:
    """The right reader's scan, with its plan.

    Raises:
        RefusedError: a read that has no such plan, as of changes.
    """
    scan = AutoReader().open(request)
    if not isinstance(scan, UnitScan):
        raise RefusedError(f"{request.table}: a read of changes has no read units")
    return scan


class BaseFilesOnly(AutoReader):
    """Claims what the right reader claims, and reads data files alone, without a word."""

    name = "base-files-only"
    kind: Kind = "variant"

    def open(self, request: ScanRequest) -> Scan:
        """Plan as the right reader does, then forget all changes."""
        return planned(request).files_alone()
