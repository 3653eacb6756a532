"""A scanner over one file of a Hive table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Self

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.where import Filter, parse_filter
from seamkit.core.memory import TrackedAllocator
from seamkit.files.reader import FileReader
from seamkit.files.storage import Storage
from seamkit.offheap.columns.types import UNKNOWN, from_arrow
from seamkit.offheap.connector.parameters import (
    Common,
    Parameters,
    needed,
    number,
    split_names,
)
from seamkit.offheap.connector.scanner import ConnectorScanner
from seamkit.offheap.connector.selected import prune_columns
from seamkit.tables.hive.data_files import open_data_file
from seamkit.tables.hive.descriptor import Description, describe
from seamkit.tables.hive.row_format import row_format

__all__ = ["HiveFileScanner"]

_PROPERTY = "SerDe."
#: What BE states besides, and nothing here depends on.
_IGNORED = ("input_format", "fs_options_props")
_OWN = (
    "hive_column_names",
    "hive_column_types",
    "data_file_path",
    "block_offset",
    "block_length",
    "serde",
    *_IGNORED,
)


class HiveFileScanner(ConnectorScanner):
    """The rows of a file, in order (Java: `HiveScanner` of StarRocks' hive-reader).

    Args:
        path: of the file.
        description: the table that it belongs to; partition columns are the engine's.
        fetch_size: most rows per chunk.
        required: columns asked for, in order; one that the table lacks is missing (NULL in every
            row). By default all.
        nested: dotted paths of the parts asked for; by default all.
        zone: of the clocks that show timestamps with a zone; Hive's have none.
        predicate: DuckDB SQL over the table's columns; rows for which it is not true are left out.
        allocator: where all memory comes from.

    Raises:
        seambase.errors.InputError: the file is missing or broken.
        seambase.errors.RefusedError: what it holds is not supported.
        seambase.errors.UsageError: a path that leads nowhere, or a predicate that does not fit.
    """

    def __init__(
        self,
        path: str,
        description: Description,
        fetch_size: int = 4096,
        *,
        required: Sequence[str] | None = None,
        nested: Sequence[str] = (),
        zone: tzinfo = UTC,
        predicate: str = "",
        allocator: TrackedAllocator | None = None,
    ) -> None:
        self.path = path
        schema = pa.schema([(name, kind.arrow) for name, kind in description.columns.items()])
        wanted = list(schema.names if required is None else required)
        columns = {n: from_arrow(schema.field(n).type) for n in wanted if n in schema.names}
        types = prune_columns(columns, wanted, nested)
        sources = [columns.get(name, UNKNOWN) for name in wanted]
        super().__init__(
            wanted, types, fetch_size, allocator, sources=sources, zone=zone, predicate=predicate
        )
        self._filter: Filter | None = parse_filter(predicate, schema) if predicate else None
        self._names = [name for name in wanted if name in columns]
        tested = self._filter.columns if self._filter else ()
        read = dict.fromkeys([*self._names, *tested])
        self._schema = pa.schema([schema.field(name) for name in read])
        self._description = description
        self._batches: Iterator[pa.RecordBatch] | None = None

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From what BE states for a file.

        `data_file_path`, `block_offset` and `block_length` (the whole file), `hive_column_names`,
        `hive_column_types` in Hive's words, `serde`, and properties as `SerDe.NAME`;
        `input_format` and `fs_options_props` are taken and not needed.

        Raises:
            seambase.errors.UsageError: a parameter is missing, or makes no sense.
            seambase.errors.RefusedError: a part of a file.
        """
        properties = {
            name.removeprefix(_PROPERTY): value
            for name, value in parameters.items()
            if name.startswith(_PROPERTY)
        }
        plain = {n: value for n, value in parameters.items() if not n.startswith(_PROPERTY)}
        common = Common.read(plain, _OWN)
        path = needed(parameters, "data_file_path")
        names = split_names(needed(parameters, "hive_column_names"), "hive_column_names")
        types = needed(parameters, "hive_column_types").split("#")
        if len(names) != len(types):
            raise UsageError(f"hive_column_names has {len(names)} names, and {len(types)} types")
        _check_whole(path, parameters)
        columns = dict(zip(names, types, strict=True))
        return cls(
            path,
            describe(path, needed(parameters, "serde"), columns, {}, properties),
            fetch_size,
            required=common.required,
            nested=common.nested,
            zone=common.zone,
            predicate=common.predicate,
            allocator=allocator,
        )

    def open(self) -> None:
        """Open the file."""
        reader = self._reader()
        rows = max(self.fetch_size, 1)
        self._batches = iter(reader.batches(self._schema, rows, use_threads=False))

    def _reader(self) -> FileReader:
        folder, name = Path(self.path).parent, Path(self.path).name
        rows = row_format(self._description, self.path)
        return open_data_file(Storage(str(folder)), name, self._description, rows)

    def close(self) -> None:
        """Close the file."""
        self._batches = None

    def get_next(self) -> int:
        """Append the next batch of which a row is left.

        Raises:
            seambase.errors.InputError: the file is broken.
            seambase.errors.UsageError: the scanner is not open: it has no end to tell.
        """
        if self._batches is None:
            raise UsageError(f"{self.path}: the scanner is not open")
        for batch in self._batches:
            self.counters.raw_rows += batch.num_rows
            kept = batch if self._filter is None else batch.filter(self._filter.keep(batch))
            if kept.num_rows:
                self._append(kept)
                return int(kept.num_rows)
        return 0

    def _append(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self._names]
        if columns:
            self.append_batch(pa.RecordBatch.from_arrays(columns, names=self._names))


def _check_whole(path: str, parameters: Parameters) -> None:
    """Make sure that a file is asked for as a whole: its parts are not told by bytes alone.

    Raises:
        RefusedError: a part of it is meant.
    """
    size = Path(path).stat().st_size if Path(path).is_file() else 0
    begin = number(parameters, "block_offset", 0)
    if begin != 0 or number(parameters, "block_length", size) < size:
        raise RefusedError(f"{path}: a scan of a part of a file, from byte {begin} on")
