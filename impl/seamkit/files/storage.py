"""Files of a table: listing, reading and mapping, relative to the table's folder."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from seambase.errors import InputError, UsageError
from seamkit.files.remote import RemoteFiles, Retry

__all__ = ["FileStatus", "Storage"]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One entry of a folder: its name, its path below the table, its size (None: a folder)."""

    name: str
    path: str
    size_bytes: int | None


class _Files(Protocol):
    """What a kind of storage can do; paths are full ones, a missing file is a FileNotFoundError."""

    parallel: int

    def entries(self, folder: str) -> list[tuple[str, int | None]]: ...

    def exists(self, path: str) -> bool: ...

    def read(self, path: str) -> bytes: ...

    def map(self, path: str) -> pa.Buffer: ...

    def open(self, path: str) -> pa.NativeFile: ...

    def modified_millis(self, path: str) -> int: ...


class Storage:
    """The folder of a table, local or wherever fsspec reaches.

    Local files are mapped. Elsewhere listings are never cached, each read asks for just the bytes
    it needs, and what may be a passing failure is tried again with growing waits.

    Args:
        root: path of the folder, or an address: `file://` (`file:/`, too, as Hadoop writes it),
            `s3://`, `gs://`, `hdfs://`, `memory://`, any that fsspec knows.
        options: arguments of the fsspec file system (`key`, `secret`, `endpoint_url`, ...); a
            local folder has none.
        retry: how often to try again.

    Raises:
        UsageError: no path at all, options for a local folder, options that the file system does
            not know, or a kind of storage that nobody knows.
        UnavailableError: the library for this kind of storage is not installed.
        InputError: there is no such local folder.
    """

    def __init__(
        self, root: str, options: Mapping[str, Any] | None = None, *, retry: Retry | None = None
    ) -> None:
        scheme, separator, _ = root.partition("://")
        self._files: _Files
        if separator and scheme != "file":
            self.root = root.rstrip("/")
            self._files = RemoteFiles(self.root, options or {}, retry or Retry())
            return
        if not root:
            raise UsageError("the path of the table is empty")
        self.root = _local_path(root).rstrip("/") or "/"
        if options:
            raise UsageError(f"{self.root}: a local folder has no options ({', '.join(options)})")
        if not Path(self.root).is_dir():
            raise InputError(f"{self.root}: no such folder")
        self._files = _LocalFiles()

    def below(self, folder: str) -> Storage:
        """The same storage, seen from a folder below."""
        child = copy.copy(self)
        child.root = self.full(folder)
        return child

    @property
    def is_local(self) -> bool:
        """Whether files are on this machine, where looking at one costs next to nothing."""
        return isinstance(self._files, _LocalFiles)

    @property
    def parallel(self) -> int:
        """How many requests at once make sense."""
        return self._files.parallel

    def full(self, path: str) -> str:
        """The path as messages and other libraries want it."""
        return f"{self.root}/{path}" if path else self.root

    def list(self, folder: str = "") -> list[FileStatus]:
        """Entries of one folder, by name; an absent folder has none.

        Raises:
            InputError: it cannot be listed.
        """
        prefix = f"{folder}/" if folder else ""
        with _told(self.full(folder)):
            try:
                entries = self._files.entries(self.full(folder))
            except FileNotFoundError:
                return []
        return [FileStatus(name, prefix + name, size) for name, size in sorted(entries)]

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name.

        Raises:
            InputError: the storage does not tell.
        """
        with _told(self.full(path)):
            return self._files.exists(self.full(path))

    def read(self, path: str) -> bytes:
        """The whole file, for the small ones.

        Raises:
            InputError: it is missing or cannot be read.
        """
        with _told(self.full(path)):
            return self._files.read(self.full(path))

    def map(self, path: str) -> pa.Buffer:
        """The whole file, mapped if it is local; the buffer keeps the mapping alive.

        Raises:
            InputError: it is missing or cannot be read.
        """
        with _told(self.full(path)):
            return self._files.map(self.full(path))

    def open(self, path: str) -> pa.NativeFile:
        """The file for random access.

        Raises:
            InputError: it is missing or cannot be opened.
        """
        with _told(self.full(path)):
            return self._files.open(self.full(path))

    def modified_millis(self, path: str) -> int:
        """When the file was last changed, in milliseconds since 1970.

        Raises:
            InputError: it is missing, or the storage does not tell.
        """
        with _told(self.full(path)):
            return self._files.modified_millis(self.full(path))


class _LocalFiles:
    """Files of this machine."""

    parallel = 4

    def __init__(self) -> None:
        self._filesystem = pafs.LocalFileSystem(use_mmap=True)

    def entries(self, folder: str) -> list[tuple[str, int | None]]:
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    size = None if entry.is_dir() else entry.stat().st_size
                except FileNotFoundError:  # a cleaner took it, or its link leads nowhere
                    continue
                found.append((entry.name, size))
        return found

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def map(self, path: str) -> pa.Buffer:
        with self._filesystem.open_input_file(path) as file:
            return file.read_buffer()

    def open(self, path: str) -> pa.NativeFile:
        return self._filesystem.open_input_file(path)

    def modified_millis(self, path: str) -> int:
        return Path(path).stat().st_mtime_ns // 1_000_000


def _local_path(root: str) -> str:
    """The path in an address of a local folder; Hadoop writes `file:/a` for `file:///a`."""
    if root.startswith("file:/") and not root.startswith("file://"):
        return root.removeprefix("file:")
    return root.removeprefix("file://")


@contextmanager
def _told(path: str) -> Iterator[None]:
    """What goes wrong below tells the path, and why."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(
            f"{path}: no such file; if a cleaner or a compaction removed it since the scan was "
            "planned, plan the scan again"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
