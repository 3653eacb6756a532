"""What docs/systems.md names is there: every path, page, reader and capability of its tables."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[4]
_PAGE = CHECKOUT / "docs" / "systems.md"
_VERDICTS = ("works", "differs", "missing")


def wrong_in(text: str) -> list[str]:
    """What the tables say that is not so, a sentence each."""
    found = []
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith("| mechanism"):
            continue
        cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
        mechanism, where, reached, _, verdict = cells
        if not verdict.startswith(_VERDICTS):
            found.append(f"{mechanism}: no verdict: {verdict}")
        found += [
            f"{mechanism}: there is no {path}"
            for path in re.findall(r"`([^`]+)`", where)
            if not any((base / path).exists() for base in (CHECKOUT, CHECKOUT / "impl/seamkit"))
        ]
        found += [
            f"{mechanism}: there is no docs/{page}"
            for page in re.findall(r"`([^`]+\.md)`", reached)
            if not (CHECKOUT / "docs" / page).exists()
        ]
        if verdict.startswith("works") and not (where and reached):
            found.append(f"{mechanism}: it works, and nobody is told where")
    return found


def test_the_page_is_true() -> None:
    """Paths and pages exist, verdicts are among three, what works says where and how."""
    text = _PAGE.read_text(encoding="utf-8")
    assert wrong_in(text) == []
    assert text.count("\n| ") > 70


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("| a | `offheap/gone.py` | `java.md` | tests | works |", "there is no offheap/gone.py"),
        ("| a | `offheap/java` | `gone.md` | tests | works |", "there is no docs/gone.md"),
        ("| a | `offheap/java` | `java.md` | tests | mostly |", "no verdict: mostly"),
        ("| a | | | tests | works |", "nobody is told where"),
    ],
)
def test_what_is_not_so_is_found(row: str, says: str) -> None:
    """A path or page that went, a fourth verdict, a claim without a place."""
    [wrong] = wrong_in(row)
    assert says in wrong
