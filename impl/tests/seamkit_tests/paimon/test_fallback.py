"""A branch that stands in for the partitions that a table lacks (`scan.fallback-branch`).

The rules are those of `FallbackReadFileStoreTable` in paimon-core: a partition is read from one of
both branches, whole, and what a filter leaves of it says nothing of which one.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import seamkit
from seambase.errors import InputError, RefusedError
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.outlets import OUTLETS, Filter
from seamkit_tests.samples.paimon_tables import rewritten, scan_by, unpack_paimon

_OPTION = "scan.fallback-branch"


def _cut(folder: Path, newest: int) -> None:
    """Leaves the snapshots up to a number."""
    for file in (folder / "snapshot").iterdir():
        if not file.name.startswith("snapshot-") or int(file.name[9:]) > newest:
            file.unlink()


def _schema(folder: Path, change: Mapping[str, Any]) -> None:
    file = max((folder / "schema").glob("schema-*"), key=lambda one: int(one.name[7:]))
    schema = json.loads(file.read_text("utf-8"))
    schema |= {key: value for key, value in change.items() if key != "options"}
    schema["options"] |= change.get("options", {})
    file.write_text(json.dumps(schema), "utf-8")


def _branched(
    name: str, folder: Path, *, newest: int, other: int | None, option: str = "other"
) -> Path:
    """A table as some snapshot left it, and its branch `other`, as another one did."""
    table = unpack_paimon(name, folder)
    branch = table / "branch/branch-other"
    for part in ("schema", "snapshot"):
        shutil.copytree(table / part, branch / part)
    _cut(table, newest)
    _cut(branch, other or 0)
    _schema(table, {"options": {_OPTION: option}})
    return table


def _keys(table: Path, path: str = "auto", **how: Any) -> list[int]:
    return sorted(scan_by(table, path, **how).to_table()["k"].to_pylist())


_PATHS = pytest.mark.parametrize("path", ["auto", "connector"])


@_PATHS
@pytest.mark.parametrize(
    ("newest", "other", "keys"),
    [(1, 3, [1, 2, 3, 4]), (0, 3, [1, 2, 3, 4, 5]), (3, 1, [1, 2, 3, 4, 5]), (1, None, [1, 2])],
)
def test_partitions_that_a_table_lacks_are_those_of_the_branch(
    path: str, newest: int, other: int | None, keys: list[int], tmp_path: Path
) -> None:
    """Key 5 lies in a partition of which the table has an older state."""
    table = _branched("append-partitions", tmp_path, newest=newest, other=other)
    assert _keys(table, path) == keys
    assert PaimonTable(str(table)).scan().count_rows() == len(keys)
    assert seamkit.open_table(table).to_arrow(["k"]).num_rows == len(keys)


@_PATHS
@pytest.mark.parametrize(
    ("test", "keys"),
    [
        (pc.field("k") == 5, []),
        (pc.field("k") >= 3, [3, 4]),
        (pc.field("p") == "a/b:c=d%e", [1]),
        (pc.field("p") == "", [3]),
        (pc.field("p").is_null(), [2]),
    ],
    ids=str,
)
def test_a_filter_does_not_let_the_branch_in(
    path: str, test: pc.Expression, keys: list[int], tmp_path: Path
) -> None:
    """A partition that is there stays so where nothing in it meets the filter."""
    table = _branched("append-partitions", tmp_path, newest=1, other=3)
    assert _keys(table, path, filter=test) == keys


@pytest.mark.parametrize("outlet", OUTLETS)
def test_all_doors_have_both(outlet: str, tmp_path: Path) -> None:
    """Partitions of either one."""
    table = PaimonTable(str(_branched("append-partitions", tmp_path, newest=1, other=3)))
    rows = OUTLETS[outlet](table, Filter("k > 1", pc.field("k") > 1), {"columns": ["k"]})
    assert sorted(rows["k"].to_pylist()) == [2, 3, 4]


@_PATHS
def test_each_branch_is_merged_by_its_own_options(path: str, tmp_path: Path) -> None:
    """Partitions are not merged with each other."""
    table = _branched("pk-partitions", tmp_path, newest=0, other=2)
    rows = {(row["k"], row["p"]): row["v"] for row in scan_by(table, path).to_table().to_pylist()}
    assert rows == {(1, "x"): "aa", (1, "y"): "b", (2, ""): "cc"}
    options = {"merge-engine": "first-row"}
    _schema(table / "branch/branch-other", {"options": options})
    assert (
        scan_by(table, path).to_table().num_rows == 0
    )  # of the engine first-row no row of level 0 is seen


def test_rows_that_are_not_seen_do_not_count(tmp_path: Path) -> None:
    """A partition of which the table shows no file is the branch's."""
    table = _branched("pk-partitions", tmp_path, newest=2, other=2)
    _schema(table, {"options": {"merge-engine": "first-row"}})
    rows = {(row["k"], row["p"]): row["v"] for row in scan_by(table).to_table().to_pylist()}
    assert rows == {(1, "x"): "aa", (1, "y"): "b", (2, ""): "cc"}


