"""What a case reads, left in a folder to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from seambase.errors import UsageError
from seambase.written import whole_folder
from seambench.contracts.registry import find_seam
from seambench.contracts.seam import Case


def keep_case(cases: Sequence[Case], folder: Path) -> Sequence[str]:
    """Leave what a single case reads in a new folder; a line for each thing one can do with it."""
    if len(cases) != 1:
        raise UsageError(
            f"--keep is for one case, but {len(cases):,} are chosen: name it by --case"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and not empty")
    [case] = cases
    if folder.is_dir():
        folder.rmdir()
    with whole_folder(folder):
        return find_seam(case.seam).keep(case, folder)
