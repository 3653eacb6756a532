"""Files of a table: listing, reading and mapping, relative to the table's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from seambench.errors import InputError, RefusedError

__all__ = ["FileStatus", "Storage"]


@dataclass(frozen=True)
class FileStatus:
    """One entry of a folder: its name, its path below the table, its size (None: a folder)."""

    name: str
    path: str
    size_bytes: int | None


class Storage:
    """The folder of a table on the local file system.

    Args:
        root: path of the folder, or a `file://` address.

    Raises:
        RefusedError: the address names another kind of storage.
        InputError: there is no such folder.
    """

    def __init__(self, root: str) -> None:
        scheme, separator, _ = root.partition("://")
        if separator and scheme != "file":
            raise RefusedError(
                f"{root}: storage '{scheme}' is not supported yet; copy the table to a local folder"
            )
        self.root = root.removeprefix("file://").rstrip("/") or "/"
        self.filesystem = pafs.LocalFileSystem(use_mmap=True)
        if not Path(self.root).is_dir():
            raise InputError(f"{self.root}: no such folder")

    def full(self, path: str) -> str:
        """The path as messages and other libraries want it."""
        return f"{self.root}/{path}" if path else self.root

    def list(self, folder: str = "") -> list[FileStatus]:
        """Entries of one folder, by name; an absent folder has none."""
        selector = pafs.FileSelector(self.full(folder), allow_not_found=True)
        return sorted(
            (
                FileStatus(
                    info.base_name,
                    f"{folder}/{info.base_name}" if folder else info.base_name,
                    None if info.type == pafs.FileType.Directory else info.size,
                )
                for info in self.filesystem.get_file_info(selector)
            ),
            key=lambda status: status.name,
        )

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""
        return Path(self.full(path)).exists()

    def read(self, path: str) -> bytes:
        """The whole file, for the small ones.

        Raises:
            InputError: it is missing or cannot be read.
        """
        try:
            return Path(self.full(path)).read_bytes()
        except OSError as error:
            raise InputError(f"{self.full(path)}: {error.strerror}") from error

    def map(self, path: str) -> pa.Buffer:
        """The whole file, mapped; the buffer keeps the mapping alive.

        Raises:
            InputError: it is missing or cannot be read.
        """
        try:
            with self.filesystem.open_input_file(self.full(path)) as file:
                return file.read_buffer()
        except OSError as error:
            raise InputError(f"{self.full(path)}: {_reason(error)}") from error

    def open(self, path: str) -> pa.NativeFile:
        """The file for random access.

        Raises:
            InputError: it is missing or cannot be read.
        """
        try:
            return self.filesystem.open_input_file(self.full(path))
        except OSError as error:
            raise InputError(f"{self.full(path)}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return (
            "no such file; if a cleaner or a compaction removed it since the scan was planned, "
            "plan the scan again"
        )
    return str(error)
