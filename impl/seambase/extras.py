"""Packages that only a part of Seambench needs: imported where they are used, named when absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seambase.errors import UnavailableError

__all__ = ["IN_A_CHECKOUT", "how_to_install", "needs", "not_installed"]

#: Where `pip install .` means this project, which lies on no index.
IN_A_CHECKOUT = "in a checkout of Seambench"
_OURS = ("seambase", "seamkit", "seambench")


def how_to_install(extra: str) -> str:
    """What to type in a checkout to get the packages of an extra."""
    return f"pip install '.[{extra}]' {IN_A_CHECKOUT}"


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Around imports of packages that an extra brings.

    Args:
        extra: its name in `pyproject.toml`.
        what: what needs the packages, as the sentence's subject: "a filter in SQL".

    Raises:
        UnavailableError: one of them is not installed, and how to install it; or it does not load.
    """
    try:
        yield
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError):
            raise UnavailableError(f"{what} cannot be had here: {error}") from error
        missing = (error.name or "").partition(".")[0]
        if missing.startswith(_OURS):
            raise
        raise not_installed(missing, extra, what) from error


def not_installed(package: str, extra: str, what: str) -> UnavailableError:
    """The error that `needs` raises, for those who look for a package before they import it."""
    return UnavailableError(
        f"{what} needs the package {package!r}, which is not installed: {how_to_install(extra)}"
    )
