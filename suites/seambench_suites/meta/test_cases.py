"""The cases themselves: well-formed, unique, and reaching what they claim to reach."""

from functools import cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from seambase.errors import UsageError
from seambench.conformance.load import load_cases
from seambench.contracts import registry
from seambench.contracts.formats import format_names, resolve_format
from seambench.formats.golden import golden_table, table_folders
from seambench.seams.scan.cases import ScanCase, load_scan_cases
from seambench_suites.cases import ROOT

TABLES = [
    golden_table(resolve_format(name), folder)
    for name in format_names()
    for folder in table_folders(ROOT, name)
]


@cache
def _cases() -> list[ScanCase]:
    return [case for case in load_cases("scan") if isinstance(case, ScanCase)]


def test_ids_are_unique_whatever_the_case() -> None:
    """Ids are paths; they differ by more than upper and lower case."""
    ids = [case.id.lower() for case in _cases()]
    assert len(set(ids)) == len(ids)


def test_every_golden_table_has_a_case() -> None:
    """A golden table that nothing reads is dead weight."""
    read = {case.table.folder for case in _cases()}
    assert [table.folder for table in TABLES if table.folder not in read] == []


def test_requirements_are_sentences() -> None:
    """A case says in words what it requires."""
    assert [case.id for case in _cases() if len(case.requirement.split()) < 4] == []


def test_golden_tables_name_their_writer_and_a_commit_for_each_write() -> None:
    """What an archive's origin says fits what was to be written; cases unpack it by its digest."""
    wrong = [
        table.folder
        for table in TABLES
        if len(table.origin.instants) != len(table.spec.steps)
        or table.format.name not in table.origin.writer
    ]
    assert wrong == []


def test_tables_of_other_writers_have_a_recipe() -> None:
    """What another writer than Spark made has its recipe, and a reader that confirmed it."""
    others = [table for table in TABLES if getattr(table.spec, "recipe", "")]
    wrong = [table.folder for table in others if not table.origin.confirmed]
    files = [
        ROOT.parent / Path(*recipe.split(".")).with_suffix(".py")
        for recipe in {str(getattr(table.spec, "recipe", "")) for table in others}
    ]
    assert others
    assert wrong == [file for file in files if not file.exists()] == []


def test_golden_tables_stay_small() -> None:
    """The archives together stay below 8.5 MB."""
    assert sum((t.folder / "table.zip").stat().st_size for t in TABLES) < 8_500_000


def test_edits_change_the_table(tmp_path: Path) -> None:
    """Recorded edits find their files and change at least one byte or name of a table.

    Its format recognises the table before that.
    """
    edited = sorted((case for case in _cases() if case.edits), key=lambda case: case.table.folder)
    assert edited
    for number, case in enumerate(edited):
        plain, other = tmp_path / case.table.folder.name, tmp_path / str(number)
        if number == 0 or edited[number - 1].table != case.table:
            rmtree(plain, ignore_errors=True)
            case.table.unpack(plain)
            assert case.table.format.recognises(plain), case.table.folder
            whole = _contents(plain)
        case.table.unpack(other, case.edits)
        assert _contents(other) != whole, case.id
        rmtree(other)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.mark.parametrize(
    "word", ["null", "multi-byte text", "empty text", "delete", "decimal", "NaN"]
)
def test_rows_reach_the_edges(word: str) -> None:
    """Somewhere among the golden rows there is each of the values that readers trip over."""
    rows = [
        (table.spec, write, row)
        for table in TABLES
        if table.format.name == "hudi"
        for write in table.spec.steps
        for row in write.rows
    ]
    found = {
        "null": any(len(row) < len(spec.columns) - len(w.without) for spec, w, row in rows),
        "multi-byte text": any(not str(row).isascii() for _, _, row in rows),
        "empty text": any("" in row.values() for _, _, row in rows),
        "delete": any(write.operation == "delete" for _, write, _ in rows),
        "decimal": any("decimal" in str(spec.columns) for spec, _, _ in rows),
        "NaN": any(value != value for _, _, row in rows for value in row.values()),
    }
    assert found[word]


