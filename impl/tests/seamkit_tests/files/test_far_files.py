"""Files far away: the same bytes and rows by few requests, however they are read."""

import random
import threading
from collections import Counter
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import seamkit
from seambase.errors import InputError
from seambench.bench import delayed_storage
from seamkit.files.parquet import ParquetReader
from seamkit.files.ranges import FarFile, Ranges, near
from seamkit.files.remote import RemoteFiles
from seamkit.files.storage import Storage, is_far
from seamkit.scan.unit_scan import UnitScan
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import unpack, unpack_table
from seamkit_tests.samples.outlets import bag

_CONTENT = random.Random(7).randbytes(100_000)


@pytest.mark.parametrize(
    ("spans", "gap", "joined"),
    [
        ([], 5, []),
        ([(0, 4), (4, 6)], 0, [(0, 6)]),
        ([(10, 12), (0, 4)], 5, [(0, 4), (10, 12)]),
        ([(10, 12), (0, 4)], 6, [(0, 12)]),
        ([(0, 9), (2, 4), (9, 10)], 0, [(0, 10)]),
    ],
)
def test_near_spans_are_one(
    spans: list[tuple[int, int]], gap: int, joined: list[tuple[int, int]]
) -> None:
    """Spans with at most the gap between them are asked for together, in order."""
    assert near(spans, gap) == joined


@pytest.mark.parametrize("seed", range(20))
def test_whatever_was_expected_the_bytes_are_those_of_the_file(seed: int) -> None:
    """Reads within, across and outside what was said before give the file's own bytes."""
    chance = random.Random(seed)
    how = Ranges(
        chance.choice([0, 100, 30_000]), chance.choice([0, 64, 20_000]), chance.choice([0, 1, 3])
    )

    def span() -> tuple[int, int]:
        begin, end = sorted(chance.sample(range(len(_CONTENT) + 200), 2))
        return begin, end

    with ThreadPoolExecutor(4) as pool:
        file = FarFile.of(lambda b, e: _CONTENT[b:e], len(_CONTENT), how, pool)
        for _ in range(40):
            if chance.random() < 0.3:
                file.expect([[span() for _ in range(3)] for _ in range(chance.randrange(4))])
            if chance.random() < 0.2:
                file.fetch([span() for _ in range(3)])
            if chance.random() < 0.1:
                file = file.again()
            begin, end = span()
            file.seek(begin)
            assert file.read(end - begin) == _CONTENT[begin:end]


