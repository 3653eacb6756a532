"""What is kept in a folder spares later processes the logs, and never changes a row."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import seamkit
from seamkit.files import kept_on_disk, remote
from seamkit.files.file_cache import KEPT, keep_likewise
from seamkit.files.kept_on_disk import Form, KeptOnDisk
from seamkit.files.remote import RemoteFiles, Retry
from seamkit.scan.events_cache import UnitMatches
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.hudi.merge.fold import SliceChanges
from seamkit_tests.samples.calls import Call, calls_of
from seamkit_tests.samples.golden_tables import unpack, unpack_table
from seamkit_tests.scan.kept import (
    Read,
    Rows,
    by_dataset,
    by_lazy_frame,
    by_parts,
    by_relation,
    by_stream,
    check_a_commit_is_seen,
    forget,
)

pytestmark = pytest.mark.usefixtures("nothing_kept")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where things are kept, as long as the test runs."""
    place = tmp_path_factory.mktemp("kept")
    seamkit.keep_on_disk(place)
    yield place
    seamkit.keep_on_disk(None)


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Grows by each decoding of logs, and by each file whose rows that are gone are worked out."""
    worked = calls_of(monkeypatch, SliceChanges, "load", "further")
    return calls_of(monkeypatch, UnitMatches, "_gone", found=worked)


_COUNTED = [by_dataset, by_lazy_frame, by_stream, by_parts]
_DOORS = [by_relation, *_COUNTED]
_KEYED = ["mor-v9-types", "mor-v6-types", "mor-v9-types-parquet-blocks"]
_MASKED = ["delta/vectors-update", "iceberg/equality-and-positions", "iceberg/vectors"]
_MASKED += ["paimon/pk-levels", "paimon/vectors"]


def _held(table: Path, read: Read, worked: list[Call]) -> None:
    """A later process has the same rows, and does no more for them than a second read in one.

    How much a first read by relation does is DuckDB's choice: where it opens the masks before the
    rows that we add, logs are decoded before their columns are asked for, and again for these.
    """
    first = read(table)
    once = len(worked)
    assert read(table) == first
    again = len(worked) - once
    assert again < once
    forget()
    before = len(worked)
    assert read(table) == first
    assert len(worked) == before + again

    seamkit.keep_on_disk(None)
    forget()
    before = len(worked)
    assert read(table) == first
    anew = len(worked) - before
    assert anew == once if read in _COUNTED else anew > again


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "read"), [*zip([*_KEYED, *_KEYED], _DOORS, strict=False)])
def test_a_later_process_decodes_no_log(
    name: str, read: Read, tmp_path: Path, worked: list[Call]
) -> None:
    """By any door, and its rows are those of a process that keeps nothing there."""
    _held(unpack_table(name, tmp_path), read, worked)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("late", range(4))
def test_masks_may_be_opened_before_rows(
    late: int, tmp_path: Path, worked: list[Call], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any of the reads, as under load: nothing more is decoded later."""
    reads, original = iter(range(4)), UnitScan._open_for_engine

    def read(table: Path) -> Rows:
        wait = 0.2 * (next(reads) == late)

        def opened(self: UnitScan, *asked: Any, **named: Any) -> Any:
            time.sleep(wait)
            return original(self, *asked, **named)

        monkeypatch.setattr(UnitScan, "_open_for_engine", opened)
        return by_relation(table)

    _held(unpack_table("mor-v9-types", tmp_path), read, worked)


@pytest.mark.parametrize(("read", "other"), [*zip(_DOORS, _DOORS[2:] + _DOORS[:2], strict=True)])
def test_what_one_door_has_kept_another_may_read(
    read: Read, other: Read, tmp_path: Path, folder: Path
) -> None:
    """Each brings some of it; rows stay as they are without."""
    table = unpack_table("mor-v9-types", tmp_path)
    seamkit.keep_on_disk(None)
    expected = read(table)
    forget()
    seamkit.keep_on_disk(folder)
    other(table)
    forget()
    assert read(table) == expected


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", _MASKED)
def test_a_later_process_works_out_no_mask(name: str, tmp_path: Path, worked: list[Call]) -> None:
    """Deletes and sorted runs are bits of the files, which a later process finds."""
    _held(unpack(name, tmp_path), by_relation, worked)


_PROCESS = """
import sys, duckdb, seamkit
from seamkit.files import file_cache
from seamkit.tables.hudi.merge.fold import SliceChanges

file_cache._SETTLED_NS = -(1 << 62)
seamkit.keep_on_disk(sys.argv[1], int(sys.argv[3]))
decoded = []
for method in ("load", "further"):
    def noted(self, *args, _original=getattr(SliceChanges, method)):
        decoded.append(args[0])
        return _original(self, *args)
    setattr(SliceChanges, method, noted)
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
rows = seamkit.open_table(sys.argv[2]).scan().relation(connection).to_arrow_table()
print(bool(decoded), sorted(map(repr, rows.to_pylist())))
"""


