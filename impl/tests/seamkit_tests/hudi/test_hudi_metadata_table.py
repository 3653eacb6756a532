"""Slices by the metadata table: the same as by folders, on tables that Spark and Hudi wrote."""

import shutil
import zipfile
from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError
from seamkit.files.storage import Storage
from seamkit.tables.hudi.config.properties import load_config
from seamkit.tables.hudi.planning import Plan, Planner
from seamkit.tables.hudi.timeline.timeline import load_timeline
from seamkit.tables.hudi.timeline.window import NOW
from seamkit_tests import GOLDEN
from seamkit_tests.samples.calls import calls_of

_GOLDEN = GOLDEN
_TABLES = sorted(path.stem for path in _GOLDEN.glob("listing-*.zip"))


@pytest.fixture(params=_TABLES)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A table whose rows are zeros."""
    with zipfile.ZipFile(_GOLDEN / f"{request.param}.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path


def _plan(table: Path, listing: str = "metadata", *, local: bool = True) -> Plan:
    storage = Storage(str(table)) if local else Storage(f"local://{table}")
    timeline = load_timeline(storage, load_config(storage))
    return Planner(storage, timeline, listing).plan(NOW)  # type: ignore[arg-type]


def test_slices_are_those_of_the_folders(table: Path) -> None:
    """Names, sizes, partitions and instants agree, after compactions and cleans too."""
    plan = _plan(table)
    assert plan.slices == _plan(table, "files").slices
    assert plan.slices
    assert plan.from_metadata


def test_no_folder_of_the_data_is_listed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata table alone says what there is."""
    listed = calls_of(monkeypatch, Storage, "list")
    _plan(table)

    assert all("/.hoodie" in call.args[0].full((*call.args, "")[1]) for call in listed)


def test_auto_asks_the_metadata_table_where_looking_is_slow(table: Path) -> None:
    """A local folder is listed, any other storage asked for its metadata table."""
    assert not _plan(table, "auto").from_metadata
    assert _plan(table, "auto", local=False).from_metadata


@pytest.mark.parametrize("defect", ["base", "log", "properties", "behind"])
def test_a_broken_metadata_table_is_told_and_left_out(table: Path, defect: str) -> None:
    """Folders are listed instead, with a warning; asked for by name, it is an error."""
    expected = _plan(table, "files").slices
    folder = table / ".hoodie" / "metadata"
    victims = {
        "base": folder.glob("files/*.hfile"),
        "log": folder.glob("files/.*.log.*"),
        "properties": folder.glob(".hoodie/hoodie.properties"),
    }
    for path in victims.get(defect, ()):
        content = path.read_bytes()
        path.write_bytes(content[:50] if defect == "properties" else b"\xff" * len(content))
    if defect == "behind":
        storage = Storage(str(table))
        newest = load_timeline(storage, load_config(storage)).last_completed()
        for path in folder.glob(f".hoodie/**/{newest}*commit"):
            path.unlink()
    plan = _plan(table, "auto", local=False)
    assert plan.slices == expected
    assert not plan.from_metadata
    assert [w.file.endswith(".hoodie/metadata") for w in plan.warnings] == [True]
    with pytest.raises((InputError, RefusedError), match="metadata"):
        _plan(table)


def test_a_table_without_one_is_refused_by_name(table: Path) -> None:
    """Where the properties name no list of files, none is believed."""
    path = table / ".hoodie" / "hoodie.properties"
    path.write_text(path.read_text().replace("hoodie.table.metadata.partitions=files", ""))
    assert not _plan(table, "auto", local=False).from_metadata
    with pytest.raises(RefusedError, match="no metadata table"):
        _plan(table)
    shutil.rmtree(table / ".hoodie" / "metadata")
    assert _plan(table, "files").slices
