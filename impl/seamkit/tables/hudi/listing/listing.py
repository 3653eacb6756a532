"""Which files lie in which partition.

A partition is a folder that carries Hudi's marker, at any depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue

from seambase.errors import InputError
from seamkit.files.storage import FileStatus, Storage

__all__ = ["Listing", "list_files"]

_Visit = Future[tuple[frozenset[object], list[FileStatus]]]

_PARTITION_MARKER = ".hoodie_partition_metadata"


@dataclass(frozen=True)
class Listing:
    """The files of a table, by partition.

    Attributes:
        partitions: files of each partition, by the partition's path below the table ("" for the
            table's own folder).
        covers: whether a partition was to be listed at all; of others the listing knows nothing.
    """

    partitions: Mapping[str, Sequence[FileStatus]] = field(repr=False)
    covers: Callable[[str], bool] = lambda _: True

    def size_bytes(self, path: str) -> int | None:
        """How long a file of that path below the table is; None if no listed partition has it."""
        partition, _, name = path.rpartition("/")
        return self._sizes.get(partition, {}).get(name)

    @cached_property
    def _sizes(self) -> dict[str, dict[str, int | None]]:
        return {
            partition: {status.name: status.size_bytes for status in files}
            for partition, files in self.partitions.items()
        }


def list_files(storage: Storage) -> Listing:
    """List a table folder by folder, several at once.

    Raises:
        InputError: a folder cannot be listed, or a link leads from it to a folder above it.
    """
    partitions: dict[str, list[FileStatus]] = {}

    def visit(folder: str, above: frozenset[object]) -> tuple[frozenset[object], list[FileStatus]]:
        identity = storage.identity(folder)
        if identity is not None and identity in above:
            raise InputError(f"{storage.full(folder)}: a link leads to a folder that holds it")
        return above | {identity}, storage.list(folder)

    def folders_in(folder: str, entries: Sequence[FileStatus]) -> list[str]:
        if any(entry.name.startswith(_PARTITION_MARKER) for entry in entries):
            partitions[folder] = [e for e in entries if e.size_bytes is not None]
        return [e.path for e in entries if e.size_bytes is None and e.name != ".hoodie"]

    above, entries = visit("", frozenset())
    folders = folders_in("", entries)
    if not folders:  # threads would cost more than such a table
        return Listing(partitions)
    with ThreadPoolExecutor(storage.parallel, thread_name_prefix="seambench-list") as pool:
        running: dict[_Visit, str] = {}
        # To wait for any of them would look at all of them each time.
        done: SimpleQueue[_Visit] = SimpleQueue()

        def begin(folders: Sequence[str], above: frozenset[object]) -> None:
            for folder in folders:
                future = pool.submit(visit, folder, above)
                running[future] = folder
                future.add_done_callback(done.put)

        begin(folders, above)
        while running:
            future = done.get()
            folder = running.pop(future)
            above, entries = future.result()
            begin(folders_in(folder, entries), above)
    return Listing(partitions)