def _process(folder: Path, table: Path, most_bytes: int = 1 << 30) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PROCESS, str(folder), str(table), str(most_bytes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_share_a_folder(tmp_path: Path) -> None:
    """Two that write at once, and one that comes later and decodes nothing; texts hash anew."""
    table, folder = unpack_table("mor-v9-types", tmp_path / "table"), tmp_path / "kept"
    both = [_process(folder, table), _process(folder, table)]
    (first, _), (second, _) = (one.communicate(timeout=120) for one in both)
    last, _ = _process(folder, table).communicate(timeout=120)
    assert last.startswith("False [")
    assert len({one.partition(" ")[2] for one in (first, second, last)}) == 1
    names = [path.name for path in folder.iterdir()]
    assert names
    assert not [name for name in names if name.startswith(".")]


def test_nothing_is_written_unless_asked_for(tmp_path: Path, monkeypatch: Any) -> None:
    """Nor after it was turned off, nor where nothing is kept in memory."""
    monkeypatch.setattr(KeptOnDisk, "put", None)
    monkeypatch.setattr(KeptOnDisk, "get", None)
    table = unpack_table("mor-v9-types", tmp_path / "table")
    expected = by_relation(table)
    seamkit.keep_on_disk(tmp_path / "kept")
    seamkit.keep_on_disk(None)
    forget()
    assert by_relation(table) == expected
    seamkit.keep_on_disk(tmp_path / "kept")
    seamkit.keep_at_most(0)
    try:
        assert by_relation(table) == expected
    finally:
        seamkit.keep_on_disk(None)
    assert not [*(tmp_path / "kept").iterdir()]


@pytest.mark.usefixtures("folder")
def test_a_commit_between_two_processes_is_seen(tmp_path: Path) -> None:
    """Before it, after it, and once it is undone."""
    table = unpack_table("mor-v9-types", tmp_path / "table")
    completed = max((table / ".hoodie/timeline").glob("*.deltacommit"))

    def later() -> Rows:
        forget()
        return by_relation(table)

    check_a_commit_is_seen([completed], tmp_path, later)


@pytest.mark.usefixtures("folder")
def test_another_table_under_the_same_names_is_read_anew(
    tmp_path: Path, worked: list[Call]
) -> None:
    """Copied over the first: paths and sizes are the same, the files are others."""
    table = unpack_table("mor-v9-types", tmp_path / "table")
    rows = by_relation(table)
    once = len(worked)
    copy = shutil.copytree(table, tmp_path / "copy")
    shutil.rmtree(table)
    copy.rename(table)
    forget()
    assert by_relation(table) == rows
    assert len(worked) > once


@pytest.fixture
def place(tmp_path: Path) -> KeptOnDisk:
    """A megabyte in a folder of its own."""
    return KeptOnDisk.at(tmp_path / "kept", 1 << 20)


_NUMBERS = Form(
    lambda value: pa.record_batch({"n": pa.array(value, pa.int32())}),
    lambda batch: (batch.column(0).to_pylist(), batch.nbytes),
)


def _only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize("other", [b"", b"SEAMKEPT", b"x" * 500])
def test_damage_anywhere_is_a_miss_that_is_removed(place: KeptOnDisk, other: bytes) -> None:
    """Each byte turned, each length cut, bytes at the end, another entry under the name."""
    place.put(("a", 1), [1, 2, 3], _NUMBERS)
    path = _only(place.folder)
    whole = path.read_bytes()
    place.put(("a", 2), [4, 5, 6], _NUMBERS)
    (second,) = (one for one in place.folder.iterdir() if one != path)
    turned = (
        whole[:i] + bytes([whole[i] ^ (1 << i % 8)]) + whole[i + 1 :] for i in range(len(whole))
    )
    cut = (whole[:n] for n in range(len(whole)))
    for damaged in (*turned, *cut, whole + b"\0", second.read_bytes(), other):
        path.write_bytes(damaged)
        assert place.get(("a", 1), _NUMBERS) is None
        assert not path.exists()
    place.put(("a", 1), [1, 2, 3], _NUMBERS)
    assert place.get(("a", 1), _NUMBERS) == ([1, 2, 3], 12)
    assert path.read_bytes() == whole


def test_a_damaged_entry_costs_no_row(tmp_path: Path, worked: list[Call], folder: Path) -> None:
    """Whatever of it is hit, the logs are decoded again."""
    table = unpack_table("mor-v9-types", tmp_path)
    rows, random = by_relation(table), np.random.default_rng(3)
    for _ in range(8):
        for path in folder.iterdir():
            content = bytearray(path.read_bytes())
            content[random.integers(len(content))] ^= 1 << random.integers(8)
            path.write_bytes(content[: random.integers(1, 2 * len(content))])
        before = len(worked)
        forget()
        assert by_relation(table) == rows
        assert len(worked) > before


@pytest.mark.parametrize("what", ["folder", "pipe", "link"])
def test_what_is_no_file_is_a_miss(place: KeptOnDisk, tmp_path: Path, what: str) -> None:
    """Nobody waits for a pipe, or follows a link."""
    place.put("a", [1], _NUMBERS)
    path = _only(place.folder)
    aside = path.rename(tmp_path / "aside")
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(aside)
    assert place.get("a", _NUMBERS) is None
    place.put("a", [1], _NUMBERS)


@pytest.mark.parametrize(
    ("key", "other"),
    [
        (("a", 1), ("a", "1")),
        (("a", 1), ("a", True)),
        (("a", ("b", "c")), ("a", "b", "c")),
        (("a,b",), ("a", "b")),
        (("a", b"x"), ("a", "x")),
        (("a", None), ("a", "None")),
        ((frozenset({"a", "b"}),), (("a", "b"),)),
    ],
)
def test_keys_that_differ_have_entries_of_their_own(
    place: KeptOnDisk, key: Any, other: Any
) -> None:
    """Also where their parts look alike."""
    place.put(key, [1], _NUMBERS)
    assert place.get(other, _NUMBERS) is None
    place.put(other, [2], _NUMBERS)
    assert place.get(key, _NUMBERS) == ([1], 4)
    assert place.get(other, _NUMBERS) == ([2], 4)


@pytest.mark.parametrize(
    "key", [object(), f"{object()}", (1, [2]), {"a": 1}], ids=["object", "place", "list", "map"]
)
def test_a_key_of_this_process_alone_is_not_written(place: KeptOnDisk, key: Any) -> None:
    """The place of an object in memory means another one elsewhere."""
    place.put(("a", key), [1], _NUMBERS)
    assert not [*place.folder.iterdir()]
    assert place.get(("a", key), _NUMBERS) is None


def test_credentials_without_words_are_of_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object at the same place in another process's memory may let another user in."""
    who = {"who": object()}
    here = [
        RemoteFiles("memory://a", options, Retry())._store for options in (who, who, {"who": "a"})
    ]
    monkeypatch.setattr(remote, "_PROCESS", b"another")
    there = [RemoteFiles("memory://a", options, Retry())._store for options in (who, {"who": "a"})]
    assert here[0] == here[1] != there[0]
    assert here[2] == there[1]


def test_another_version_finds_nothing(place: KeptOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may decode otherwise."""
    place.put("a", [1], _NUMBERS)
    monkeypatch.setattr(kept_on_disk, "_versions", lambda: "another ")
    assert place.get("a", _NUMBERS) is None


def test_what_was_used_longest_ago_leaves_first(tmp_path: Path) -> None:
    """Within the bytes of the folder, whoever wrote it; other files there are let alone."""
    room = 1 << 16
    place, beside = (KeptOnDisk.at(tmp_path / "kept", room) for _ in range(2))
    (place.folder / "own").write_bytes(b"x" * room)
    abandoned = place.folder / f"{kept_on_disk._UNFINISHED}x"
    abandoned.write_bytes(b"x")
    os.utime(abandoned, (0, 0))
    for number in range(60):
        (place, beside)[number % 2].put(("n", number), [number] * 600, _NUMBERS)
        assert place.get(("n", 0), _NUMBERS) is not None
        entries = [p for p in place.folder.iterdir() if p.name not in ("own", abandoned.name)]
        assert sum(path.stat().st_size for path in entries) <= room * 9 // 8
        for age, path in enumerate(sorted(entries, key=lambda p: p.stat().st_mtime_ns)):
            os.utime(path, ns=(age, age))  # no clock is so fine
    found = [n for n in range(60) if place.get(("n", n), _NUMBERS)]
    assert found == [0, *range(60 - len(found) + 1, 60)]
    assert len(found) > 10
    assert (place.folder / "own").exists()
    assert not abandoned.exists()


def test_what_is_larger_than_the_folder_is_not_written(tmp_path: Path) -> None:
    """And pushes nothing out."""
    place = KeptOnDisk.at(tmp_path / "kept", 4000)
    place.put("a", [1], _NUMBERS)
    place.put("b", [1] * 2000, _NUMBERS)
    assert place.get("a", _NUMBERS) == ([1], 4)
    assert place.get("b", _NUMBERS) is None


def test_a_full_disk_is_told_once(place: KeptOnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing fails, nothing unfinished stays, what was there is read on."""
    place.put("a", [1], _NUMBERS)

    def full(_self: Path, _target: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        place.put("b", [1], _NUMBERS)
    place.put("c", [1], _NUMBERS)
    assert place.get("a", _NUMBERS) == ([1], 4)
    assert len([*place.folder.iterdir()]) == 1


def test_a_folder_that_is_gone_is_told_once(place: KeptOnDisk) -> None:
    """As a full disk is."""
    place.folder.rmdir()
    assert place.get("a", _NUMBERS) is None
    with pytest.warns(RuntimeWarning, match="nothing more is kept there"):
        place.put("a", [1], _NUMBERS)
    place.put("a", [1], _NUMBERS)


def test_a_type_that_another_process_may_not_know_is_a_miss(place: KeptOnDisk) -> None:
    """Its stored form alone would be of another type."""

    class Own(pa.ExtensionType):  # type: ignore[misc]  # pyarrow has no types
        def __init__(self) -> None:
            super().__init__(pa.int32(), "seamkit.tests.own")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _told: bytes) -> Own:
            return cls()

    from seamkit.scan.events_cache import _COLUMN

    column = pa.record_batch(
        {"a": pa.ExtensionArray.from_storage(Own(), pa.array([1], pa.int32()))}
    )
    place.put("a", (None, column), _COLUMN)
    assert _only(place.folder)
    assert place.get("a", _COLUMN) is None


def test_who_has_an_entry_keeps_it_when_it_is_removed(place: KeptOnDisk) -> None:
    """The mapping stays, whoever evicts the file meanwhile."""
    form = Form(_NUMBERS.pack, lambda batch: (batch, 0))
    place.put("a", [7] * 10_000, form)
    found = place.get("a", form)
    assert found is not None
    _only(place.folder).unlink()
    assert found[0].column(0).to_pylist() == [7] * 10_000


def test_threads_write_and_read_at_once(tmp_path: Path) -> None:
    """While entries are evicted: what is found is what was written."""
    places = [KeptOnDisk.at(tmp_path / "kept", 1 << 15) for _ in range(4)]
    wrong: list[Any] = []

    def work(place: KeptOnDisk) -> None:
        for number in range(120):
            key = number % 17
            place.put(("k", key), [key] * 500, _NUMBERS)
            found = place.get(("k", key), _NUMBERS)
            if found is not None and found[0] != [key] * 500:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(place,)) for place in places]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    assert not [p for p in places[0].folder.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o707])
