"""Outcomes as JUnit's XML, which most build servers show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

#: What became of a case; an empty one passed.
Tag = Literal["", "failure", "error", "skipped"]

#: What XML cannot hold.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_CHARACTERS = 2000


@dataclass(frozen=True)
class JUnitCase:
    """A case as JUnit has it."""

    id: str  # of the case; its folder becomes the class
    tag: Tag  # what became of it
    kind: str  # the same in our own word
    reason: str  # why it did not pass
    seconds: float | None = None  # how long it took; None where that is not known


def junit(title: str, suites: Mapping[str, Iterable[JUnitCase]]) -> str:
    """The text of a file with a test suite for each implementation."""
    root = ET.Element("testsuites", name=title)
    for name, listed in suites.items():
        suite = ET.SubElement(root, "testsuite", name=_legal(name))
        counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        seconds = 0.0
        for case in listed:
            folder, _, rest = case.id.rpartition("/")
            one = ET.SubElement(suite, "testcase", classname=_legal(folder), name=_legal(rest))
            if case.seconds is not None:
                one.set("time", f"{case.seconds:.3f}")
                seconds += case.seconds
            counts["tests"] += 1
            if case.tag:
                message = _legal(case.reason)
                short = message[:_MOST_CHARACTERS]
                ET.SubElement(one, case.tag, message=short, type=case.kind).text = message
                counts[case.tag if case.tag == "skipped" else f"{case.tag}s"] += 1
        for word, count in counts.items():
            suite.set(word, str(count))
        suite.set("time", f"{seconds:.3f}")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