class _AtOnce(Executor):
    """Runs what it is given before it says so."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


def test_what_was_expected_is_fetched_once_and_ahead() -> None:
    """The steps of a plan are one request each; no more than the next one is fetched ahead."""
    asked: list[tuple[int, int]] = []

    def fetch(begin: int, end: int) -> bytes:
        asked.append((begin, end))
        return _CONTENT[begin:end]

    file = FarFile.of(fetch, len(_CONTENT), Ranges(gap_bytes=1000, tail_bytes=0), _AtOnce())
    file.expect([[(0, 10), (500, 600)], [(20_000, 30_000)], [(40_000, 50_000)]])
    for begin, end in [(0, 10), (500, 600), (550, 560)]:
        file.seek(begin)
        assert file.read(end - begin) == _CONTENT[begin:end]
    assert asked == [(0, 600), (20_000, 30_000)]
    file.seek(20_000)
    file.read(10_000)
    assert asked == [(0, 600), (20_000, 30_000), (40_000, 50_000)]


def test_what_was_fetched_serves_all_readers_of_a_file() -> None:
    """It is asked for once, in requests for what lies near, until two calls asked for more."""
    asked: list[tuple[int, int]] = []

    def fetch(begin: int, end: int) -> bytes:
        asked.append((begin, end))
        return _CONTENT[begin:end]

    file = FarFile.of(fetch, len(_CONTENT), Ranges(gap_bytes=1000, tail_bytes=0), _AtOnce())
    file.fetch([(0, 10), (500, 600), (20_000, 30_000)])
    made = [(0, 600), (20_000, 30_000)]
    for reader in (file, file.again()):
        reader.fetch([(500, 600), (25_000, 30_000)])
        reader.expect([[(20_000, 30_000)], [(0, 10)]])
        for begin, end in [(25_000, 30_000), (0, 600), (550, 560)]:
            reader.seek(begin)
            assert reader.read(end - begin) == _CONTENT[begin:end]
    assert asked == made
    for begin in (50_000, 60_000):
        file.fetch([(begin, begin + 10)])
    file.seek(0)
    assert file.read(10) == _CONTENT[:10]
    assert asked == [*made, (50_000, 50_010), (60_000, 60_010), (0, 10)]


def test_a_request_that_fails_ahead_fails_the_read() -> None:
    """An error of the background is raised where its bytes are read, and nowhere before."""

    def fetch(begin: int, end: int) -> bytes:
        raise OSError(f"no bytes from {begin} to {end}")

    with ThreadPoolExecutor(1) as pool:
        file = FarFile.of(fetch, len(_CONTENT), Ranges(), pool)
        file.expect([[(0, 10)]])
        with pytest.raises(OSError, match="no bytes from 0 to 10"):
            file.read(10)


def _far(path: Path) -> str:
    return f"delayed://{path.resolve()}"


def test_what_writes_say_is_asked_for_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request for an instant is answered before all have been made, each of them once."""
    folder = unpack_table("mor-v9-event", tmp_path)
    writes = [
        p for p in folder.glob(".hoodie/timeline/*") if p.suffix in (".commit", ".deltacommit")
    ]
    assert len(writes) > 1
    together = threading.Barrier(len(writes), timeout=300)
    read = delayed_storage.DelayedFileSystem.cat_file

    def read_together(self: Any, path: str, *arguments: Any, **options: Any) -> bytes:
        if path.endswith(tuple(f"/{one.name}" for one in writes)):
            together.wait()
        return bytes(read(self, path, *arguments, **options))

    monkeypatch.setattr(delayed_storage.DelayedFileSystem, "cat_file", read_together)
    delayed_storage.requests()
    table = seamkit.open_table(_far(folder))
    assert table.scan().count_rows() == seamkit.open_table(folder).scan().count_rows()
    made = Counter(r.path for r in delayed_storage.requests() if "/.hoodie/timeline/" in r.path)
    assert set(made.values()) == {1}
    assert table.scan().count_rows()


def test_a_metadata_table_is_read_in_two_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its writes say and the folder of its files are one, and what is in that the other."""
    folder = unpack_table("metadata-table/v9", tmp_path)
    own = folder / ".hoodie/metadata"
    writes = [str(path) for path in own.glob(".hoodie/timeline/*.deltacommit")]
    held = [str(path) for path in own.glob("files/*") if ".hfile" in path.name] + [
        str(path) for path in own.glob("files/.files-*")
    ]
    assert min(len(writes), len(held)) > 1
    first = threading.Barrier(len(writes) + 1, timeout=300)
    second = threading.Barrier(len(held), timeout=300)
    read, listed = (
        delayed_storage.DelayedFileSystem.cat_file,
        delayed_storage.DelayedFileSystem.ls,
    )

    def read_together(self: Any, path: str, *arguments: Any, **options: Any) -> bytes:
        for paths, barrier in ((writes, first), (held, second)):
            if self._strip_protocol(path) in paths:
                barrier.wait()
        return bytes(read(self, path, *arguments, **options))

    def listed_together(self: Any, path: str, *arguments: Any, **options: Any) -> Any:
        if self._strip_protocol(path) == str(own / "files"):
            first.wait()
        return listed(self, path, *arguments, **options)

    monkeypatch.setattr(delayed_storage.DelayedFileSystem, "cat_file", read_together)
    monkeypatch.setattr(delayed_storage.DelayedFileSystem, "ls", listed_together)
    delayed_storage.requests()
    table = HudiTable(_far(folder), listing="metadata")
    assert len(table.slices()) == len(HudiTable(str(folder), listing="files").slices()) > 0
    made = Counter(r.path for r in delayed_storage.requests() if "/metadata/" in r.path)
    assert set(made.values()) == {1}


def test_what_was_asked_for_ahead_serves_one_call(tmp_path: Path) -> None:
    """A later call sees what has changed since, and so does the first one of what was missing."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").write_bytes(b"first")
    storage = Storage(_far(tmp_path))
    storage.ahead(["a/f", "a/g"], ["a", "b"])
    far = storage._files
    assert isinstance(far, RemoteFiles)
    wait(far._read_ahead.values())
    wait(far._listed_ahead.values())
    (tmp_path / "a" / "f").write_bytes(b"second")
    (tmp_path / "a" / "g").write_bytes(b"late")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "h").write_bytes(b"")
    assert [storage.read("a/f"), storage.read("a/f")] == [b"first", b"second"]
    assert storage.read_if_there("a/g") == b"late"
    assert storage.read_if_there("a/none") is None
    assert [len(storage.list("a")), len(storage.list("a")), len(storage.list("b"))] == [1, 2, 1]


