"""pyarrow.dataset over the base files of a Hudi table: what reading costs without any merging.

Base files are chosen by a plain listing: in each folder the newest file of each file id. Neither
timeline nor metadata table is read, so a table with unfinished or rolled back writes is beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from seambase.errors import InputError, RefusedError
from seambase.scan import ScanReport
from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.peer_scan import select_columns

# A base file's name: file id, write token, instant. Log files start with a dot.
_BASE = re.compile(r"(?P<file_id>[^.].*)_(?P<token>\d+-\d+-\d+)_(?P<instant>\d{14,17})\.parquet")


def newest_base_files(table: Path) -> list[Path]:
    """The newest base file of each file id of each folder, in the order of their paths."""
    if not (table / ".hoodie").is_dir():
        raise InputError(f"{table} is no Hudi table: it has no folder .hoodie")
    newest: dict[tuple[Path, str], tuple[str, Path]] = {}
    for path in table.rglob("*.parquet"):
        match = _BASE.fullmatch(path.name)
        if match is None or ".hoodie" in path.relative_to(table).parts:
            continue
        slot = (path.parent, match["file_id"])
        newest[slot] = max(newest.get(slot, ("", path)), (match["instant"], path))
    return sorted(path for _, path in newest.values())


class PyarrowReader:
    """The read-optimised view of a table, read by pyarrow alone."""

    name = "pyarrow"
    version = str(pa.__version__)
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = {
        "formats.hudi": True,
        "formats.parquet": True,
        "query.read-optimized": True,
        "table-version.6": True,
        "table-version.9": True,
        "pushdown": True,
    }
    #: What conformance is known to find in it.
    xfails = Path(__file__).with_name("xfails") / "pyarrow.toml"

    def open(self, request: ScanRequest) -> _PyarrowScan:
        """List the base files and read the schema of the first."""
        if request.query != "read-optimized":
            raise RefusedError(f"pyarrow reads base files alone; it has no {request.query} query")
        if request.as_of is not None or request.where is not None or request.strict:
            raise RefusedError("pyarrow takes neither an instant, nor a filter as text, nor strict")
        files = newest_base_files(Path(request.table))
        if not files:
            raise InputError(f"{request.table} has no base file")
        return _PyarrowScan(files, request)


class _PyarrowScan:
    """One read of a list of files."""

    def __init__(self, files: list[Path], request: ScanRequest) -> None:
        self._request = request
        self._names = [str(file) for file in files]
        try:
            whole = ds.dataset(self._names, format="parquet").schema
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{request.table}: not readable as Parquet ({error})") from error
        self._schema = select_columns(whole, request.columns)
        self._whole = whole
        self._report = ScanReport(paths={"native": len(files)})

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""
        return self._schema

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches, files in order."""
        options = {}
        if self._request.batch_rows is not None:
            options["batch_size"] = self._request.batch_rows
        scanner = ds.dataset(self._names, schema=self._whole, format="parquet").scanner(
            columns=self._schema.names, use_threads=self._request.threads != 1, **options
        )
        self._report.rows = 0
        return pa.RecordBatchReader.from_batches(self._schema, self._counted(scanner.to_reader()))

    def dataset(self) -> ds.Dataset:
        """The dataset that pyarrow itself makes of the files."""
        return ds.dataset(self._names, schema=self._schema, format="parquet")

    def report(self) -> ScanReport:
        """Number of files, and rows of the last read."""
        return self._report

    def _counted(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with reader:
            for batch in reader:
                self._report.rows += batch.num_rows
                yield batch
