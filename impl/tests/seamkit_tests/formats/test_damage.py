"""Damaged tables: the same rows, a warning, or a typed error; never other rows in silence."""

from __future__ import annotations

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
    silent_damage,
)
from seamkit_tests.samples.delta_tables import unpack_delta
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.iceberg_tables import unpack_iceberg
from seamkit_tests.samples.paimon_tables import unpack_paimon


def _hinted(file: Path) -> bool:
    """An older version is as good a table, where it is the newest that is left."""
    versions = file.parent.glob("v*.json")
    newest = max(versions, key=lambda one: int(one.name.split(".")[0][1:]), default=file)
    return file.name == "version-hint.text" or (file.name[:1] == "v" and file == newest)


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
        damaged: tables each of whose files is damaged.
        flipped: files of which bits are flipped. Parquet's footers and page headers have no
            checksum, nor have others: a flip there can turn a value into another as good.
        lasting: files that are not removed.
        flips: bits flipped for each length that is tried.
        seeds: how often, and how many lengths and bits each, at length.
        swapped: tables whose data files tell that they are in each other's place.
        data: those files.
    """

    unpack: Callable[[str, Path], Path]
    answer: Answer
    swapped: Sequence[str]
    data: str
    damaged: Sequence[str] = ()
    flipped: Callable[[Path], bool] = lambda _: False
    lasting: Callable[[Path], bool] = lambda _: False
    flips: int = 1
    seeds: tuple[int, int] = (3, 20)

    def silent(self, name: str, folder: Path, seed: int, count: int) -> dict[str, str]:
        """What changes a table's rows without a word."""
        table = self.unpack(name, folder)
        return silent_damage(
            table,
            self.answer,
            self.flipped,
            self.lasting,
            seed=seed,
            count=count,
            flips=count * self.flips,
        )


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
        (
            *("vectors-random-prefix", "checkpoint-vectors", "mapping-partitions"),
            "checkpoint-v2-json",
        ),
        lambda file: file.suffix != ".parquet",
        seeds=(5, 60),
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
        (
            *("vectors-upgraded", "positions-partitioned", "equality-and-vectors"),
            *("equality-global", "evolution"),
        ),
        lambda file: file.suffix == ".puffin",
        _hinted,
        flips=4,
    ),
    "paimon": _Format(
        unpack_paimon,
        answers(PaimonTable, strict=True),
        ("pk-orc", "pk-avro", "core-first-row", "core-vectors-both"),
        "**/bucket-*/data-*",
        ("vectors", "pk-life", "append-vectors", "pk-partitions", "pk-evolution"),
        lambda file: file.as_posix().startswith(("index/", "manifest/index-manifest-")),
    ),
    "hudi": _Format(
        unpack_table,
        answers(HudiTable, strict=True),
        ("indexes/v9", "mor-v9-mixed", "partitions-encoded/v6"),
        "**/*_*_*.parquet",
    ),
}
_DAMAGED = [(one, name) for one, format_ in _FORMATS.items() for name in format_.damaged]


@pytest.mark.parametrize(("format_", "name"), _DAMAGED)
def test_no_damage_changes_rows_in_silence(format_: str, name: str, tmp_path: Path) -> None:
    """Every file removed, emptied, cut and flipped, a few times each."""
    assert _FORMATS[format_].silent(name, tmp_path, seed=7, count=1) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "seed"),
    [(one, name, seed) for one, name in _DAMAGED for seed in range(_FORMATS[one].seeds[0])],
)
def test_no_damage_changes_rows_in_silence_at_length(
    format_: str, name: str, seed: int, tmp_path: Path
) -> None:
    """As above, with more luck."""
    own = _FORMATS[format_]
    assert own.silent(name, tmp_path, seed=100 + seed, count=own.seeds[1]) == {}


def test_no_damage_changes_a_feed_in_silence(tmp_path: Path) -> None:
    """Nor do changes come that were none, or stay away; times of files are another matter.

    A name of a field that is another in an early commit is no contradiction.
    """
    table = unpack_delta("change-feed", tmp_path)
    answer = answers(DeltaTable, strict=True, query="cdc")
    assert silent_damage(table, answer, _is_no_log, seed=8, count=1) == {}


def _is_no_log(file: Path) -> bool:
    return file.suffix not in (".parquet", ".json")


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
