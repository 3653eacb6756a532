"""Cases: what a suite checks, as data. One file each; its path is its id."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from seambase.errors import UnavailableError, UsageError
from seambench.seams.column.cases import ColumnCase, column_cases
from seambench.seams.exchange.cases import ExchangeCase, exchange_cases
from seambench.seams.scan.cases import ScanCase, scan_cases
from seambench.seams.serde.cases import SerdeCase, serde_cases

__all__ = ["Case", "default_root", "load_cases"]

Case = ScanCase | ColumnCase | SerdeCase | ExchangeCase


def default_root() -> Path:
    """Folder of the cases that come with an installed suite (entry point group `seambench.cases`).

    Raises:
        UnavailableError: no suite is installed.
    """
    for entry in entry_points(group="seambench.cases"):
        root: Path = entry.load()
        return root
    raise UnavailableError("no installed package brings cases (entry point group seambench.cases)")


def load_cases(seam: str, root: Path | None = None, golden: Path | None = None) -> Sequence[Case]:
    """All cases of a seam, by id.

    Args:
        seam: `scan`, `column`, `serde` or `exchange`.
        root: folder with `cases/` and `golden/`; None for the installed suite's.
        golden: folder of golden files (column and serde seam) to take instead of the root's.

    Raises:
        UsageError: a broken case file, or an unknown seam.
    """
    if seam == "scan":
        return scan_cases(root or default_root())
    if seam == "column":
        return column_cases(root or default_root(), golden)
    if seam == "serde":
        return serde_cases(root or default_root(), golden)
    if seam == "exchange":
        return exchange_cases(root or default_root())
    raise UsageError(f"there is no seam {seam!r}; they are column, scan, serde, exchange")
