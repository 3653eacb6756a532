"""A rule of one version of Hudi is the reason for a difference that it explains, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seambench_suites.hudi.version_rules import why_otherwise

_COLUMNS = ["k", "p", "ts"]
_OLD = ["str:a", "str:x", "int:5"]
_LOST = ["str:a", "str:x", "int:2"]
_WON = ["str:a", "str:x", "int:7"]
_OTHER = ["str:b", "str:y", "int:1"]
_NONSENSE = ["str:a", "str:20261123_0", "int:7"]


def _store(target: Path, *, cleans: bool) -> Path:
    """A table whose newest state has `_OTHER`, and once had `_OLD`."""
    options = {"hoodie.clean.automatic": "true"} if cleans else {}
    (target / "spec.json").write_text(json.dumps({"keys": ["k"], "options": options}))
    newest = {"query": "snapshot", "columns": _COLUMNS, "rows": [_OTHER]}
    older = {**newest, "as_of": "1", "rows": [_OLD, _OTHER]}
    (target / "witness.json").write_text(json.dumps([newest, older]))
    return target


def _why(target: Path, hudi: list[Any], ours: Any, version: str = "1.2.0", **asked: str) -> str:
    """The reason, or an empty text."""
    answer = {"query": "incremental", "begin": "1", "columns": _COLUMNS, "rows": hudi, **asked}
    return why_otherwise(version, target, 1, answer, ours) or ""


@pytest.mark.parametrize(
    ("hudi", "ours", "told"),
    [
        ([_LOST, _OTHER], [_OTHER], "lost against them"),
        ([_WON, _OTHER], [_OTHER], ""),  # no older row was greater
        ([_LOST], [_OTHER], ""),  # a row too many is something else
        ([_NONSENSE], [_WON], "nobody wrote"),
        ([], [_OLD], ""),  # no window with an end
    ],
)
def test_rows_tell_whether_a_rule_explains_a_difference(
    tmp_path: Path, hudi: list[Any], ours: list[Any], told: str
) -> None:
    """By what a snapshot showed, and by what rows can hold at all."""
    why = _why(_store(tmp_path, cleans=True), hudi, ours)
    assert told in why
    assert bool(told) == bool(why)


@pytest.mark.parametrize(
    ("cleans", "hudi", "ours", "is_listed"),
    [
        (True, [], [_OLD], True),
        (False, [], [_OLD], False),  # its files and instants are all there
        (True, [], [_OTHER], False),  # the row is there still
        (True, [_WON], [_OLD], False),  # a row of Hudi's is missing
    ],
)
def test_windows_with_an_end_may_be_read_from_the_newest_state(
    tmp_path: Path, cleans: bool, hudi: list[Any], ours: list[Any], is_listed: bool
) -> None:
    """Only rows that changed again are left out."""
    why = _why(_store(tmp_path, cleans=cleans), hudi, ours, end="2")
    assert ("from the newest state" in why) == is_listed


def test_other_differences_have_no_reason(tmp_path: Path) -> None:
    """Snapshots, readers that fail, and the window of all changes, which no commit begins."""
    target = _store(tmp_path, cleans=True)
    assert _why(target, [_LOST], [], query="snapshot") == ""
    assert _why(target, [_LOST, _OTHER], None) == ""
    assert "begins in" in _why(target, [_WON], [_OTHER], "1.0.2")
    assert _why(target, [_WON], [_OTHER], "1.0.2", begin="000") == ""
