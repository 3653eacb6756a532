"""Tables whose own bytes say where they lie, shown to readers at that place.

A table that was unpacked elsewhere is reached there by a symbolic link, by one process at a time:
the next one may have damaged the same table.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seambase.errors import UnavailableError, UsageError

#: Homes that are taken in this process, with the threads that took them.
_TAKEN: dict[Path, int] = {}


@contextmanager
def placed(table: Path, home: Path | None) -> Iterator[None]:
    """For as long as this lasts, a table can be reached at the home that its bytes name, if any."""
    if home is None:
        yield
        return
    if _TAKEN.get(home) == threading.get_ident():
        raise UsageError(f"{home}: two tables that name this place are not read at once: end one")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        lock = (home.parent / f".{home.name}.lock").open("a")
    except OSError as error:
        raise _cannot(home, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if home.is_symlink():  # of a process that was killed
                home.unlink()
            home.symlink_to(table.absolute())
        except FileExistsError as error:
            raise UnavailableError(
                f"{home}: something lies where a table must be that names this place: move it away"
            ) from error
        except OSError as error:
            raise _cannot(home, error) from error
        _TAKEN[home] = threading.get_ident()
        try:
            yield
        finally:
            del _TAKEN[home]
            home.unlink()


def _cannot(home: Path, error: OSError) -> UnavailableError:
    return UnavailableError(f"{home}: a table that names this place cannot be put there ({error})")
