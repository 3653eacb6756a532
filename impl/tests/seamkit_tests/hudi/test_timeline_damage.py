"""Damaged timelines: a named error or the same answer, whatever byte broke."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, SeambenchError
from seambase.scan import Query, TableWarning
from seamkit.tables.hudi.table import HudiTable
from seamkit.tables.hudi.timeline.instants import checked_write, parse_write
from seamkit.tables.hudi.timeline.window import NOW, Window, incremental_window
from seamkit_tests.samples.avro_schemas import array, container, map_of, optional, record
from seamkit_tests.samples.golden_tables import unpack_table
from seamkit_tests.samples.hudi_files import Table, at, base, log, names

#: More for a long search: SEAMBENCH_EXAMPLES=100000.
_EXAMPLES = int(os.environ.get("SEAMBENCH_EXAMPLES", "40"))


def _table(root: Path, version: int) -> Table:
    """Every kind of file that a timeline has: bodies, a plan, a replacecommit, an archive."""
    table = Table(root, version, hoodie__table__create__schema='{"type": "record"}')
    new = version >= 8
    logs = (log(20), log(50)) if new else (log(10), log(40))
    table.files(base(10), *logs, base(10, "g-0"), base(30, "h-0"))
    stats = [{"fileId": "f-0", "path": base(10)}, {"fileId": "g-0", "path": base(10, "g-0")}]
    table.archived((at(10), at(11), "commit", {"partitionToWriteStats": {"": stats}}))
    table.instant(at(20), "deltacommit", at(21) if new else "completed", logs[0])
    table.replaced(at(30), at(31), "g-0")
    table.compaction(at(40), "f-0")
    table.instant(at(50), "deltacommit", at(51) if new else "completed", logs[1])
    return table


def _answer(table: Table) -> Any:
    """Everything that can be asked of a timeline."""
    timeline = table.load()
    windows = [NOW, Window(up_to=at(15)), incremental_window(timeline, at(11), at(35), alone=False)]
    slices = [[names(found) for found in table.slices(window)] for window in windows]
    return slices, timeline.archive.instants, timeline.latest_schema(), timeline.instants


@pytest.fixture(scope="module", params=[6, 9])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table without damage."""
    return _table(tmp_path_factory.mktemp("whole"), request.param)


@pytest.fixture(scope="module")
def broken(whole: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Its copy, whose files are broken and mended again."""
    root = tmp_path_factory.mktemp("broken")
    shutil.copytree(whole.root, root, dirs_exist_ok=True)
    copy = object.__new__(Table)
    copy.root, copy.version = root, whole.version
    copy.timeline = root / whole.timeline.relative_to(whole.root)
    return copy


def _contents(table: Table) -> list[Path]:
    folder = table.root / ".hoodie"
    files = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(path.relative_to(table.root) for path in files)


@settings(deadline=None, max_examples=_EXAMPLES)
@given(data=st.data())
def test_a_cut_file_is_an_error_or_changes_nothing(
    whole: Table, broken: Table, data: st.DataObject
) -> None:
    """Of a body, plan, archive or manifest that ends too early no part is believed."""
    files = [path for path in _contents(whole) if path.suffix != ".properties"]
    path = data.draw(st.sampled_from(files), "file")
    content = (whole.root / path).read_bytes()
    cut = data.draw(st.integers(1, len(content) - 1), "length") if len(content) > 1 else 0
    expected = _answer(whole)
    (broken.root / path).write_bytes(content[:cut])
    try:
        assert _answer(broken) == expected
    except SeambenchError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
    finally:
        (broken.root / path).write_bytes(content)


@settings(deadline=None, max_examples=_EXAMPLES)
@given(data=st.data())
def test_changed_bytes_never_raise_anything_unnamed(
    whole: Table, broken: Table, data: st.DataObject
) -> None:
    """Any change of any file of a timeline is read, or refused with a sentence."""
    path = data.draw(st.sampled_from(_contents(whole)), "file")
    content = (whole.root / path).read_bytes()
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4), "changes")):
        spot = data.draw(st.integers(0, len(changed)), "offset")
        length = data.draw(st.sampled_from([0, 0, 1, 1, 1, 4, 16]), "length")
        changed[spot : spot + length] = data.draw(st.binary(max_size=8), "bytes")
    (broken.root / path).write_bytes(bytes(changed))
    try:
        _answer(broken)
    except SeambenchError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
    finally:
        (broken.root / path).write_bytes(content)


@pytest.mark.parametrize("name", ["windows-cow/v6", "windows-cow/v8", "mor-v9-base-only"])
@pytest.mark.parametrize("query", ["snapshot", "read-optimized"])
def test_a_column_that_only_base_files_know_is_refused(
    name: str, query: Query, tmp_path: Path
) -> None:
    """The schema of each commit, with another letter: the column would be null in all rows."""
    folder = unpack_table(name, tmp_path)
    rows = HudiTable(str(folder)).scan(query=query).to_table()
    column = rows.schema.names[-1]
    _misspell(folder, "*.commit", column)

    with pytest.raises(InputError, match=f"column '{column}', which the schema of its commit"):
        HudiTable(str(folder)).scan(query=query).to_table()


def _misspell(folder: Path, pattern: str, field: str) -> None:
    """Another last letter of a field's name in the schemas of commits."""
    edits = 0
    for commit in folder.rglob(pattern):
        whole = commit.read_bytes()
        content = whole
        for quote in (b'"', rb"\""):
            old, new = (
                quote + b"name" + quote + b":" + quote + one.encode() + quote
                for one in (field, field[:-1] + "_")
            )
            content = content.replace(old, new)
        edits += content != whole
        commit.write_bytes(content)
    assert edits


@pytest.mark.parametrize(
    ("version", "pattern", "field", "path"),
    [
        ("v6", "*.deltacommit", "x", r"a\.x"),
        ("v9", "*.commit", "y", r"a\.y"),
        ("v9", "*.commit", "l", r"s\.l"),
        ("v8", "*.deltacommit", "f", r"s\.t\.f"),
        ("v9", "*.deltacommit", "x", r"a\.x"),
    ],
)
def test_a_field_within_a_column_that_its_commit_does_not_know_is_told(
    version: str, pattern: str, field: str, path: str, tmp_path: Path
) -> None:
    """By what the commit's own base file has, or the schema of its log blocks: it would be null.

    Of blocks it is a warning, as their whole columns are.
    """
    folder = unpack_table(f"nested/{version}", tmp_path)
    assert HudiTable(str(folder)).scan(strict=True).to_table().num_rows
    _misspell(folder, pattern, field)

    says = f"column '{path}', which the schema of its commit"
    with pytest.raises(InputError, match=says):
        HudiTable(str(folder)).scan(strict=True).to_table()
    if version == "v6" or pattern == "*.commit":
        with pytest.raises(InputError, match=says):
            HudiTable(str(folder)).scan().to_table()
    else:
        with pytest.warns(TableWarning, match=says):
            HudiTable(str(folder)).scan().to_table()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            {"partitionToWriteStats": {}, "extraMetadat!": {}},
            "one letter away from 'extraMetadata'",
        ),
        ({"partitionToWriteStat!": {}}, "one letter away from 'partitionToWriteStats'"),
        ({"clusteringPlan": {}, "extraMetadata": {}}, "does not say which files it wrote"),
    ],
)
def test_what_is_no_body_of_a_write_is_refused(body: dict[str, Any], reason: str) -> None:
    """An entry with a wrong letter says nothing; the plan of a clustering is not its outcome."""
    with pytest.raises(InputError, match=reason):
        checked_write(body, "t")


