"""A rule of one version of Hudi is the reason for a difference that it explains, and no other."""

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
_PARTIAL = ["NoneType:None", "NoneType:None", "int:7"]
_NONSENSE = ["str:20261123_0", "str:x", "int:7"]


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
    found = {"error": ours} if isinstance(ours, str) else {"columns": _COLUMNS, "rows": ours}
    return why_otherwise(version, target, 1, answer, found) or ""


@pytest.mark.parametrize(
    ("hudi", "ours", "told"),
    [
        ([_LOST, _OTHER], [_OTHER], "lost against them"),
        ([_WON, _OTHER], [_OTHER], ""),  # no older row was greater
        ([_LOST], [_OTHER], ""),  # a row too many is something else
        ([_NONSENSE, _OTHER], [_PARTIAL, _OTHER], "nobody wrote"),
        ([_NONSENSE, _WON], [_PARTIAL, _OTHER], ""),  # other rows differ, too
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
        (True, [_LOST], [_OLD], True),  # and it lost against an older one
    ],
)
def test_windows_with_an_end_may_be_read_from_the_newest_state(
    tmp_path: Path, cleans: bool, hudi: list[Any], ours: list[Any], is_listed: bool
) -> None:
    """Only rows that changed again are left out."""
    why = _why(_store(tmp_path, cleans=cleans), hudi, ours, end="2")
    assert ("from the newest state" in why) == is_listed


def _timeline(target: Path, *names: str) -> None:
    folder = target / "table" / ".hoodie"
    (folder / "timeline").mkdir(parents=True)
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize(("begin", "is_listed"), [("000", True), ("1", False), ("3", False)])
def test_archived_instants_of_the_first_layout_are_not_known(
    tmp_path: Path, begin: str, is_listed: bool
) -> None:
    """The answer must be that to the window which begins with the last of them."""
    target = _store(tmp_path, cleans=False)
    _timeline(target, "3.deltacommit", "4.deltacommit")
    asked = {"query": "incremental", "columns": _COLUMNS}
    answers = [{**asked, "begin": "2", "rows": [_WON] if begin == "000" else [_OLD]}]
    (target / "witness.json").write_text(json.dumps([{**asked, "begin": "1"}, *answers]))
    why = _why(target, [_WON], [_OLD, _OTHER], begin=begin)
    assert ("knows no archived instants" in why) == is_listed


@pytest.mark.parametrize(
    ("as_of", "ours", "hudi", "is_listed"),
    [
        ("1", ["int:-7"], "str:-7", True),
        ("1", ["int:-7"], "float:-0x1.c000000000000p+2", True),
        ("1", [], "int:7", True),
        ("1", ["int:-7"], "str:7", False),
        ("3", ["int:-7"], "str:-7", False),
        ("3", [], "NoneType:None", False),
    ],
)
def test_schemas_of_archived_instants_are_not_known(
    tmp_path: Path, as_of: str, ours: list[str], hudi: str, is_listed: bool
) -> None:
    """A column that was promoted or added since then is as it is now."""
    target = _store(tmp_path, cleans=False)
    _timeline(target, "timeline/20000000000000003_20000000000000004.deltacommit")
    at = f"2000000000000000{as_of}"
    answer = {"query": "snapshot", "as_of": at, "columns": ["k", "i"], "rows": [["str:a", hudi]]}
    found = {"columns": ["k", "i"][: 1 + len(ours)], "rows": [["str:a", *ours]]}
    why = why_otherwise("1.2.0", target, 1, answer, found)
    assert why == (
        "1.2.0 knows no schema of an archived instant and takes the newest one"
        if is_listed
        else None
    )


@pytest.mark.parametrize(
    ("inline", "begin", "row", "is_listed"),
    [
        ("true", "2", _OLD, True),
        ("false", "2", _OLD, False),
        ("true", "1", _OLD, False),
        ("true", "2", _WON, False),
    ],
)
def test_rows_that_a_log_compaction_wrote_anew_have_not_changed(
    tmp_path: Path, inline: str, begin: str, row: list[str], is_listed: bool
) -> None:
    """The state before the window had them."""
    target = _store(tmp_path, cleans=False)
    options = {"hoodie.log.compaction.inline": inline}
    (target / "spec.json").write_text(json.dumps({"keys": ["k"], "options": options}))
    why = _why(target, [row], [], begin=begin)
    assert ("takes rows that a log compaction wrote anew" in why) == is_listed


def test_rows_of_archived_instants_of_the_first_layout_are_not_known(tmp_path: Path) -> None:
    """The state as of the last of them had the rows."""
    target = _store(tmp_path, cleans=False)
    _timeline(target, "3.deltacommit")
    asked = {"begin": "0", "end": "3"}
    assert "knows no archived instants" in _why(target, [_WON], [_WON, _OLD], **asked)
    assert _why(target, [_WON], [_WON, _LOST], **asked) == ""
    assert _why(target, [_WON], [_WON, _OLD], **{**asked, "begin": "3"}) == ""


