"""Files that are not on this machine, through fsspec, with patience for passing failures."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from seambase.errors import UnavailableError, UsageError

__all__ = ["RemoteFiles", "Retry"]

_T = TypeVar("_T")
_FINAL = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)


@dataclass(frozen=True)
class Retry:
    """How often a request is made, and how long to wait between.

    Attributes:
        attempts: requests at most, the first included.
        first_wait_seconds: the wait before the second; each is twice the one before, and up to
            half of it is left to chance, so that many readers do not come back at once.
        sleep: called with the seconds to wait.
    """

    attempts: int = 5
    first_wait_seconds: float = 0.1
    sleep: Callable[[float], None] = time.sleep

    def call(self, request: Callable[[], _T]) -> _T:
        """The request's answer.

        Raises:
            OSError: what the last request raised. What no patience mends is raised at once.
        """
        wait = self.first_wait_seconds
        for attempt in range(1, self.attempts + 1):
            try:
                return request()
            except _FINAL:
                raise
            except OSError as error:
                if attempt == self.attempts:
                    raise OSError(f"{_text(error)} ({attempt} attempts)") from error
            except Exception as error:  # libraries of storages raise what they like
                raise OSError(_text(error)) from error
            self.sleep(wait * random.uniform(0.5, 1))
            wait *= 2
        raise AssertionError("unreachable")


class RemoteFiles:
    """The files of one fsspec file system.

    Args:
        root: address of the table's folder.
        options: arguments of the file system.
        retry: how often to try again.

    Raises:
        UsageError: nobody knows this kind of storage, or it does not know the options.
        UnavailableError: its library is not installed.
    """

    parallel = 32

    def __init__(self, root: str, options: Mapping[str, Any], retry: Retry) -> None:
        import fsspec  # a tenth of a second that local tables need not wait

        self._retry = retry
        # A table changes while it is read: a listing that was kept is a wrong one.
        fixed = {"use_listings_cache": False, "skip_instance_cache": True}
        try:
            self._fs, _ = fsspec.url_to_fs(root, **{**fixed, **options})
        except ImportError as error:
            raise UnavailableError(f"{root}: {error}") from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"{root}: {error}") from error
        except Exception as error:  # a file system may connect when it is made
            raise UnavailableError(f"{root}: {_text(error)}") from error

    def entries(self, folder: str) -> list[tuple[str, int | None]]:
        """Names and sizes (None for a folder) in one folder."""
        own = self._path(folder).strip("/")
        found = []
        for info in self._retry.call(lambda: self._fs.ls(self._path(folder), detail=True)):
            path = str(info["name"]).strip("/")
            if path != own:  # object stores list a folder's marker within it
                size = None if info["type"] == "directory" else int(info["size"] or 0)
                found.append((path.rsplit("/", 1)[-1], size))
        return found

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder: a failure is no answer, as it is for fsspec's own."""
        try:
            self._retry.call(lambda: self._fs.info(self._path(path)))
        except FileNotFoundError:
            return False
        return True

    def identity(self, _folder: str) -> object:
        """None: no folder has two names."""
        return None

    def read(self, path: str, _up_to: int | None = None) -> bytes:
        """The whole file; a range of an empty object would be an error on some storages."""
        return bytes(self._retry.call(lambda: self._fs.cat_file(self._path(path))))

    def map(self, path: str) -> pa.Buffer:
        """The whole file, in memory."""
        return pa.py_buffer(self.read(path))

    def open(self, path: str) -> pa.NativeFile:
        """The file for random access; each read is a request of its own."""
        plain = self._path(path)
        size = int(self._retry.call(lambda: self._fs.info(plain))["size"])
        return pa.PythonFile(_RangeFile(self._fs, plain, size, self._retry), mode="r")

    def modified_millis(self, path: str) -> int:
        """When the file was last changed, in milliseconds since 1970."""
        moment = self._retry.call(lambda: self._fs.modified(self._path(path)))
        return int(moment.replace(tzinfo=moment.tzinfo or dt.UTC).timestamp() * 1000)

    def _path(self, full: str) -> str:
        return str(self._fs._strip_protocol(full))


class _RangeFile:
    """A file object over ranged requests, as `pyarrow.PythonFile` wants it."""

    def __init__(self, fs: Any, path: str, size_bytes: int, retry: Retry) -> None:
        self._fs = fs
        self._path = path
        self._size_bytes = size_bytes
        self._retry = retry
        self._at = 0
        self.closed = False

    def read(self, n: int = -1) -> bytes:
        """The next `n` bytes, or what is left."""
        begin = self._at
        end = self._size_bytes if n < 0 else min(begin + n, self._size_bytes)
        if end <= begin:
            return b""
        data = self._retry.call(lambda: self._range(begin, end))
        self._at = end
        return data

    def _range(self, begin: int, end: int) -> bytes:
        data = bytes(self._fs.cat_file(self._path, start=begin, end=end))
        if len(data) != end - begin:
            raise OSError(f"{len(data)} bytes came where {end - begin} were asked for")
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move; `whence` as in `io.IOBase.seek`."""
        self._at = offset + (0, self._at, self._size_bytes)[whence]
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def writable(self) -> bool:
        """It is not."""
        return False

    def flush(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing is held."""
        self.closed = True


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
