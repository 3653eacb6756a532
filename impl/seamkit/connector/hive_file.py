"""A scanner over one file of a Hive table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from seambase.errors import RefusedError, UsageError
from seambase.wording import counted
from seamkit.core.memory import TrackedAllocator
from seamkit.files.storage import Storage
from seamkit.offheap.connector.batches import BatchScanner
from seamkit.offheap.connector.parameters import (
    Common,
    Parameters,
    needed,
    number,
    split_names,
)
from seamkit.tables.hive.data_files import open_data_file
from seamkit.tables.hive.row_format import Description, describe, read_through, row_format

_PROPERTY = "SerDe."
_OWN = (
    "hive_column_names",
    "hive_column_types",
    "data_file_path",
    "block_offset",
    "block_length",
    "serde",
    "input_format",
    "fs_options_props",
)


class HiveFileScanner(BatchScanner):
    """The rows of a file, in order (Java: `HiveScanner` of StarRocks' hive-reader).

    Args:
        path: of the file.
        description: the table that it belongs to; partition columns are the engine's.
        fetch_size: most rows per chunk.
        choices: which columns and rows: see `BatchScanner`.
    """

    def __init__(
        self, path: str, description: Description, fetch_size: int = 4096, **choices: Any
    ) -> None:
        schema = pa.schema([(name, kind.arrow) for name, kind in description.columns.items()])
        super().__init__(path, schema, fetch_size, **choices)
        self._description = description

    @classmethod
    def from_parameters(
        cls, fetch_size: int, parameters: Parameters, allocator: TrackedAllocator | None = None
    ) -> Self:
        """From what BE states for a file.

        `data_file_path`, `block_offset` and `block_length` (the whole file), `hive_column_names`,
        `hive_column_types` in Hive's words, `serde`, `input_format` (by `serde` where it is not
        stated), and properties as `SerDe.NAME`; `fs_options_props` is taken and not needed.
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
            raise UsageError(
                f"hive_column_names has {counted(len(names), 'name')}, and "
                f"{counted(len(types), 'type')}"
            )
        _check_whole(path, parameters)
        columns = dict(zip(names, types, strict=True))
        serde = needed(parameters, "serde")
        format_ = read_through(parameters.get("input_format", ""), serde, path)
        return cls(
            path,
            describe(path, format_, columns, {}, properties),
            fetch_size,
            required=common.required,
            nested=common.nested,
            zone=common.zone,
            predicate=common.predicate,
            allocator=allocator,
        )

    def _read(self, schema: pa.Schema, rows: int) -> Iterator[pa.RecordBatch]:
        folder, name = Path(self.path).parent, Path(self.path).name
        fields = row_format(self._description, self.path)
        reader = open_data_file(Storage(str(folder)), name, self._description, fields)
        return iter(reader.batches(schema, rows, use_threads=False))


def _check_whole(path: str, parameters: Parameters) -> None:
    """Make sure that a file is asked for as a whole: bytes do not say where its parts begin."""
    size = Path(path).stat().st_size if Path(path).is_file() else 0
    begin = number(parameters, "block_offset", 0)
    if begin != 0 or number(parameters, "block_length", size) < size:
        raise RefusedError(f"{path}: a scan of a part of a file, from byte {begin} on")
