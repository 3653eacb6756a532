"""The files of a bucket: which are read as they stand, and which are merged with each other.

Each file of level 0 is a sorted run, each higher level is one. Files whose ranges of keys overlap,
directly or through others, make up a section; sections are merged independently of each other
(IntervalPartition, MergeTreeSplitGenerator of paimon-core).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seamkit.tables.paimon.metadata.binary_row import row_values
from seamkit.tables.paimon.metadata.manifests import FileEntry

__all__ = ["Section", "by_bucket", "sections"]


@dataclass(frozen=True)
class Section:
    """Files that are merged together.

    Attributes:
        runs: each a sorted run, its files in the order of their keys; the oldest rows first where
            `ordered`.
        ordered: whether all rows of a run are older than those of the next.
    """

    runs: Sequence[Sequence[FileEntry]]
    ordered: bool

    @property
    def files(self) -> Sequence[FileEntry]:
        """All files, run by run."""
        return [file for run in self.runs for file in run]


def sections(files: Sequence[FileEntry], key_types: Sequence[pa.DataType]) -> Sequence[Section]:
    """Cut the files of a bucket into sections.

    Args:
        files: of one bucket, at least one.
        key_types: of the key's columns.

    Raises:
        InputError: a file's smallest or largest key is not readable, or they are in disorder.
        RefusedError: one of several files ends with NaN in its key.
    """
    if len(files) == 1:
        return [_section(files)]
    bounds = {file.identity: _bounds(file, key_types) for file in files}
    ordered = sorted(files, key=lambda file: bounds[file.identity][0])
    found: list[list[FileEntry]] = []
    top: _Key | None = None
    for file in ordered:
        low, high = bounds[file.identity]
        if top is None or top < low:
            found.append([])
            top = high
        found[-1].append(file)
        top = max(top, high)
    return [_section(own) for own in found]


def _section(files: Sequence[FileEntry]) -> Section:
    """The runs of a section; `files` are in the order of their smallest keys."""
    runs: dict[object, list[FileEntry]] = {}
    for file in files:
        runs.setdefault(file.identity if file.level == 0 else file.level, []).append(file)
    spans = {
        name: (min(f.min_sequence for f in run), max(f.max_sequence for f in run))
        for name, run in runs.items()
    }
    names = sorted(runs, key=lambda name: spans[name])
    apart = all(spans[one][1] < spans[other][0] for one, other in itertools.pairwise(names))
    return Section([runs[name] for name in names], apart)


@functools.total_ordering
class _Key:
    """A key in the order of its table: numbers by value, texts by their bytes.

    Both zeros are one: Paimon's comparators ask for `>`, then for `<`, and the rest is equal.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.values == other.values

    def __lt__(self, other: _Key) -> bool:
        return self.values < other.values

    __hash__ = None  # type: ignore[assignment]


def _bounds(file: FileEntry, types: Sequence[pa.DataType]) -> tuple[_Key, _Key]:
    where = f"{file.where}: {file.name}"
    low, high = (
        _Key([_comparable(value, where) for value in row_values(data, types, where)])
        for data in (file.min_key, file.max_key)
    )
    if high < low:
        raise InputError(f"{where}: its largest key is below its smallest")
    return low, high


def _comparable(value: pa.Scalar, where: str) -> Any:
    if not value.is_valid:
        raise InputError(f"{where}: its smallest or largest key has a null")
    kind = value.type
    if pa.types.is_string(kind):
        return value.as_py().encode("utf-8")
    if pa.types.is_timestamp(kind) or pa.types.is_time32(kind) or pa.types.is_date32(kind):
        numbers = pa.int32() if kind.bit_width == 32 else pa.int64()
        return value.cast(numbers).as_py()
    found: bool | int | float | bytes | Decimal = value.as_py()
    if isinstance(found, float) and math.isnan(found):
        raise RefusedError(
            f"{where}: its smallest or largest key has NaN, and the bucket has other files; to "
            "Paimon NaN equals every key, so what becomes of their rows is not specified"
        )
    return found


def by_bucket(files: Sequence[FileEntry]) -> Mapping[tuple[bytes, int], list[FileEntry]]:
    """The files of each bucket of each partition."""
    buckets: dict[tuple[bytes, int], list[FileEntry]] = {}
    for file in files:
        buckets.setdefault((file.partition, file.bucket), []).append(file)
    return buckets