#: Words that no case needs: other ways to ask, taken with every case where they are offered; and
#: what makes an implementation a side of a pair, with the wires over which tests pair ours with
#: programs written from the documents alone.
_WITHOUT_CASES = {
    *("pushdown", "relation", "sql", "where", "type-strings.lenient"),
    *("sender", "receiver", "wires.seamxch"),
}


@pytest.mark.parametrize("seam", registry.seams())
def test_claimed_capabilities_are_exercised(seam: str) -> None:
    """A capability that an own implementation claims and no case needs is a hole in the suite."""
    claimed = {
        word
        for implementation in _own(seam)
        for word, stated in implementation.capabilities.items()
        if stated
    }
    needed = {need for case in load_cases(seam) for need in case.needs} | _WITHOUT_CASES
    assert claimed - needed == set()


@pytest.mark.parametrize("seam", registry.seams())
def test_needs_are_words_of_the_seam(seam: str) -> None:
    """What a case needs, the seam's table of capabilities explains."""
    found = registry.find_seam(seam)
    for case in load_cases(seam):
        found.require_words(dict.fromkeys(case.needs, True), case.id)


def test_what_an_engine_said_vouches_for_its_own_question_alone() -> None:
    """Of a table that was damaged since, of some rows or of a refusal it has said nothing."""
    cases = [case for case in load_cases("scan") if isinstance(case, ScanCase)]
    others = [case for case in cases if case.edits or case.focus or case.refused]
    assert others
    assert [case.id for case in others if case.recorded is not None] == []
    assert any(case.recorded for case in cases)


def _own(seam: str) -> list[Any]:
    """The installed implementations that are no peers."""
    return [registry.resolve(seam, name) for name in registry.names(seam, without=("peer", None))]


_GOOD = 'level = "must"\nrequirement = "a b c d"\ntable = "cow-v9"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (_GOOD + "[expect]\nrows = []\ncolour = 1\n", "colour"),
        (_GOOD + '[ask.one]\nvariants = ["v6"]\nrows = []\n', "asks nothing of any table"),
        (_GOOD + "[expect]\n", "either rows or refused"),
        (_GOOD + '[expect]\nrows = []\nrefused = ["InputError"]\n', "either rows or refused"),
        (_GOOD + "[expect]\nrows = []\ntimes = [1]\n", "times belongs to each of the rows"),
        (_GOOD + "[expect]\nrows = [{ nope = 1 }]\n", "nope"),
        (_GOOD + '[expect]\nrows = [{ ts = "one" }]\n', "does not take"),
        (_GOOD + "[request]\nas_of = 9\n[expect]\nrows = []\n", "number of a step"),
        (_GOOD + 'focus = { nope = ["a"] }\n[expect]\nrows = []\n', "nope"),
        (_GOOD.replace("must", "may") + "[expect]\nrows = []\n", "may"),
        (_GOOD.replace("a b c d", " ") + "[expect]\nrows = []\n", "requirement is empty"),
        (_GOOD.replace("cow-v9", "cow-v10") + "[expect]\nrows = []\n", "no golden table"),
        (_GOOD + "[request]\nas_off = 1\n[expect]\nrows = []\n", "'as_off'; did you mean 'as_of'"),
        (_GOOD + "[ask.a]\nas_off = 1\nrows = []\n", "did you mean 'as_of'.*'rows'.*'variants'"),
        (_GOOD.replace('level = "must"\n', "") + "[expect]\nrows = []\n", "required field `level`"),
    ],
)
def test_broken_cases_are_refused(tmp_path: Path, text: str, says: str) -> None:
    """Unknown keys, impossible expectations and empty requirements are errors."""
    file = tmp_path / "cases" / "scan" / "hudi" / "x.toml"
    file.parent.mkdir(parents=True)
    (tmp_path / "golden").symlink_to(ROOT / "golden")
    file.write_text(text)
    with pytest.raises(UsageError, match=says):
        load_scan_cases(file, tmp_path)
