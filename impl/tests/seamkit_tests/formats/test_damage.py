"""Files in each other's place, and footers of other columns: told, never other rows in silence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from seambench.formats.forms.footer import Struct
from seamkit.tables.delta.table import DeltaTable
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.iceberg.table import IcebergTable
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.damage import (
    Answer,
    answers,
    in_each_others_place,
    schema_elements_changed,
)
from seamkit_tests.samples.delta_tables import unpack_delta
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.iceberg_tables import unpack_iceberg
from seamkit_tests.samples.paimon_tables import unpack_paimon


def _renamed(element: Struct) -> None:
    element[4].value = element[4].value[:-1] + b"#"


def _renumbered(element: Struct) -> None:
    if 9 in element:
        element[9].value = 60 + element[9].value % 4


@dataclass(frozen=True)
class _Format:
    """How tables of a format are damaged.

    Attributes:
        unpack: makes a golden table by its name.
        answer: reads a folder.
        swapped: tables whose data files tell that they are in each other's place.
        data: those files.
    """

    unpack: Callable[[str, Path], Path]
    answer: Answer
    swapped: Sequence[str]
    data: str


_FORMATS = {
    "delta": _Format(
        unpack_delta,
        # When a commit was made is told by its file.
        answers(DeltaTable, strict=True),
        (
            *("partitions-times", "mapping-swapped", "vectors-two-files", "polars-partitioned"),
            "feed-life",
        ),
        "**/part-*.parquet",
    ),
    "iceberg": _Format(
        unpack_iceberg,
        answers(IcebergTable),
        (
            # Of `equality` the ranges overlap: Java's footers end in values.
            *("overwrite", "equality", "equality-partitioned", "positions-compacted"),
            *("pyiceberg-replaced", "travel"),
        ),
        "data/**/*.parquet",
    ),
    "paimon": _Format(
        unpack_paimon,
        answers(PaimonTable, strict=True),
        ("pk-orc", "pk-avro", "core-first-row", "core-vectors-both"),
        "**/bucket-*/data-*",
    ),
    "hudi": _Format(
        unpack_table,
        answers(HudiTable, strict=True),
        ("indexes/v9", "mor-v9-mixed", "partitions-encoded/v6"),
        "**/*_*_*.parquet",
    ),
}


@pytest.mark.parametrize(
    ("format_", "name"), [(one, name) for one, own in _FORMATS.items() for name in own.swapped]
)
def test_files_in_each_others_place_are_told(format_: str, name: str, tmp_path: Path) -> None:
    """By ranges, counts, keys and names of files that the table states, of deletes as well."""
    own = _FORMATS[format_]
    found = in_each_others_place(own.unpack(name, tmp_path), own.data, own.answer)
    assert found["told"]
    assert not found["silent"]


@pytest.mark.parametrize(
    ("format_", "change", "name"),
    [
        *(("delta", _renamed, name) for name in ("mapping-nested-name", "types-nested")),
        ("delta", _renamed, "polars-merged"),
        *(("iceberg", _renumbered, name) for name in ("types-nested", "iceberg-go-types")),
        ("iceberg", _renumbered, "pyiceberg-types"),
    ],
)
def test_a_column_with_values_is_missed(
    format_: str, change: Callable[[Struct], None], name: str, tmp_path: Path
) -> None:
    """Within a struct as well: by another name or id it would be null, as if added since."""
    own = _FORMATS[format_]
    table = own.unpack(name, tmp_path)
    assert schema_elements_changed(table, own.data, change, own.answer)["told"] > 1
