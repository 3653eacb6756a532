"""What was made of files that stay as they are, kept from one scan of this process to the next.

A file is known by its path, its place on the disk, its size and its times: one that was written
anew is another file, whatever its name. One elsewhere than on this machine is known by what the
listing of its folder says of it (`seamkit.files.remote`); of a file that was never listed nothing
is kept.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from os import PathLike
from typing import Any

from seambase.errors import UsageError
from seamkit.files.kept_on_disk import Form, KeptOnDisk

CACHE_BYTES = 512 << 20
"""What may be kept, unless `keep_at_most` says otherwise."""

DISK_BYTES = 4 << 30
"""What may be kept on disk where that is asked for, unless `keep_on_disk` says otherwise."""

# A file may be written twice within one tick of the clock that its times come from.
_SETTLED_NS = 100_000_000


class Kept:
    """Things by key, within a number of bytes; those used longest ago leave first.

    What has a form there is written to `folder`, too, if there is one, and comes back from it.
    Threads may share it. `size_bytes` is what is kept now, as those who gave it counted.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self.size_bytes = 0
        self._lock = threading.Lock()
        self.folder: KeptOnDisk | None = None

    @property
    def on_disk(self) -> tuple[str, int] | None:
        """The folder and what it may take, as `keep_on_disk` set them; None for none."""
        folder = self.folder
        return None if folder is None else (str(folder.folder), folder.most_bytes)

    def get(self, key: Hashable, form: Form | None = None) -> Any:
        """What was put under a key; None if it is not there."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                return entry[0]
        folder = self.folder if self.most_bytes else None
        kept = None if folder is None or form is None else folder.get(key, form)
        if kept is None:
            return None
        self._put(key, *kept)
        return kept[0]

    def put(self, key: Hashable, value: Any, size_bytes: int, form: Form | None = None) -> None:
        """Keep a value in the place of the one that was there, unless it is too large for all."""
        self._put(key, value, size_bytes)
        if form is not None and self.folder is not None and self.most_bytes:
            self.folder.put(key, value, form)

    def _put(self, key: Hashable, value: Any, size_bytes: int) -> None:
        with self._lock:
            if key in self._entries:
                self.size_bytes -= self._entries.pop(key)[1]
            if size_bytes > self.most_bytes:
                return
            self._entries[key] = value, size_bytes
            self.size_bytes += size_bytes
            self._shrink()

    def resize(self, most_bytes: int) -> None:
        """Keep so much at most from now on."""
        with self._lock:
            self.most_bytes = most_bytes
            self._shrink()

    def _shrink(self) -> None:
        while self.size_bytes > self.most_bytes:
            _, (_, size_bytes) = self._entries.popitem(last=False)
            self.size_bytes -= size_bytes


KEPT = Kept(CACHE_BYTES)
"""What all scans of this process share."""


def keep_at_most(most_bytes: int) -> None:
    """Bound what scans of this process keep of files for later scans.

    These are footers and page indexes of Parquet files, what tables say of themselves (instants and
    file slices of Hudi, metadata and manifests of Iceberg, manifests of Paimon, versions of Delta),
    and for queries of DuckDB, Polars and Spark decoded logs and which rows of a file are gone. It
    is 512 MiB by default.

    Args:
        most_bytes: 0 to keep nothing, and to forget what is kept; a folder of `keep_on_disk` is
            not used then.

    Raises:
        UsageError: no whole number from 0 on.
    """
    if isinstance(most_bytes, bool) or not isinstance(most_bytes, int) or most_bytes < 0:
        raise UsageError(f"most_bytes is {most_bytes!r}: a whole number from 0 on is meant")
    KEPT.resize(most_bytes)


def keep_on_disk(folder: str | PathLike[str] | None, most_bytes: int = DISK_BYTES) -> None:
    """Keep decoded logs, and which rows of files are gone, in a folder for later processes, too.

    Nothing is written to disk unless this is called. It holds from then on for all scans of this
    process whose queries keep something (see `keep_at_most`), and for the workers of a Spark
    session. What is there is known by the identity of the files that it was made of, and checked
    when it is read; what is broken or made by another version of this library is removed. Several
    processes may use a folder at once; what was used longest ago leaves first. Of tables of any
    size: reads of a whole table without a filter keep nothing, nor do files that were changed in
    the last tenth of a second.

    Args:
        folder: on a disk of this machine; it is made if it is not there, and must be yours alone.
            None to use none from now on; what is there stays.
        most_bytes: what all of it may take.

    Raises:
        UsageError: the folder cannot be made, or others may look into it; or no whole number from 1
            on.
    """
    if isinstance(most_bytes, bool) or not isinstance(most_bytes, int) or most_bytes < 1:
        raise UsageError(f"most_bytes is {most_bytes!r}: a whole number from 1 on is meant")
    if not isinstance(folder, str | PathLike | None):
        raise UsageError(f"folder is {folder!r}: a path or None is meant")
    KEPT.folder = None if folder is None else KeptOnDisk.at(folder, most_bytes)


def keep_likewise(most_bytes: int, on_disk: tuple[str, int] | None) -> None:
    """Keep what another process keeps, as a worker of it; a folder that cannot be is warned of."""
    keep_at_most(most_bytes)
    if on_disk == KEPT.on_disk:
        return
    KEPT.folder = None
    try:
        keep_on_disk(*on_disk or (None,))
    except UsageError as error:
        warnings.warn(str(error), RuntimeWarning, stacklevel=2)


def file_identity(path: str) -> Hashable | None:
    """What tells a file of this machine from any other, and from itself once it is written anew.

    None for a file that is not there, or was changed a moment ago and may be again, unnoticed.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - a path takes longer to make than to look at
    except OSError:
        return None
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _SETTLED_NS:
        return None
    place = status.st_dev, status.st_ino, status.st_size
    return path, *place, status.st_mtime_ns, status.st_ctime_ns
