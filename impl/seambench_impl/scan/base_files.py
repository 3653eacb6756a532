"""Which reader a base file needs."""

from __future__ import annotations

from seambench.errors import RefusedError
from seambench_impl.scan.base import BaseReader
from seambench_impl.scan.orc_base import OrcReader
from seambench_impl.tables.storage import Storage

__all__ = ["open_base"]


def open_base(storage: Storage, path: str) -> BaseReader | OrcReader:
    """Open a base file by the ending of its name; a table may hold files of several formats.

    Raises:
        InputError: the file is missing, truncated, or not of the format that its name says.
        RefusedError: a format that is not read; named.
    """
    ending = path.rpartition(".")[2].lower()
    if ending == "parquet":
        return BaseReader(storage, path)
    if ending == "orc":
        return OrcReader(storage, path)
    raise RefusedError(
        f"{storage.full(path)}: base files of format '{ending}' are not supported; Parquet and ORC "
        "are"
    )
