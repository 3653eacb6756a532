"""A pattern chooses the same cases whether all files are read or those that it may be about."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from seambench.conformance.load import begins_of, choose_cases, load_cases
from seambench.contracts import data_files

_CASE = 'level = "must"\nrequirement = "r"\nfields = ["a"]\ntypes = ["int"]\nrows = "[[1]]"\n'


@pytest.mark.parametrize("seam", ["column", "exchange", "scan", "serde"])
def test_patterns_choose_what_they_choose_of_all(seam: str) -> None:
    """Whole ids, folders, names of any folder, variants, questions, and several at once."""
    every = load_cases(seam)
    ids = [case.id for case in every[:: len(every) // 6]]
    folders = [f"{id_.rpartition('/')[0]}/*" for id_ in ids]
    parts = [f"{id_[: -len(id_) // 3]}?*" for id_ in ids]
    alone = [*ids, *folders, *parts, f"*{ids[-1][-4:]}"]
    for patterns in [*([one] for one in alone), [ids[0], ids[-1]], [folders[0], f"{seam}/*[a-z]"]]:
        found = choose_cases(load_cases(seam, begins=begins_of(patterns)), patterns)
        assert [case.id for case in found] == [c.id for c in choose_cases(every, patterns)], (
            patterns
        )


def test_files_that_a_pattern_cannot_mean_are_not_read(tmp_path: Path) -> None:
    """One that is broken is told by whoever asks for its folder, and by nobody else."""
    for name, text in (("one/a", _CASE), ("one-more/b", _CASE), ("two/c", "broken")):
        file = tmp_path / "cases" / "column" / f"{name}.toml"
        file.parent.mkdir(parents=True)
        file.write_text(text)

    def found(*patterns: str) -> list[str]:
        return [case.id for case in load_cases("column", tmp_path, begins=begins_of(patterns))]

    assert found("column/one/a") == ["column/one/a"]
    assert found("column/one*/[ab]") == ["column/one/a", "column/one-more/b"]
    assert found("column/none/*") == []
    for pattern in ("column/two/*", "*/c", "column/*"):
        with pytest.raises(Exception, match=r"c\.toml"):
            found(pattern)


@dataclass(frozen=True)
class _Words:
    said: str


def test_classes_are_filled_by_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two meet a class for the first time together, msgspec may end the process."""
    together = threading.Barrier(2)
    alone: list[bool] = []

    def convert(data: dict[str, str], cls: type[_Words]) -> _Words:
        try:
            together.wait(timeout=0.1)
        except threading.BrokenBarrierError:
            alone.append(True)
            together.reset()
        return cls(**data)

    monkeypatch.setattr(msgspec, "convert", convert)
    with ThreadPoolExecutor(2) as pool:
        built = [pool.submit(data_files.build, _Words, {"said": one}, "here") for one in "ab"]
        found = [one.result() for one in built]

    assert found == [_Words("a"), _Words("b")]
    assert alone == [True, True]
