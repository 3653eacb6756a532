"""Buckets whose files are cut: the form tells mistaken readers from ours."""

from typing import Any

import pytest

from seamkit.tables.paimon import planning
from seamkit.tables.paimon.planning import by_bucket
from seamkit_tests.samples.mistakes import Mistake, mistaken


def _file_a_level(patch: pytest.MonkeyPatch) -> None:
    """Takes the last file of a level for all of it."""

    def last(files: Any) -> dict[Any, Any]:
        return {
            bucket: list({file.level: file for file in own}.values())
            for bucket, own in by_bucket(files).items()
        }

    patch.setattr(f"{planning.__name__}.by_bucket", last)


@pytest.mark.parametrize(
    ("mistake", "case"),
    [
        (_file_a_level, "scan/paimon/core/append/newest"),
        (_file_a_level, "scan/paimon/deduplicate/life/newest"),
    ],
)
def test_cut_files_show_a_reader_its_mistake(
    mistake: Mistake, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table as it stands does not show it; of the cut files some rows lack."""
    mistaken(monkeypatch, mistake, case, "files-split")
