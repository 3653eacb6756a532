"""Files that are written: whole or not at all, and where what can be made again lies."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seambase.errors import UnavailableError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """An error that keeps a file or a folder from being written names it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        reason = os.strerror(error.errno)
        raise UnavailableError(f"{path} cannot be written: {reason}") from error


@contextmanager
def whole_folder(path: Path) -> Iterator[None]:
    """A folder that is not there, or empty, to write into; so it is again if that does not end."""
    was_there = path.exists()
    try:
        with writing(path):
            yield
    except BaseException:
        for entry in [*path.iterdir()] if path.is_dir() else ():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        if not was_there and path.is_dir():
            path.rmdir()
        raise


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write in place of `path`, which it becomes in the end, or vanishes.

    It is new and has a name that nobody can guess, so that no link laid there before is followed.
    """
    # A name may have 255 bytes; that of the file has few enough by itself.
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.tmp")
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with writing(path):
            os.close(os.open(temporary, new, 0o666))
            yield temporary
            temporary.replace(path)
    finally:
        # A read-only file system says so of a file that is not there, in place of the error above.
        with suppress(OSError):
            temporary.unlink()


def cache_folder() -> Path:
    """Folder of what can be made again: `$XDG_CACHE_HOME/seambench`, else `~/.cache/seambench`."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "seambench"
