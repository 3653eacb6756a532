"""A dataset over a scanner that pushes nothing down by itself."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from seambase.dataset import ScanDataset, without_views
from seambase.errors import SeambenchError
from seambase.filters import apply_filter, filter_columns
from seambase.scan import ScanReport
from seambench.contracts.scan import Scan, Scanner, ScanRequest


class StreamDataset(ScanDataset):
    """A dataset over a scanner that pushes nothing down by itself: columns go to it, filters stay.

    Attributes:
        scans: the scans opened so far, oldest first.
    """

    def __init__(
        self, scanner: Scanner, request: ScanRequest, schema: pa.Schema | None = None
    ) -> None:
        """Make a dataset over `scanner.open(request)`, opened anew for each scan.

        It shows the request's columns, whose schema the scanner is asked for unless it is known.
        """
        self._scanner = scanner
        self._request = request
        self.scans: list[Scan] = []
        shown = scanner.open(request).schema if schema is None else schema
        super().__init__(without_views(shown), self._open_scan)

    def report(self) -> ScanReport:
        """What all scans so far did, added up."""
        total = ScanReport()
        for scan in self.scans:
            one = scan.report()
            for path, count in one.paths.items():
                total.paths[path] = total.paths.get(path, 0) + count
            total.warnings.extend(one.warnings)
            total.rows += one.rows
            total.pages += one.pages
            total.unread_pages += one.unread_pages
            peaks = [peak for peak in (total.peak_bytes, one.peak_bytes) if peak is not None]
            total.peak_bytes = max(peaks, default=None)
        return total

    def _open_scan(
        self, columns: list[str], expression: pc.Expression | None
    ) -> pa.RecordBatchReader:
        wanted = [*columns]
        wanted += [name for name in filter_columns(expression, self._shown) if name not in wanted]
        # Rows can be counted in any column; a narrow one costs least.
        needed = wanted or [_narrowest(self._shown)]
        scan = self._scanner.open(replace(self._request, columns=needed))
        self.scans.append(scan)
        reader = scan.to_reader()
        if reader.schema.names != needed:
            raise SeambenchError(
                f"{self._scanner.name}: asked for columns {needed}, "
                f"a stream of {reader.schema.names} came"
            )
        plain = without_views(reader.schema)
        if plain != reader.schema:
            reader = pa.RecordBatchReader.from_batches(
                plain, (batch.cast(plain) for batch in reader)
            )
        return apply_filter(reader, expression, columns)


def _narrowest(schema: pa.Schema) -> str:
    """The column with the fewest bits per value; strings and nested columns come last."""

    def bits(field: pa.Field) -> int:
        try:
            return int(field.type.bit_width)
        except ValueError:
            return 1 << 30

    return str(min(schema, key=bits).name)
