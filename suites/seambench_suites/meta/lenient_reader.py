"""A reader that takes whatever it can read for the table: mutations are worth finding it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seambench.contracts.scan import ScanRequest
from seambench_suites.meta.simulated import SimulatedScan


class _All(dict[str, bool]):
    def get(self, _word: str, _default: Any = None) -> bool:
        """Whatever is asked for."""
        return True


class ReadsOn:
    """Reads the Parquet files that are left, and passes over all others."""

    name = "reads-on"
    version = "0"
    kind = "ours"
    capabilities = _All()

    def open(self, request: ScanRequest) -> SimulatedScan:
        """The rows of those files."""
        tables = []
        for path in sorted(Path(request.table.removeprefix("local://")).glob("*.parquet")):
            try:
                tables.append(pq.read_table(path))
            except (OSError, pa.ArrowException):
                continue
        return SimulatedScan(pa.concat_tables(tables) if tables else pa.table({"k": []}), None)
