"""One read as the command line asks for it: columns and a filter over any reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from seambase.dataset import original_errors, without_views
from seambase.errors import UsageError
from seambase.scan import ScanReport
from seambase.where import Filter, parse_filter, require_columns
from seambench.contracts.formats import offered_formats, recognised_formats
from seambench.contracts.scan import Scan, Scanner, ScanRequest
from seambench.engines.digest import quote
from seambench.engines.stream_dataset import StreamDataset


class TableReading:
    """A planned read; nothing is read before `open`."""

    def __init__(
        self,
        scanner: Scanner,
        request: ScanRequest,
        columns: Sequence[str] | None = None,
        *,
        where: str | None = None,
    ) -> None:
        """Plan a read of a request, whose `columns` are set here; `where` is in DuckDB's SQL."""
        self._scanner = scanner
        self._request = request
        self._filter: Filter | None = None
        plain = self._scanner.open(request)
        wanted = list(plain.schema.names if columns is None else columns)
        if len(set(wanted)) != len(wanted):
            raise UsageError("--columns names a column twice")
        # of a folder its own; of a table elsewhere those that the reader offers
        formats = recognised_formats(Path(request.table)) or offered_formats(scanner.capabilities)
        self._meta = [name for format_ in formats for name in format_.meta_columns]
        # Tables may have more meta columns than every table has; the reader knows.
        hidden = [name for name in wanted if any(format_.is_meta(name) for format_ in formats)]
        require_columns(wanted, [*plain.schema.names, *self._meta, *hidden], "--columns")
        self._columns = wanted
        read = wanted
        if where is not None:
            self._filter = parse_filter(where, self._known(plain, where))
            read = [*wanted, *(name for name in self._filter.columns if name not in wanted)]
        unchanged = read == plain.schema.names
        self._request = replace(request, columns=read)
        self._scan: Scan = plain if unchanged else self._scanner.open(self._request)
        self._dataset: Any = None

    def report(self) -> ScanReport:
        """What the read did: paths and warnings."""
        if isinstance(self._dataset, StreamDataset) and self._dataset.scans:
            return self._dataset.report()
        return self._scan.report()

    @contextmanager
    def open(self) -> Iterator[pa.RecordBatchReader]:
        """A stream of the columns asked for, filtered."""
        if self._filter is None:
            with self._scan.to_reader() as stream:
                schema = without_views(stream.schema)
                same = schema == stream.schema
                batches = (batch if same else batch.cast(schema) for batch in stream)
                yield pa.RecordBatchReader.from_batches(schema, batches)
            return
        yield from self._filtered(self._filter)

    def _known(self, plain: Scan, where: str) -> pa.Schema:
        """Columns that a filter may name; meta columns only if it does."""
        if not any(name in where for name in self._meta):
            return without_views(plain.schema)
        names = [*self._meta, *plain.schema.names]
        return without_views(self._scanner.open(replace(self._request, columns=names)).schema)

    def _filtered(self, condition: Filter) -> Iterator[pa.RecordBatchReader]:
        pushes = self._scanner.capabilities.get("pushdown")
        self._dataset = (
            self._scan.dataset()
            if pushes
            else StreamDataset(self._scanner, self._request, self._scan.schema)
        )
        schema = pa.schema([self._dataset.schema.field(name) for name in self._columns])
        listed = ", ".join(quote(name) for name in self._columns) or "1 AS nothing"
        with duckdb.connect() as con, _filter_errors(), original_errors(self._dataset):
            con.execute("SET TimeZone = 'UTC'")
            # It would draw a bar of its own over ours.
            con.execute("SET enable_progress_bar = false")
            if self._request.threads is not None:
                con.execute(f"SET threads = {int(self._request.threads)}")
            con.register("rows", self._dataset)
            query = f"SELECT {listed} FROM rows WHERE {condition.sql}"  # noqa: S608 - checked by parse_filter
            size = self._request.batch_rows or 131_072
            with con.sql(query).to_arrow_reader(size) as stream:
                batches = (batch.select(self._columns).cast(schema) for batch in stream)
                yield pa.RecordBatchReader.from_batches(schema, batches)


@contextmanager
def _filter_errors() -> Iterator[None]:
    """A filter that fails on a row's value is the request's fault, not ours or the table's.

    DuckDB raises its own exception at first, and hands it on as Arrow's once batches flow.
    """
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        text = str(error).strip().splitlines()[0]
        for kind in ("Conversion Error:", "Out of Range Error:", "Invalid Input Error:"):
            if isinstance(error, duckdb.DataError) or kind in text:
                raise UsageError(f"--filter fails on a row: {text}") from error
        raise
