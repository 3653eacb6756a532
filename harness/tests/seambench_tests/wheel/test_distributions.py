"""The three distributions: who owns which file, who asks for whom, and what advice names."""

import json
import re
import tomllib
from importlib import metadata
from itertools import combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seambench.cli.app import app

CHECKOUT = Path(__file__).parents[4]
OURS = ("seambase", "seamkit", "seambench")
_ADVICE = re.compile(r"(?:needs|not_installed|how_to_install)\([^)]*?\"((seam\w+)\[(\w+)\])\"")
_INSTALL = re.compile(r"pip install '?(seam\w+)\[([\w,]+)\]")


def _required(name: str) -> list[str]:
    """What a distribution asks for of ours, without extras of its own."""
    asked = metadata.requires(name) or []
    return [one for one in asked if one.startswith("seam") and not one.startswith(f"{name}[")]


def test_no_file_has_two_owners() -> None:
    """Whatever is uninstalled or upgraded, the others keep what is theirs."""
    files = {
        name: {str(one) for one in metadata.files(name) or [] if ".dist-info" not in str(one)}
        for name in OURS
    }
    for one, other in combinations(OURS, 2):
        assert files[one] & files[other] == set(), (one, other)


def test_only_the_same_versions_go_together() -> None:
    """Adapters reach into the library, and both speak the same words: each asks for its equal."""
    (version,) = {metadata.version(name) for name in OURS}
    assert _required("seambase") == []
    for name in ("seamkit", "seambench"):
        asked = [one.partition(";")[0].strip() for one in _required(name)]
        assert f"seambase=={version}" in asked
        assert all(one.endswith(f"=={version}") for one in asked)


def test_the_oldest_that_are_tried_are_those_asked_for() -> None:
    """What stands in .ci/oldest.txt is the lower bound that distributions state, one for all."""
    lines = (CHECKOUT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if not line.startswith("#"))
    bounds = {
        (match[1], match[2])
        for name in OURS
        for asked in metadata.requires(name) or []
        if ";" not in asked and (match := re.match(r"([\w-]+)\S*?>=([\d.]+)", asked))
    }
    assert {"pyarrow", "numpy", "fsspec"} <= tried.keys()
    assert {pair for pair in bounds if pair[0] in tried} == set(tried.items())


def test_an_extra_of_the_library_is_in_all_of_them_and_in_the_readme() -> None:
    """Whoever asks for `all` lacks nothing, and README tells what one may ask for."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    told = readme.partition("what else is an extra")[2].partition("`all`")[0]
    found, open_ = set[str](), ["all"]
    while open_:
        found.add(extra := open_.pop())
        asked = (re.fullmatch(r"seamkit\[([\w,]+)\]", one) for one in extras[extra])
        open_ += [name for match in asked if match for name in match[1].split(",")]
    assert found == set(extras)
    assert set(re.findall(r"`(\w+)`", told)) == set(extras) - {"all"}


def test_the_image_is_made_by_commands_of_the_readme() -> None:
    """What the Dockerfile runs stands in README; its instructions and its command are known."""
    text = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    told = {line.partition(" # ")[0].strip() for line in readme.splitlines() if line[:4] == "    "}
    steps = [line.partition(" ")[::2] for line in text.splitlines() if not line.startswith("#")]
    program, first = (json.loads(words) for name, words in steps if name in ("ENTRYPOINT", "CMD"))
    assert {name for name, _ in steps} == {"FROM", "COPY", "RUN", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert [words for name, words in steps if name == "RUN" and words not in told] == []
    assert {words for name, words in steps if name == "COPY"} == {"dist dist"}
    assert program == ["seambench"]
    assert CliRunner().invoke(app, [*first, "--help"]).exit_code == 0


def test_the_judge_asks_for_the_library_as_an_extra_alone() -> None:
    """What it needs by itself is no more than the shared words."""
    plain = [one for one in _required("seambench") if ";" not in one]
    assert [re.split("[=<>]", one)[0] for one in plain] == ["seambase"]
    for one in _required("seamkit"):
        assert not one.startswith("seambench")


def _sources() -> list[Path]:
    folders = ("harness/seambench", "impl/seambase", "impl/seamkit", "impl/seambench_impl")
    return [file for folder in folders for file in (CHECKOUT / folder).rglob("*.py")]


def test_advice_names_an_extra_that_there_is() -> None:
    """Errors that say what to install name a distribution, and an extra that it has."""
    asked = {
        (match[2], match[3])
        for file in _sources()
        for match in _ADVICE.finditer(file.read_text(encoding="utf-8"))
    }
    assert len(asked) > 8
    for name, extra in sorted(asked):
        assert extra in metadata.metadata(name).get_all("Provides-Extra", []), (name, extra)


@pytest.mark.parametrize(
    "document", sorted([*CHECKOUT.glob("[A-Z]*.md"), *(CHECKOUT / "docs").glob("*.md")]), ids=str
)
def test_documents_name_extras_that_there_are(document: Path) -> None:
    """So does what the documents say."""
    for name, extras in _INSTALL.findall(document.read_text(encoding="utf-8")):
        known = metadata.metadata(name).get_all("Provides-Extra", [])
        assert set(extras.split(",")) <= set(known), (name, extras)
