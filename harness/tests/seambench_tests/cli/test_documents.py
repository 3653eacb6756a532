"""The documents name what there is: modules, attributes, commands and files."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.cli.report import documents_now
from seambench.contracts.findings import Finding, read_findings
from seamkit.command.parser import COMMANDS

CHECKOUT = Path(__file__).parents[4]
DOCUMENTS = sorted([*(CHECKOUT / "docs").glob("*.md"), *CHECKOUT.glob("[A-Z]*.md")])
_NAME = re.compile(r"`((?:seambase|seamkit|seambench|seambench_impl|seambench_suites)\.[\w.]+)`")
_IMPORT = re.compile(r"^\s*from (seam[\w.]+) import (\w+)", re.MULTILINE)
_COMMAND = re.compile(r"^    (seambench|seamkit) ([a-z]+)", re.MULTILINE)
#: Groups of entry points and files, which look like modules.
_GROUPS = {
    "seambench.toml",
    "seamkit.connector",
    "seambench.impl",
    "seambench.cases",
    "seambench.demo",
    "seambench.findings",
    "seambench.peers",
    "seambench.suite",
    "seambench.format",
    "seambench.seam",
}
_PATH = re.compile(r"`((?:harness|impl|native|suites|docs)/[\w./-]+)`")


def exists(name: str) -> bool:
    """Whether a dotted name is a module of ours, or something within one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_what_there_is(document: Path) -> None:
    """Every module, file and command that a document names exists."""
    text = document.read_text(encoding="utf-8")
    names = set(_NAME.findall(text)) | {".".join(pair) for pair in _IMPORT.findall(text)}
    commands = set(_COMMAND.findall(text))
    known = {("seambench", one.name) for one in app.registered_commands if not one.hidden}
    known |= {("seambench", one.name) for one in app.registered_groups}
    known |= {("seamkit", name) for name in COMMANDS}

    assert {name for name in names - _GROUPS if not exists(name)} == set()
    assert {path for path in _PATH.findall(text) if not (CHECKOUT / path).exists()} == set()
    assert commands <= known


def test_tables_of_figures_are_those_of_the_records() -> None:
    """What stands in the documents is what `report --documents` would write."""
    written = documents_now(CHECKOUT, CHECKOUT / "results")
    assert "README.md" in written
    for name, text in written.items():
        assert (CHECKOUT / name).read_text(encoding="utf-8") == text, f"{name}: report --documents"


def test_every_command_is_told_in_the_readme() -> None:
    """The README has each command; its help has a sentence."""
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"`seamkit {name}" in readme
    for command in app.registered_commands:
        if command.hidden:
            continue
        assert re.search(rf"`(seambench )?{command.name}\b", readme), command.name
        assert CliRunner().invoke(app, [str(command.name), "--help"]).exit_code == 0


def test_a_name_that_is_gone_is_seen() -> None:
    """The finder itself finds."""
    assert exists("seamkit.scan.scan.Scan.to_table")
    assert not exists("seamkit.scan.scan.Scan.to_nothing")
    assert not exists("seamkit.nothing.at_all")


@pytest.mark.parametrize("finding", read_findings(), ids=lambda finding: finding.name)
def test_every_finding_has_its_page(finding: Finding) -> None:
    """The page has what the data say, and the command; the index names it, and tables lie there."""
    folder = CHECKOUT / "docs" / "findings"
    page = (folder / f"{finding.name}.md").read_text(encoding="utf-8")

    parts = (finding.title, finding.text, finding.rule, finding.link, f"--finding {finding.name}")
    assert all(part in page for part in parts)
    assert (folder / f"{finding.name}.zip").exists() == finding.attaches
    assert f"({finding.name}.md)" in (folder / "README.md").read_text(encoding="utf-8")
