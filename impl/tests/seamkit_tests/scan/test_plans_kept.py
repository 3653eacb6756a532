"""What a table says of itself is read once, and never taken from before a change of its files."""

import shutil
from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest

import seamkit
from seamkit.files.storage import Storage
from seamkit_tests.samples.golden_tables import unpack
from seamkit_tests.samples.outlets import bag

pytestmark = pytest.mark.usefixtures("nothing_kept")

# Two tables of each format, and the files of the first one of which what they say is kept.
_TABLES = {
    "hudi": ("mor-v9-types", "mor-v9-event", "*/timeline/*.deltacommit"),
    "delta": ("checkpoint-v2-parquet", "travel", "_delta_log/0*.json"),
    "iceberg": ("pruning", "travel", "metadata/*-m?.avro"),
    "paimon": ("append-partitions", "pk-kinds", "manifest/manifest-[!l]*"),
}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of files that were read as a whole."""
    paths: list[str] = []
    original: Callable[..., bytes] = Storage.read

    def noting(self: Storage, path: str, **options: int) -> bytes:
        paths.append(path)
        return original(self, path, **options)

    monkeypatch.setattr(Storage, "read", noting)
    return paths


def _rows(table: Path) -> Counter[str]:
    return bag(seamkit.open_table(table).scan().to_table())


def _apart(table: Path) -> Counter[str]:
    """The rows as a process reads them that keeps nothing."""
    seamkit.keep_at_most(0)
    found = _rows(table)
    seamkit.keep_at_most(1 << 28)
    return found


@pytest.mark.parametrize("kind", _TABLES)
def test_a_second_plan_reads_no_manifest_anew(kind: str, tmp_path: Path, reads: list[str]) -> None:
    """Nor an instant, nor a commit; until nothing may be kept any more."""
    name, _, pattern = _TABLES[kind]
    table = unpack(f"{kind}/{name}", tmp_path)
    counts = []
    for most_bytes in (1 << 28, 1 << 28, 0):
        seamkit.keep_at_most(most_bytes)
        reads.clear()
        rows = _rows(table)
        counts.append((sum(fnmatch(path, pattern) for path in reads), rows))
    assert counts[0][0] > counts[1][0] == 0
    assert counts[2][0] == counts[0][0]
    assert counts[0][1] == counts[1][1] == counts[2][1] != Counter()


@pytest.mark.parametrize("kind", _TABLES)
def test_another_table_under_the_same_path_is_read_as_it_is(kind: str, tmp_path: Path) -> None:
    """A table that is dropped leaves nothing to the next one of its name."""
    first, second, _ = _TABLES[kind]
    place = tmp_path / "place"
    answers = []
    for name in (first, second, first):
        unpack(f"{kind}/{name}", tmp_path / "new").rename(place)
        answers.append(_rows(place))
        assert answers[-1] == _apart(place)
        shutil.rmtree(place)
    assert answers[0] == answers[2] != answers[1]


@pytest.mark.parametrize("kind", _TABLES)
def test_a_file_that_was_overwritten_with_as_many_bytes_is_read_anew(
    kind: str, tmp_path: Path
) -> None:
    """So that what is broken now is refused, as it is by whoever reads it for the first time."""
    name, _, pattern = _TABLES[kind]
    table = unpack(f"{kind}/{name}", tmp_path)
    assert _rows(table)
    for path in [p for p in table.rglob("*") if fnmatch(str(p.relative_to(table)), pattern)]:
        path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(seamkit.InputError):
        _rows(table)


def test_each_commit_of_a_writer_is_seen_and_read_once(tmp_path: Path, reads: list[str]) -> None:
    """Of a version after one that is known, the new commit is all that is read."""
    table = unpack("delta/vectors-several", tmp_path / "table")
    log, aside = table / "_delta_log", tmp_path / "aside"
    log.rename(aside)
    log.mkdir()
    commits = sorted(path for path in aside.iterdir() if path.suffix == ".json")
    assert len(commits) > 3
    expected = []
    for path in commits:
        shutil.copy(path, log / path.name)
        expected.append(_apart(table))
    for path in commits:
        (log / path.name).unlink()
    for path, rows in zip(commits, expected, strict=True):
        shutil.copy(path, log / path.name)
        reads.clear()
        assert _rows(table) == rows
        assert [Path(read).name for read in reads if read.endswith(".json")] == [path.name]
    (log / commits[-1].name).unlink()  # and when it is undone
    assert _rows(table) == expected[-2]


def test_what_a_cleaner_takes_or_cuts_is_noticed(tmp_path: Path) -> None:
    """The folders of a table are listed each time, whatever its timeline says."""
    table = unpack("hudi/mor-v9-types", tmp_path)
    assert _rows(table)
    log = next(path for path in table.rglob(".*.log.*"))
    whole = log.read_bytes()
    log.write_bytes(whole[:-1])
    with pytest.raises(seamkit.InputError, match="bytes"):
        seamkit.open_table(table).scan(strict=True).to_table()
    log.unlink()
    with pytest.raises(seamkit.InputError, match="missing"):
        _rows(table)
    log.write_bytes(whole)
    assert _rows(table) == _apart(table)