def test_a_row_group_is_one_request(tmp_path: Path) -> None:
    """All columns of a row group are one request, and so are footer and end of the file."""
    rows = 40_000
    table = pa.table({f"c{i}": random.Random(i).choices(range(1 << 40), k=rows) for i in range(5)})
    pq.write_table(table, tmp_path / "f.parquet", row_group_size=rows // 4, compression="none")
    storage = Storage(_far(tmp_path), ranges=Ranges(gap_bytes=4096, tail_bytes=16_384))
    delayed_storage.requests()
    storage.list()
    reader = ParquetReader(storage, "f.parquet")
    batches = list(reader.batches(table.schema, rows, use_threads=False))
    assert pa.Table.from_batches(batches).equals(table)
    made = delayed_storage.requests()
    assert Counter(r.kind for r in made) == {"list": 1, "read": 1 + 4}


def test_a_chunk_of_another_path_than_the_schemas_is_broken(tmp_path: Path) -> None:
    """Also where its path is no text at all; points in names are part of them."""
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a.b": [1, 2], "column": [3, 4]}), path, store_schema=False)
    reader = ParquetReader(Storage(_far(tmp_path)), "f.parquet")
    batches = reader.batches(reader.schema, 10, use_threads=False)
    assert pa.Table.from_batches(batches).to_pydict() == {"a.b": [1, 2], "column": [3, 4]}
    content = bytearray(path.read_bytes())
    content[content.rindex(b"column")] |= 0x80
    path.write_bytes(content)
    with pytest.raises(InputError, match="its path is another than the schema's column has"):
        ParquetReader(Storage(_far(tmp_path)), "f.parquet")


@pytest.mark.parametrize(
    "name", ["mor-v9-event", "cow-v9", "mor-v9-partitioned", "mor-v9-parquet-blocks"]
)
def test_a_scan_makes_at_most_three_requests_for_a_row_group(name: str, tmp_path: Path) -> None:
    """Tables of Hudi's: the same rows as here, by few requests of their data files."""
    folder = unpack_table(name, tmp_path)
    here = seamkit.open_table(str(folder)).scan().to_table()
    delayed_storage.requests()
    there = seamkit.open_table(_far(folder)).scan().to_table()
    assert sorted(map(repr, there.to_pylist())) == sorted(map(repr, here.to_pylist()))
    made = [
        request
        for request in delayed_storage.requests()
        if request.path.endswith(".parquet") and "/.hoodie/" not in request.path
    ]
    groups = sum(pq.ParquetFile(path).num_row_groups for path in {r.path for r in made})
    assert 0 < len(made) <= 3 * groups


@pytest.mark.parametrize(
    "name",
    [
        "hudi/cow-v9",
        "hudi/mor-v9-event",
        "delta/vectors-several",
        "iceberg/pruning",
        "paimon/pk-levels",
    ],
)
def test_no_file_far_away_is_opened_for_an_engine_that_cannot(name: str, tmp_path: Path) -> None:
    """Which reads them is known from where they lie: before a query none of their bytes comes."""
    folder = unpack(name, tmp_path)
    scan = seamkit.open_table(_far(folder)).scan()
    here = seamkit.open_table(str(folder)).scan()
    assert "engine" in here.explain(engine=True) or "DuckDB" in here.explain(engine=True)
    assert isinstance(scan, UnitScan)
    data = {file.name for unit in scan.plan.units for file in unit.files}
    assert all(map(is_far, data))
    delayed_storage.requests()
    relation, lazy = scan.relation(duckdb.connect()), scan.lazy()
    assert "it does not lie in a local folder" in scan.explain(engine=True)
    assert scan.masked_part(0, scan.schema.names, None).file is None
    made = {request.path for request in delayed_storage.requests() if request.kind == "read"}
    assert made.isdisjoint(name.removeprefix("delayed://") for name in data)
    rows = bag(here.to_table())
    assert bag(relation.to_arrow_table().cast(here.schema)) == rows
    assert bag(lazy.collect().to_arrow().cast(here.schema)) == rows
