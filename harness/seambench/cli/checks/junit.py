"""Outcomes as a JUnit file, which most build servers show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from seambench.contracts.outcomes import Outcome

__all__ = ["write_junit"]


def write_junit(file: Path, seam: str, outcomes: Sequence[Outcome]) -> None:
    """Write a test suite for each implementation, a test case for each outcome.

    Raises:
        OSError: the file cannot be written.
    """
    root = ET.Element("testsuites", name=f"seambench {seam}")
    by_name: dict[str, list[Outcome]] = {}
    for one in outcomes:
        by_name.setdefault(one.implementation, []).append(one)
    for name, listed in by_name.items():
        broken = {"error", "crash", "timeout"}
        suite = ET.SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(listed)),
            failures=str(sum(o.failed and o.outcome not in broken for o in listed)),
            errors=str(sum(o.outcome in broken for o in listed)),
            skipped=str(sum(not o.failed and o.outcome != "pass" for o in listed)),
            time=f"{sum(o.seconds for o in listed):.3f}",
        )
        for one in listed:
            _case(suite, one)
    file.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _case(suite: ET.Element, one: Outcome) -> None:
    folder, _, name = one.case.rpartition("/")
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"{one.implementation}.{folder.replace('/', '.')}",
        name=name,
        time=f"{one.seconds:.3f}",
    )
    if one.outcome == "pass":
        return
    kind = "skipped"
    if one.failed:
        kind = "error" if one.outcome in ("error", "crash", "timeout") else "failure"
    said = ET.SubElement(case, kind, message=_legal(f"{one.outcome}: {one.reason}"[:2000]))
    said.text = _legal(one.reason)


def _legal(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or (c.isprintable() and c != "\x7f") else "?" for c in text)
