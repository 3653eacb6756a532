"""Damaged Delta tables: the same rows, a warning, or a typed error; never other rows in silence."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from seambase.errors import InputError, RefusedError, UsageError
from seambench.formats.forms.footer import Struct
from seamkit.tables.delta.table import DeltaTable
from seamkit_tests.samples.damage import (
    in_each_others_place,
    schema_elements_changed,
    silent_damage,
)
from seamkit_tests.samples.delta_tables import commit_path, unpack_delta

TABLES = ("vectors-random-prefix", "checkpoint-vectors", "mapping-partitions", "checkpoint-v2-json")


def _answer(table: Path, query: Literal["snapshot", "cdc"] = "snapshot") -> Counter[str] | None:
    """The rows as a multiset; None for a typed error or a warning."""
    try:
        scan = DeltaTable(str(table)).scan(threads=1, strict=True, query=query)
        rows = [{**row, "_commit_timestamp": None} for row in scan.to_table().to_pylist()]
    except (InputError, RefusedError, UsageError):
        return None
    return Counter(map(repr, rows))


def _flipped(file: Path) -> bool:
    # Parquet's footers and page headers have no checksum: a flip there can turn a value into
    # another that is as good, and no reader can tell.
    return file.suffix != ".parquet"


def _is_log(file: Path) -> bool:
    # As above; a name of a field that is another in an early commit is no contradiction.
    return file.suffix not in (".parquet", ".json")


def _run(name: str, folder: Path, seed: int, count: int) -> dict[str, str]:
    return silent_damage(unpack_delta(name, folder), _answer, _flipped, seed=seed, count=count)


@pytest.mark.parametrize("name", TABLES)
def test_no_damage_changes_rows_in_silence(name: str, tmp_path: Path) -> None:
    """Every file removed, emptied, cut and flipped, a few times each."""
    assert _run(name, tmp_path, seed=7, count=1) == {}


def test_no_damage_changes_a_feed_in_silence(tmp_path: Path) -> None:
    """Nor do changes come that were none, or stay away; times of files are another matter."""
    table = unpack_delta("change-feed", tmp_path)
    answer = partial(_answer, query="cdc")
    assert silent_damage(table, answer, _is_log, seed=8, count=1) == {}


@pytest.mark.parametrize(
    "name",
    ["partitions-times", "mapping-swapped", "vectors-two-files", "polars-partitioned", "feed-life"],
)
def test_files_in_each_others_place_are_told(name: str, tmp_path: Path) -> None:
    """By ranges and counts that the log states; of what a vector leaves of a file by ranges."""
    found = in_each_others_place(unpack_delta(name, tmp_path), "**/part-*.parquet", _answer)
    assert found["told"]
    assert not found["silent"]


@pytest.mark.parametrize("name", ["mapping-nested-name", "types-nested", "polars-merged"])
def test_a_column_with_values_is_missed(name: str, tmp_path: Path) -> None:
    """Within a struct as well: under another name it would be null, as if added since."""
    table = unpack_delta(name, tmp_path)
    assert schema_elements_changed(table, "**/part-*.parquet", _renamed, _answer)["told"] > 1


@pytest.mark.parametrize(
    ("name", "is_refused"), [("adt", True), ("Add", True), ("addition", False), ("plan", False)]
)
def test_an_action_with_one_wrong_letter_is_refused(
    name: str, is_refused: bool, tmp_path: Path
) -> None:
    """One that nobody knows is passed over, as the protocol asks, and so its file would be."""
    table = unpack_delta("deltalake-partitioned", tmp_path)
    commit = commit_path(table, 0)
    text = commit.read_text("utf-8")
    if not is_refused:
        commit.write_text(f'{{"{name}":{{}}}}\n{text}', "utf-8")
        assert _answer(table)
        return
    commit.write_text(text.replace('{"add":', f'{{"{name}":', 1), "utf-8")
    with pytest.raises(InputError, match=f"the action '{name}' is one letter away from 'add'"):
        DeltaTable(str(table)).scan().to_table()


def _renamed(element: Struct) -> None:
    element[4].value = element[4].value[:-1] + b"#"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", TABLES)
def test_no_damage_changes_rows_in_silence_at_length(name: str, seed: int, tmp_path: Path) -> None:
    """As above, with more luck."""
    assert _run(name, tmp_path, seed=100 + seed, count=60) == {}