def test_a_folder_that_others_look_into_is_refused(tmp_path: Path, mode: int) -> None:
    """Or write to; one that is made is for its user alone."""
    seamkit.keep_on_disk(tmp_path / "a" / "b")
    seamkit.keep_on_disk(None)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "a" / "b").chmod(mode)
    with pytest.raises(seamkit.UsageError, match="chmod 700"):
        seamkit.keep_on_disk(tmp_path / "a" / "b")
    assert KEPT.folder is None


def test_a_worker_keeps_what_it_is_told(tmp_path: Path) -> None:
    """In the same folder as long as it is told so; one that cannot be is told of, and none is."""
    try:
        keep_likewise(1 << 20, (str(tmp_path / "a"), 100))
        place = KEPT.folder
        keep_likewise(1 << 20, (str(tmp_path / "a"), 100))
        assert KEPT.folder is place is not None
        (tmp_path / "b").write_text("")
        with pytest.warns(RuntimeWarning, match="nothing can be kept there"):
            keep_likewise(1 << 20, (str(tmp_path / "b"), 100))
        assert KEPT.folder is None
        keep_likewise(1 << 20, (str(tmp_path / "a"), 200))
        assert KEPT.on_disk == (str(tmp_path / "a"), 200)
        keep_likewise(1 << 20, None)
        assert KEPT.folder is None
    finally:
        seamkit.keep_on_disk(None)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    """The message says where and why."""
    (tmp_path / "a").write_text("")
    with pytest.raises(seamkit.UsageError, match="nothing can be kept there"):
        seamkit.keep_on_disk(tmp_path / "a")


@pytest.mark.parametrize("absurd", [0, -1, True, 1.5, "1"])
def test_absurd_bounds_are_refused(tmp_path: Path, absurd: Any) -> None:
    """The bound is a whole number of bytes, and no folder is made."""
    with pytest.raises(seamkit.UsageError, match="most_bytes"):
        seamkit.keep_on_disk(tmp_path / "kept", absurd)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("folder", [5, True, b"kept", ["kept"]], ids=str)
def test_what_is_no_path_is_no_folder_to_keep_in(folder: Any) -> None:
    """What was kept before goes on."""
    before = KEPT.folder
    with pytest.raises(seamkit.UsageError, match=r"folder is .*: a path or None is meant"):
        seamkit.keep_on_disk(folder)
    assert KEPT.folder is before
