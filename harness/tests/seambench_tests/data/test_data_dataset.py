"""The data folder: whole or absent, one writer at a time, clear words when the disk says no."""

import errno
import importlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError, UnavailableError, UsageError
from seambench.data import generate as generate_function
from seambench.data.dataset import (
    Dataset,
    data_lock,
    dataset_folder,
    default_data_folder,
    is_half_made,
    list_datasets,
    open_dataset,
    os_errors,
    remove_leftovers,
    staging,
    write_manifest,
)
from seambench.data.generate import GenerateOptions, default_slices

_CONTENT = {"layout": "parquet", "scale": 0.01, "tables": {}, "expected": {}, "knobs": {}}
# Runs a snippet in a process of its own, with this process's import path.
_HOLD_LOCK = """
    from pathlib import Path
    from seambench.data.dataset import data_lock
    import sys, time
    with data_lock(Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(60)
"""
_HALF_WRITTEN = """
    from pathlib import Path
    from seambench.data.dataset import data_lock, staging
    import sys, time
    with data_lock(Path(sys.argv[1])), staging(Path(sys.argv[1]) / "sf1" / "parquet") as folder:
        (folder / "half").write_text("x")
        print("writing", flush=True)
        time.sleep(60)
"""


def _start(snippet: str, *arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(snippet), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() in ("held", "writing")
    return process


def _end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.communicate(timeout=300)


def _write(folder: Path) -> Dataset:
    with staging(folder) as temporary:
        write_manifest(temporary, _CONTENT)
    return open_dataset(folder)


def test_data_set_appears_whole(tmp_path: Path) -> None:
    """While it is written nothing has its name; afterwards nothing temporary is left."""
    target = dataset_folder(tmp_path, 0.01, "parquet")
    with staging(target) as temporary:
        write_manifest(temporary, _CONTENT)
        assert not target.exists()
        assert list_datasets(tmp_path) == []
    assert [path.name for path in target.parent.iterdir()] == ["parquet"]
    assert [dataset.name for dataset in list_datasets(tmp_path)] == ["sf0.01/parquet"]
    assert list_datasets(tmp_path, 1) == []


def test_tables_have_addresses_that_hold_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers in Java refuse one that begins in the folder one is in, as `data` does."""
    monkeypatch.chdir(tmp_path)
    dataset = _write(dataset_folder(Path("data"), 0.01, "parquet"))
    assert dataset.path == tmp_path / "data" / "sf0.01" / "parquet"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failed_write_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    """An error or Ctrl-C in the middle leaves no folder at all."""
    target = tmp_path / "sf1" / "parquet"

    def fail() -> None:
        with staging(target) as temporary:
            (temporary / "half").write_text("x")
            raise error

    with pytest.raises(error):
        fail()
    assert list(target.parent.iterdir()) == []


def test_failed_replacement_keeps_the_old(tmp_path: Path) -> None:
    """Making a data set again leaves the old one in its place until the new one is whole."""
    dataset = _write(tmp_path / "sf1" / "parquet")
    with pytest.raises(ValueError, match="stop"), staging(dataset.path, replace=True):
        raise ValueError("stop")
    assert open_dataset(dataset.path).manifest == dataset.manifest
    with staging(dataset.path, replace=True) as temporary:
        write_manifest(temporary, _CONTENT | {"layout": "cow-v9"})
    assert open_dataset(dataset.path).layout == "cow-v9"
    assert len(list(dataset.path.parent.iterdir())) == 1


def test_tables_that_name_their_place_are_written_there(tmp_path: Path) -> None:
    """The final name leads to what is being written; an older data set is back after a failure."""
    dataset = _write(tmp_path / "sf1" / "parquet")
    with pytest.raises(ValueError, match="stop"):
        _replace_in_place(dataset.path, fails=True)
    assert open_dataset(dataset.path).manifest == dataset.manifest
    _replace_in_place(dataset.path, fails=False)
    assert open_dataset(dataset.path).layout == "cow-v9"
    assert not dataset.path.is_symlink()
    assert [path.name for path in dataset.path.parent.iterdir()] == ["parquet"]


def _replace_in_place(target: Path, *, fails: bool) -> None:
    with staging(target, replace=True, in_place=True) as folder:
        assert folder == target
        assert is_half_made(target)
        assert list_datasets(target.parent.parent) == []
        if fails:
            raise ValueError("stop")
        write_manifest(folder, _CONTENT | {"layout": "cow-v9"})


def test_link_of_a_killed_writer_goes(tmp_path: Path) -> None:
    """A name that still leads to what was half-made is free again; other links stay."""
    folder = tmp_path / "sf1"
    (folder / ".tmp-parquet-1").mkdir(parents=True)
    (folder / "elsewhere").mkdir()
    (folder / "parquet").symlink_to(".tmp-parquet-1")
    (folder / "own").symlink_to("elsewhere")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["elsewhere", "own"]


def test_killed_writer_leaves_nothing_that_looks_complete(tmp_path: Path) -> None:
    """After SIGKILL only a temporary folder is there; the next run removes it."""
    process = _start(_HALF_WRITTEN, str(tmp_path))
    _end(process)
    assert list_datasets(tmp_path) == []
    with data_lock(tmp_path, wait=False):
        removed = remove_leftovers(tmp_path)
    assert len(removed) == 1
    assert list((tmp_path / "sf1").iterdir()) == []


def test_interrupted_writer_cleans_up(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a write removes what was written."""
    process = _start(_HALF_WRITTEN, str(tmp_path))
    _end(process, signal.SIGINT)
    assert list((tmp_path / "sf1").iterdir()) == []


def test_second_writer_is_told_or_waits(tmp_path: Path) -> None:
    """Without waiting the second run fails and names the first; with it, it says so first."""
    process = _start(_HOLD_LOCK, str(tmp_path))
    try:
        with (
            pytest.raises(UsageError, match=f"written by process {process.pid}"),
            data_lock(tmp_path, wait=False),
        ):
            pass
        said: list[str] = []

        def release(text: str) -> None:
            said.append(text)
            process.kill()

        begun = time.monotonic()
        with data_lock(tmp_path, on_wait=release):
            assert len(said) == 1
            assert "waiting" in said[0]
        assert time.monotonic() - begun < 50
    finally:
        _end(process)


def test_missing_data_set(tmp_path: Path) -> None:
    """A folder without a manifest is no data set, and the message says how to make one."""
    with pytest.raises(InputError, match="seambench data"):
        open_dataset(tmp_path)
    with pytest.raises(InputError, match=r"no manifest\.json"):
        open_dataset(tmp_path / "absent")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("{", InputError, "cannot be read"),
        ("[]", RefusedError, "schema version None"),
        ('{"schema_version": 99}', RefusedError, "schema version 99"),
        ('{"schema_version": 1}', InputError, "lacks expected"),
    ],
)
def test_bad_manifest(tmp_path: Path, text: str, error: type[Exception], words: str) -> None:
    """A manifest that is damaged, incomplete or of another version is refused with its path."""
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(error, match=words) as caught:
        open_dataset(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_manifest_is_json_with_version_and_time(tmp_path: Path) -> None:
    """The manifest says which schema it follows and when it was written, in UTC."""
    write_manifest(tmp_path, _CONTENT)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["schema_version"] == 1
    assert manifest["created_utc"].endswith("+00:00")


@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (errno.ENOSPC, UnavailableError, "no space left"),
        (errno.EDQUOT, UnavailableError, "no space left"),
        (errno.EACCES, UsageError, "no permission"),
        (errno.EROFS, UsageError, "no permission"),
        (errno.ENOTDIR, UsageError, "in the way"),
    ],
)
def test_disk_errors_become_one_sentence(number: int, error: type[Exception], words: str) -> None:
    """What the system reports about the disk is said in words, with what was being done."""
    with pytest.raises(error, match=words) as caught, os_errors("writing x"):
        raise OSError(number, os.strerror(number), "/data/x")
    assert "writing x" in str(caught.value)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Root may write everywhere, so that it becomes nobody for a while."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