@pytest.mark.parametrize("body", [{}, {"partitionToWriteStats": {}, "anything": 1}])
def test_a_write_may_say_nothing_or_more(body: dict[str, Any]) -> None:
    """An empty body is a write without files; entries of later versions are passed over."""
    assert checked_write(body, "t") == body


def _container(stats: Any, *records: Any) -> bytes:
    """A write's body in Avro, whose files have these types."""
    stat = record("stat", **{name: optional(kind) for name, kind in stats.items()})
    files = optional(map_of(array(optional(stat))))
    more = optional(map_of("string"))
    return container(record("write", partitionToWriteStats=files, extraMetadata=more), records)


_NO_FILES: Any = {"partitionToWriteStats": {}}
_STAT = {"numWrites": "long", "path": "string", "other": "double", "fileSizeInBytes": "int"}
_STAT["totalWriteErrors"] = "long"


def test_a_write_says_of_each_file_what_a_reader_takes() -> None:
    """By the names of fields, in whatever order; what is null or missing is none."""
    files = {
        "p": [{"numWrites": 3, "path": "a", "other": 0.5, "fileSizeInBytes": 70}, {"path": "b"}],
        "q": [],
        "r": [{"path": "c", "fileSizeInBytes": 9, "totalWriteErrors": 1}],
        "s": [{"path": "d", "numWrites": 3, "totalWriteErrors": 1}],  # of which two are there
    }
    body = {"partitionToWriteStats": files, "extraMetadata": {"schema": "s"}}

    found = parse_write(_container(_STAT, body), "t")
    assert found["extraMetadata"] == {"schema": "s"}
    stats = {"p": [("a", "", 70, 3), ("b", "", 0, 0)], "q": [], "r": [("c", "", 9, 0)]}
    stats["s"] = [("d", "", 0, 2)]
    assert found["partitionToWriteStats"] == stats
    assert parse_write(json.dumps(body).encode(), "t")["partitionToWriteStats"] == stats


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (_container(_STAT), "it has no record"),
        (
            _container(_STAT | {"path": "long"}, _NO_FILES),
            "the field path of an entry is of the type",
        ),
        (_container(_STAT | {"numWrites": "string"}, _NO_FILES), "the field numWrites of an entry"),
        (_container(_STAT, {"partitionToWriteStats": {"p": [None]}}), "an entry is null"),
    ],
)
def test_a_write_in_avro_has_hudis_types(content: bytes, says: str) -> None:
    """What is no write is refused by its name, and by the field's."""
    with pytest.raises(InputError, match=f"^t: .*{says}"):
        parse_write(content, "t")


def test_a_file_may_bear_the_name_of_another_group_than_its_commit_says(tmp_path: Path) -> None:
    """It is there, so nothing is missing; it counts for the group of its name."""
    table = Table(tmp_path, 6)
    table.files(base(10))
    stats = [{"fileId": "g-0", "path": base(10)}]
    body = {"partitionToWriteStats": {"": stats}}
    (table.timeline / f"{at(10)}.commit").write_text(json.dumps(body))

    assert [names(found) for found in table.slices(NOW)] == [(base(10), [])]
