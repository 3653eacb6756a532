"""The table at the end of a run: counts of what readers were asked, and of nothing else."""

from pathlib import Path

import pytest

from seambench.cli.stages.closing import Found, show_closing


def test_what_a_reader_does_not_offer_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Answers that were not asked for stand beside those that were right, not among them."""
    monkeypatch.setenv("COLUMNS", "200")
    some = Found({"pass": 4}, 0, [], {"pass": 3, "not-offered": 2})
    wrong = Found({"pass": 4}, 0, [], {"pass": 3, "fail": 1})
    show_closing({"some": some, "wrong": wrong}, tmp_path)
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert lines["some"].endswith("3 of 3 right, 2 not offered")
    assert lines["wrong"].endswith("3 of 4 right")