@pytest.mark.usefixtures("unprivileged")
def test_data_folder_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data folder where this user may not write is refused by name, with a way out."""
    module = importlib.import_module("seambench.data.generate")
    monkeypatch.setattr(module, "require_spark", lambda: None)
    options = GenerateOptions(data=Path("/usr/seambench-data"), quiet=True)
    with pytest.raises(UsageError, match=r"no permission to write /usr/seambench-data.*--data"):
        generate_function(options)


def test_data_folder_under_a_file(tmp_path: Path) -> None:
    """A file where the data folder should be is said to be in the way."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="in the way"):
        generate_function(GenerateOptions(data=tmp_path / "file" / "data", quiet=True))


def test_no_space_is_told_before_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that cannot hold the data is told before Spark starts, with both figures."""

    class Usage:
        free = 100_000_000

    monkeypatch.setattr("shutil.disk_usage", lambda _path: Usage)
    with pytest.raises(UnavailableError, match=r"0\.1 GB free, but about \d+\.\d GB"):
        generate_function(GenerateOptions(scale=1, data=tmp_path, quiet=True))
    assert list(tmp_path.glob("sf*")) == []


def test_other_knobs_are_refused(tmp_path: Path) -> None:
    """A data set made with other knobs is not passed off as what was asked for."""
    _write(tmp_path / "sf0.01" / "parquet")
    options = GenerateOptions(data=tmp_path, layouts=("parquet",), quiet=True)
    with pytest.raises(UsageError, match=r"exists with generator None.*--force"):
        generate_function(options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (GenerateOptions(layouts=("nope",)), "unknown layout 'nope'"),
        (GenerateOptions(tables=("orders", "nope")), "unknown table nope"),
        (GenerateOptions(tables=()), "unknown table"),
        (GenerateOptions(scale=-1), "scale -1"),
    ],
)
def test_bad_options(options: GenerateOptions, words: str) -> None:
    """Wrong options are refused before anything is written."""
    with pytest.raises(UsageError, match=words):
        generate_function(options)


def test_default_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """SEAMBENCH_DATA names the data folder, else it is ./data."""
    monkeypatch.delenv("SEAMBENCH_DATA", raising=False)
    assert default_data_folder() == Path("data")
    monkeypatch.setenv("SEAMBENCH_DATA", "/somewhere")
    assert default_data_folder() == Path("/somewhere")


def test_default_slices() -> None:
    """Twenty slices or a multiple of them at every scale: each 5 % is a number of slices."""
    assert [default_slices(scale) for scale in (0.01, 0.1, 1, 2.5, 10)] == [20, 20, 20, 20, 80]


@pytest.mark.parametrize(("share", "slices"), [(5, 5), (20, 8), (50, 5), (1, 20)])
def test_a_share_that_slices_cannot_show_is_refused(
    tmp_path: Path, share: int, slices: int
) -> None:
    """5 % of five slices would be one, which is 20 %: nothing is made."""
    options = GenerateOptions(
        data=tmp_path, layouts=(f"mor-v9-event-avro-u20-s{share}",), slices=slices
    )
    with pytest.raises(UsageError, match=f"{share} % of {slices} slices is no whole number"):
        generate_function(options)
    assert list(tmp_path.iterdir()) == []
