"""Packages that only a part of ours needs: imported where they are used, named when absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seambase.errors import UnavailableError

_OURS = ("seambase", "seamkit", "seambench")
#: Ours lie on no index before their first release.
_FROM = " --find-links FOLDER_OF_WHEELS"


def how_to_install(requirement: str) -> str:
    """What to type to get a package, or those of an extra, such as `seamkit[jvm]`."""
    plain = requirement.replace("-", "").replace("_", "").isalnum()
    text = f"pip install {requirement if plain else repr(requirement)}"
    return text + _FROM if requirement.startswith(_OURS) else text


@contextmanager
def needs(requirement: str, what: str) -> Iterator[None]:
    """Around imports of packages that an extra brings.

    Args:
        requirement: what brings them, as a user would ask for it: a package that people know by
            its name, `duckdb`, or a distribution of ours with its extra, `seamkit[jvm]`.
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
        raise not_installed(missing, requirement, what) from error


def not_installed(package: str, requirement: str, what: str) -> UnavailableError:
    """The error that `needs` raises, for those who look for a package before they import it."""
    return UnavailableError(
        f"{what} needs the package {package!r}, which is not installed: "
        f"{how_to_install(requirement)}"
    )
