"""The smallest table format there is: Parquet files in a folder, with masks, as read units."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seamkit.files.columns import FoundReader, OrValue, Source
from seamkit.files.parquet import ParquetReader
from seamkit.files.promotion import LOSSLESS, TypeRules
from seamkit.files.reader import FileReader
from seamkit.files.roaring import Positions
from seamkit.files.storage import Storage
from seamkit.scan.units import DataFile, Mask, ReadPlan, ReadUnit


def positions(gone: Sequence[int]) -> Positions:
    """What a mask's loader gives."""
    return np.array(gone, dtype=np.int64)


def open_file(folder: str, name: str) -> ParquetReader:
    """Open a data file."""
    return ParquetReader(Storage(folder), name)


def open_under_names(
    folder: str, name: str, rules: TypeRules, names: Mapping[str, str | pa.Scalar | None]
) -> FoundReader:
    """A file whose columns are found under other names, or have a value, or are null."""

    def find(wanted: pa.Field) -> Source:
        own = names.get(wanted.name, wanted.name)
        if isinstance(own, str):
            return Source(wanted, wanted.with_name(own), wanted.type)
        return Source(wanted, None, wanted.type, None if own is None else OrValue(own))

    return FoundReader(ParquetReader(Storage(folder), name, rules), find)


def write_unit(
    folder: Path,
    name: str,
    rows: pa.Table,
    gone: Sequence[int] | None = None,
    *,
    group_rows: int = 100,
    partition: Mapping[str, pa.Scalar] | None = None,
    guarantee: pc.Expression | None = None,
    names: Mapping[str, str | pa.Scalar | None] | None = None,
    **options: Any,
) -> ReadUnit:
    """Write a data file, with options of pyarrow's writer, and plan it as a unit."""
    pq.write_table(rows, folder / name, row_group_size=group_rows, version="1.0", **options)
    opener: Callable[[], FileReader] = partial(open_file, str(folder), name)
    if names is not None:
        opener = partial(open_under_names, str(folder), name, LOSSLESS, names)
    file = DataFile(name, (folder / name).stat().st_size, opener)
    mask = None if gone is None else Mask(partial(positions, gone))
    known = None if guarantee is None else partial(known_of, guarantee)
    return ReadUnit(name, [file], partition or {}, changes=mask, guarantee=known)


def write_as(writer: str, path: Path) -> None:
    """Let a file that pyarrow wrote be another writer's, whose name is as long at most."""
    own = str(pq.read_metadata(path).created_by).encode()
    path.write_bytes(path.read_bytes().replace(own, writer.encode().ljust(len(own))))


def known_of(guarantee: pc.Expression, _names: Collection[str]) -> pc.Expression:
    """What is known, whatever columns are of interest."""
    return guarantee


def plan(schema: pa.Schema, *units: ReadUnit) -> ReadPlan:
    """A plan of some units."""
    return ReadPlan("a folder", schema, units)
