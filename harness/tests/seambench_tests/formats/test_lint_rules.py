"""A planted fault is named by its rule, tables of the engines have none, and each rule is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seambench.contracts.formats import resolve_format
from seambench.formats.golden import declaration, golden_table, table_folders
from seambench.formats.lint import Rules
from seambench_tests.formats.delta_faults import DELTA
from seambench_tests.formats.hudi_faults import HUDI
from seambench_tests.formats.iceberg_faults import ICEBERG
from seambench_tests.formats.paimon_faults import PAIMON
from seambench_tests.formats.planting import SUITES, Plant, Planted, faults_by_form, new_faults
from seambench_tests.samples.documents import document

ALL = [DELTA, ICEBERG, PAIMON, HUDI]
#: Whose tables have the rules of their Parquet files, and no linter where their files are others.
#: Keys of maps that may be null are allowed by no rule of Parquet's.
_NONE = Rules("hive", "Hive", Path(os.devnull))
HIVE = Planted("hive", _NONE, [], {"parquet.footer": ("parquet-mr-keys",)})
by_format = pytest.mark.parametrize("planted", ALL, ids=[one.name for one in ALL])


@pytest.mark.parametrize(
    ("planted", "rule", "name", "plant"),
    [
        pytest.param(one, *fault, id=f"{one.name}-{number}-{fault[0]}")
        for one in ALL
        for number, fault in enumerate(one.faults)
    ],
)
def test_a_planted_fault_is_named(
    planted: Planted, rule: str, name: str, plant: Plant, tmp_path: Path
) -> None:
    """A table with one thing changed has the fault whose rule that breaks, and only then."""
    found = new_faults(resolve_format(planted.name), name, plant, tmp_path)
    assert planted.full(rule) in found


@pytest.mark.parametrize(
    ("planted", "folder"),
    [
        pytest.param(one, folder, id="-".join(folder.relative_to(SUITES / "golden").parts))
        for one in [*ALL, HIVE]
        for folder in table_folders(SUITES, one.name)
        if one is not HIVE or 'format = "parquet"' in declaration(folder).read_text("utf-8")
    ],
)
def test_tables_of_the_engines_have_no_fault(
    planted: Planted, folder: Path, tmp_path: Path
) -> None:
    """No state of a table of the engines breaks a rule, but for what is known of its writer."""
    format_ = resolve_format(planted.name)
    golden_table(format_, folder).unpack(tmp_path)
    found = set()
    while True:
        for one in format_.faults(tmp_path):
            own = one.rule.startswith(f"{planted.name}.")
            if one.level in (planted.levels if own else "must"):
                found.add(one.rule)
        if not planted.earlier(tmp_path):
            break
    known = {planted.full(rule) for rule, names in planted.known.items() if folder.name in names}
    assert found == known


@pytest.mark.parametrize(
    ("planted", "form"),
    [
        pytest.param(one, form.name, id=f"{one.name}-{form.name}")
        for one in ALL
        if one.tables
        for form in resolve_format(one.name).known_forms()
    ],
)
def test_other_forms_have_no_fault(planted: Planted, form: str, tmp_path: Path) -> None:
    """What other writers are free to do breaks no rule that a table must keep."""
    format_ = resolve_format(planted.name)
    assert faults_by_form(format_, format_.form(form), planted.tables, tmp_path) == []


@by_format
def test_every_rule_has_a_planted_fault(planted: Planted) -> None:
    """A rule that nothing breaks is not known to hold."""
    broken = {rule for rule, *_ in planted.faults} | {*planted.known, *planted.elsewhere}
    assert set(planted.rules.known) - {planted.full(rule) for rule in broken} == set()


@by_format
def test_every_rule_is_told(planted: Planted) -> None:
    """The page of linters has each rule in a row: its name, or `format.part.…` and the rest."""
    title = resolve_format(planted.name).title
    rows = document("docs/lint.md").partition(f"## {title}\n")[2].partition("\n## ")[0].split("\n")
    for rule in planted.rules.known:
        part, _, name = rule.rpartition(".")
        told = [f"`{rule}`" in row or (f"`{part}.…`" in row and f"`{name}`" in row) for row in rows]
        assert any(told), rule
