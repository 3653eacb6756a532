"""What is known to fail behind JNI is told: no failure of our own stands in a data file alone."""

import re
from pathlib import Path

from seambench.conformance.xfails import load_xfails
from seambench_impl.scan_jni import JniReader, NativeJniReader

DOCUMENT = Path(__file__).parents[4] / "docs" / "java.md"
TITLE = "## What is known to fail behind JNI"


def test_our_own_known_failures_are_told() -> None:
    """Each stands in the document's table, and that tells of none that is mended."""
    section = DOCUMENT.read_text("utf-8").partition(TITLE)[2].partition("\n## ")[0]
    files = [JniReader.xfails, NativeJniReader.xfails]
    known = {id_ for file in files if file for id_ in load_xfails(file).entries}
    assert known
    assert sorted(re.findall(r"`(scan/[^`]+)`", section)) == sorted(known)