@pytest.mark.parametrize(
    ("hudi", "ours", "is_listed"),
    [
        (["str:a", "NoneType:None", "int:9"], ["str:a", "str:x", "int:9"], True),
        (["str:a", "NoneType:None", "int:9"], ["str:a", "str:y", "int:9"], False),
        (["str:a", "str:y", "int:9"], ["str:a", "str:x", "int:9"], False),
    ],
)
def test_older_rows_may_fill_no_gaps(
    tmp_path: Path, hudi: list[str], ours: list[str], is_listed: bool
) -> None:
    """What fills one must have been in a row of the key."""
    why = _why(_store(tmp_path, cleans=False), [hudi], [ours])
    assert ("fill no gaps" in why) == is_listed


@pytest.mark.parametrize(
    ("pending", "writer", "is_listed"),
    [("2", [_OLD], True), ("4", [_OLD], False), ("2", [_WON], False)],
)
def test_groups_made_after_a_pending_compaction_may_be_hidden(
    tmp_path: Path, pending: str, writer: list[Any], is_listed: bool
) -> None:
    """By the newer version, where the compaction is older than the window and the writer agrees."""
    target = _store(tmp_path, cleans=False)
    _timeline(target, "1.deltacommit", f"{pending}.compaction.requested")
    own = {"query": "incremental", "begin": "3", "columns": _COLUMNS, "rows": [writer[0]]}
    (target / "witness.json").write_text(json.dumps([own]))
    why = _why(target, [], [_OLD], begin="3")
    assert ("takes a file group for uncommitted" in why) == is_listed


@pytest.mark.parametrize(
    ("as_of", "rows", "is_listed"), [("1", [], True), ("3", [], False), ("1", [_OLD], False)]
)
def test_states_whose_files_are_gone_may_be_empty(
    tmp_path: Path, as_of: str, rows: list[Any], is_listed: bool
) -> None:
    """A reader refuses them."""
    target = _store(tmp_path, cleans=True)
    (target / "table" / "p").mkdir(parents=True)
    (target / "table" / "p" / "a-0_0-1-2_2.parquet").touch()
    why = _why(target, rows, "InputError: missing", query="snapshot", as_of=as_of)
    assert ("cleaner removed all files" in why) == is_listed
    assert _why(target, rows, "RefusedError: no", query="snapshot", as_of=as_of) == ""


@pytest.mark.parametrize(("version", "is_listed"), [(8, True), (9, False)])
def test_a_class_that_versions_run_otherwise_is_refused(
    tmp_path: Path, version: int, is_listed: bool
) -> None:
    """Only in tables of that version."""
    (tmp_path / "spec.json").write_text(json.dumps({"table_version": version}))
    refused = "RefusedError: records are merged by a.EventTimeAvroPayload, which is not supported"
    assert bool(_why(tmp_path, [_OLD], refused, query="snapshot")) == is_listed


def test_other_differences_have_no_reason(tmp_path: Path) -> None:
    """Snapshots, readers that fail, and the window of all changes, which no commit begins."""
    target = _store(tmp_path, cleans=True)
    assert _why(target, [_LOST], [], query="snapshot") == ""
    assert _why(target, [_LOST, _OTHER], "InputError: a file is broken") == ""


@pytest.mark.parametrize(
    ("version", "begin", "hudi", "ours", "is_listed"),
    [
        ("1.0.2", "2", [_OLD], [], True),
        ("1.2.0", "2", [_OLD], [], False),
        ("1.0.2", "2", [_OTHER], [], False),  # written before the window begins
        ("1.0.2", "1", [_OLD], [], False),  # written after its beginning
        ("1.0.2", "2", [_WON], [_OTHER], False),  # another row, and one that is missing
        ("1.0.2", "000", [_OTHER], [], False),
    ],
)
def test_the_commit_at_which_a_window_begins_may_be_counted_in(
    tmp_path: Path, version: str, begin: str, hudi: list[Any], ours: list[Any], *, is_listed: bool
) -> None:
    """Only for rows that this commit wrote, and by one version alone."""
    target = _store(tmp_path, cleans=False)
    state = {"query": "snapshot", "columns": _COLUMNS}
    states = [{**state, "as_of": "1", "rows": [_OTHER]}]
    states.append({**state, "as_of": "2", "rows": [_OLD, _OTHER]})
    (target / "witness.json").write_text(json.dumps(states))
    why = _why(target, hudi, ours, version, begin=begin)
    assert ("begins in" in why) == is_listed
