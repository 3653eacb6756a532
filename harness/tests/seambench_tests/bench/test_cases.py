"""What is timed of a scan is judged, in the run that measures memory, too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from seambench.bench import cases
from seambench.records.verdicts import Finding

_THREE = "duckdb2:3:0123456789abcdef:0123456789abcdef"


@pytest.mark.parametrize(
    ("came", "before", "wrong"),
    [
        (3, None, None),
        (2, None, "streamed, 2 rows came; 3 are expected"),
        (4, None, "streamed, 4 rows came; 3 are expected"),
        (2, "a type", "a type"),
    ],
)
def test_rows_of_a_stream_that_is_measured_are_counted(
    monkeypatch: pytest.MonkeyPatch, came: int, before: str | None, wrong: str | None
) -> None:
    """A stream that lost rows is wrong, however little memory it took; the first fault is told."""
    found = Finding(_THREE, _THREE, before, 3, 24)
    drained = SimpleNamespace(rows=came, peak_bytes=7)
    monkeypatch.setattr(cases, "run_drain", lambda *_: drained)
    request = SimpleNamespace(table="t", query="snapshot", threads=2)
    reader = cast("Any", SimpleNamespace(name="mine", request=lambda *_: request))

    judged, peak, growth = cases._streamed(reader, lambda: (found, 1, 5), 3, ["a"])()
    assert (judged.wrong, peak, growth) == (wrong, 7, 5)
