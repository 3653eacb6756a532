"""A table format is known in its own folder and nowhere else in the harness."""

from pathlib import Path

import pytest

import seambench
from seambench.contracts.formats import format_names

ROOT = Path(seambench.__file__).parent


def _words() -> list[str]:
    """The formats of this package, as names and as their files spell them."""
    own = [name for name in format_names() if (ROOT / "formats" / name).is_dir()]
    assert "hudi" in own
    return [*own, "hoodie", "_delta_log"]


@pytest.mark.parametrize("word", _words())
def test_no_file_outside_a_format_names_it(word: str) -> None:
    """Neither code nor prose of the harness says the name of a table format."""
    found = [
        file.relative_to(ROOT).as_posix()
        for file in ROOT.rglob("*")
        if file.suffix in (".py", ".json", ".toml", ".js", ".html", ".j2")
        and (ROOT / "formats" / word) not in file.parents
        and "formats" not in file.relative_to(ROOT).parts
        and _names(file, word)
    ]
    assert sorted(set(found)) == []


def _names(file: Path, word: str) -> bool:
    text = file.read_text(encoding="utf-8").lower().replace("archive", "")
    if word == "delta":
        # Differences are called that, too: of times, and in file formats of integers.
        return '"delta"' in text or "delta table" in text or "delta lake" in text
    return word in text
