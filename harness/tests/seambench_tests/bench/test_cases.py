"""What is timed of a scan is judged, in the run that measures memory, too."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seambench.bench import cases
from seambench.records.verdicts import Finding

_THREE = "duckdb2:3:0123456789abcdef:0123456789abcdef"


@pytest.mark.parametrize(
    ("came", "before", "wrong"),
    [
        (3, None, None),
        (2, None, "streamed, 2 rows came; 3 are expected"),
        (4, None, "streamed, 4 rows came; 3 are expected"),
        (2, "a type", "a type"),
    ],
)
def test_rows_of_a_stream_that_is_measured_are_counted(
    monkeypatch: pytest.MonkeyPatch, came: int, before: str | None, wrong: str | None
) -> None:
    """A stream that lost rows is wrong, however little memory it took; the first fault is told."""
    found = Finding(_THREE, _THREE, before, 3, 24)
    drained = SimpleNamespace(rows=came, peak_bytes=7)
    monkeypatch.setattr(cases, "run_drain", lambda *_: drained)
    request = SimpleNamespace(table="t", query="snapshot", threads=2)
    reader = cast("Any", SimpleNamespace(name="mine", request=lambda *_: request))
    judged, peak, growth = cases._streamed(reader, lambda: (found, 1, 5), 3, ["a"])()
    assert (judged.wrong, peak, growth) == (wrong, 7, 5)


@pytest.mark.parametrize("can", [True, False])
def test_the_first_run_finds_files_outside_of_the_page_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, can: bool
) -> None:
    """They leave it once, before the first run; a record says so where the system can do it."""
    steps: list[Any] = []

    def evict(folder: Path) -> bool:
        steps.append(folder)
        return can

    monkeypatch.setattr(cases, "_evict", evict)
    reader = cast("Any", SimpleNamespace(dataset=SimpleNamespace(path=tmp_path)))
    scan = cast(
        "Any",
        SimpleNamespace(
            report=lambda: SimpleNamespace(paths={"merge": 2}, seconds={"io": 0.5}, warnings=[])
        ),
    )
    one = cases._of_tables(
        reader,
        lambda: steps.append("run"),
        cast("Any", None),
        cast("Any", None),
        lambda: [scan] * 2,
    )
    assert one.about is not None
    assert one.about().evicted is False
    for _ in range(2):
        one.clock(one.run)

    assert steps[:2] == [tmp_path, "run"]
    assert steps.count(tmp_path) == 1
    told = one.about()
    assert (told.evicted, told.paths, told.spent) == (can, {"merge": 4}, {"io": 1.0})


def test_every_file_below_a_folder_leaves_the_page_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each whole file, and nothing else; a system that cannot do it says so."""
    (tmp_path / "part").mkdir()
    for name in ("a", "part/b"):
        (tmp_path / name).write_bytes(b"x")
    left: list[tuple[str, int, int, int]] = []

    def advise(file: int, *asked: int) -> None:
        begin, length, advice = asked
        left.append((Path(f"/proc/self/fd/{file}").readlink().name, begin, length, advice))

    monkeypatch.setattr(os, "posix_fadvise", advise)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    assert cases._evict(tmp_path) is True
    assert sorted(left) == [(name, 0, 0, os.POSIX_FADV_DONTNEED) for name in ("a", "b")]
    assert len(list(Path("/proc/self/fd").iterdir())) == opened

    monkeypatch.delattr(os, "posix_fadvise")
    assert cases._evict(tmp_path) is False
