"""The documents name what there is: modules, attributes, commands and files."""

import configparser
import importlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app
from seambench.cli.report import documents_now
from seambench.contracts.findings import Finding, read_findings
from seambench.contracts.formats import announced_formats
from seambench.contracts.registry import find_seam, seams
from seamkit.command.parser import COMMANDS

CHECKOUT = Path(__file__).parents[4]
DOCUMENTS = sorted([*(CHECKOUT / "docs").glob("*.md"), *CHECKOUT.glob("[A-Z]*.md")])
_NAME = re.compile(r"`((?:seambase|seamkit|seambench|seambench_impl|seambench_suites)\.[\w.]+)`")
_IMPORT = re.compile(r"^\s*from (seam[\w.]+) import (\w+)", re.MULTILINE)
_COMMAND = re.compile(r"^    (seambench|seamkit) ([a-z]+)", re.MULTILINE)
#: Groups of entry points, and a file, which look like modules.
_GROUPS = {
    "seambench.toml",
    *re.findall(
        r'entry-points\."([\w.]+)"',
        "".join(
            (CHECKOUT / folder / "pyproject.toml").read_text(encoding="utf-8")
            for folder in (".", "harness")
        ),
    ),
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


def test_every_environment_of_tox_is_described() -> None:
    """`tox list` has a sentence for each: one that begins `word:` is for environments so named."""
    read = configparser.ConfigParser(interpolation=None)
    read.read(CHECKOUT / "tox.ini", encoding="utf-8")
    environments = [name for name in read.sections() if name.startswith("testenv:")]
    assert environments
    for name in environments:
        assert re.match(r"(?![\w,!{}-]+:\s)\S", read.get(name, "description", fallback="")), name


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


def _tables() -> dict[str, dict[str, str]]:
    """What the page on doors must say of words of the scan seam: by heading, as the code has it."""
    words = dict(find_seam("scan").words)
    tables = {
        f"### Of readers of {one.title}": {
            word: words.pop(word) for word in (f"formats.{one.name}", *one.capabilities)
        }
        for one in announced_formats()
    }
    return {"### Of scanners, whatever the format": words, **tables}


@pytest.mark.skipif(not DOCUMENTS, reason="an installed package has no documents")
@pytest.mark.parametrize("heading", _tables())
def test_each_word_of_a_reader_stands_in_a_table(heading: str) -> None:
    """The tables of capabilities in docs/doors.md are those of the code, word by word."""
    text = (CHECKOUT / "docs" / "doors.md").read_text(encoding="utf-8")
    rows = [f"| `{word}` | {meaning} |" for word, meaning in _tables()[heading].items()]
    lines = [heading, "", "| word | meaning |", "|---|---|", *rows, ""]
    assert "\n".join(lines) in f"{text}\n"


def test_capabilities_are_listed() -> None:
    """`seambench list capabilities` has every word of every seam, with its format and meaning."""
    done = CliRunner().invoke(app, ["list", "capabilities", "--json"])
    listed = json.loads(done.stdout)["capabilities"]
    assert {(row["seam"], row["word"]) for row in listed} == {
        (seam, word) for seam in seams() for word in find_seam(seam).words
    }
    assert {"seam": "scan", "of": "delta", "word": "delta.vectors"}.items() <= next(
        row.items() for row in listed if row["word"] == "delta.vectors"
    )
    assert "delta.vectors" in CliRunner().invoke(app, ["list", "capabilities"]).stdout
