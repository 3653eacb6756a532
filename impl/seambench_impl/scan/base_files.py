"""Which reader a base file needs."""

from __future__ import annotations

from seambench.errors import RefusedError
from seambench_impl.scan.base import BaseReader
from seambench_impl.scan.base_reader import BaseFileReader
from seambench_impl.scan.orc_base import OrcReader
from seambench_impl.scan.renamed_base import RenamedReader
from seambench_impl.scan.skeleton_base import SkeletonReader
from seambench_impl.tables.hudi.slices import BaseFile
from seambench_impl.tables.storage import Storage

__all__ = ["open_base", "open_slice_base"]


def open_slice_base(storage: Storage, base: BaseFile) -> BaseFileReader:
    """Open a slice's base file, with the file outside the table that it may need.

    Raises:
        InputError: a file is missing, truncated, or not of the format that its name says; or the
            two do not have the same rows.
        RefusedError: a format that is not read; named.
    """
    own = open_base(storage, base.path)
    reader = own
    if base.external is not None:
        outside = open_base(Storage(base.external.root), base.external.path)
        reader = SkeletonReader(own, outside, base.external.values)
    return reader if base.names is None else RenamedReader(reader, base.names)


def open_base(storage: Storage, path: str) -> BaseFileReader:
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