def test_the_branch_has_none_that_stands_in_for_it(tmp_path: Path) -> None:
    """Its own option is not followed, and a table may be its own; an empty name is none."""
    table = _branched("append-partitions", tmp_path, newest=1, other=3)
    _schema(table / "branch/branch-other", {"options": {_OPTION: "gone"}})
    assert _keys(table) == [1, 2, 3, 4]
    _schema(table, {"options": {_OPTION: "main"}})
    assert _keys(table) == [1, 2]
    _schema(table, {"options": {_OPTION: " "}})
    assert _keys(table) == [1, 2]
    assert _keys(table, as_of=1) == [1, 2]


@pytest.mark.parametrize(
    "how",
    [{"as_of": 1}, {"query": "incremental", "begin": 0}, {"query": "read-optimized"}],
    ids=repr,
)
def test_only_the_newest_rows_are_read(how: dict[str, Any], tmp_path: Path) -> None:
    """Which state of the branch goes with an older one is not specified."""
    table = _branched("append-partitions", tmp_path, newest=1, other=3)
    with pytest.raises(RefusedError, match=_OPTION):
        PaimonTable(str(table)).scan(**how)


@pytest.mark.parametrize(
    ("change", "option", "error", "words"),
    [
        ({}, "another", InputError, "'another', no branch"),
        ({"partitionKeys": ["p", "d"]}, "other", RefusedError, "columns or keys are not those"),
        ({"primaryKeys": ["k", "p", "d", "n"]}, "other", RefusedError, "columns or keys"),
        ({"fields": []}, "other", RefusedError, "columns or keys"),
    ],
    ids=["no branch", "partitions", "keys", "columns"],
)
def test_branches_that_do_not_fit_are_refused(
    change: Mapping[str, Any],
    option: str,
    error: type[Exception],
    words: str,
    tmp_path: Path,
) -> None:
    """There is none, or its columns or keys are others."""
    table = _branched("append-partitions", tmp_path, newest=1, other=3, option=option)
    if change.get("fields") == []:
        branch = table / "branch/branch-other/schema/schema-0"
        schema = json.loads(branch.read_text("utf-8"))
        change = {"fields": [*schema["fields"][:-1], schema["fields"][-1] | {"type": "INT"}]}
    _schema(table / "branch/branch-other", change)
    with pytest.raises(error, match=words):
        PaimonTable(str(table)).scan()


def test_files_of_the_branch_are_read_by_its_own_schemas(tmp_path: Path) -> None:
    """Its numbers of schemas are its own, and what columns are called in them."""
    table = _branched("append-partitions", tmp_path, newest=1, other=3)
    folder = table / "branch/branch-other/schema"
    schema = json.loads((folder / "schema-0").read_text("utf-8"))
    fields = [own | {"id": own["id"] + 10} for own in schema["fields"]]
    schema |= {"fields": fields, "highestFieldId": schema["highestFieldId"] + 10}
    for number in (0, 1):
        (folder / f"schema-{number}").write_text(json.dumps(schema | {"id": number}), "utf-8")
    assert _keys(table) == [1, 2, 3, 4]
    assert _keys(table, filter=pc.field("k") > 3) == [4]


@pytest.mark.parametrize("other", [3, None])
def test_a_lost_snapshot_of_the_branch_is_told(other: int | None, tmp_path: Path) -> None:
    """As one of the table itself is, though none be left."""
    table = _branched("append-partitions", tmp_path, newest=1, other=other)
    (table / "branch/branch-other/snapshot/LATEST").write_text("9", "utf-8")
    [warning] = PaimonTable(str(table)).scan().report().warnings
    assert "snapshot 9" in warning.reason
    with pytest.raises(InputError, match="snapshot 9"):
        PaimonTable(str(table)).scan(strict=True)


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
def test_what_is_doubted_of_the_branch_is_told(tmp_path: Path) -> None:
    """Such as vectors of files that are gone."""
    table = _branched("vectors", tmp_path, newest=0, other=99)

    def with_another(entry: dict[str, Any]) -> None:
        found = entry["_DELETIONS_VECTORS_RANGES"] or []
        entry["_DELETIONS_VECTORS_RANGES"] = found + [one | {"f0": "data-gone"} for one in found]

    for file in table.glob("manifest/index-manifest-*"):
        rewritten(file, with_another)
    [warning] = PaimonTable(str(table)).scan().report().warnings
    assert "of files that are not live" in warning.reason


def test_a_name_one_letter_away_is_refused(tmp_path: Path) -> None:
    """A schema has no checksum, and without the option partitions would be missing."""
    table = _branched("append-partitions", tmp_path, newest=1, other=3)
    _schema(table, {"options": {"scan.fallback-brench": "other"}})
    with pytest.raises(InputError, match="fallback-brench"):
        PaimonTable(str(table)).scan()
