"""The contract between table formats and scanners: what to read, as read units.

A table format plans: it looks at its metadata, and says which files hold the rows of a read, which
of those rows are gone, and which columns have one value for all of them. A scan (`seamkit.scan`)
reads what was planned; it knows no table format.

A unit is a file slice, a section of a bucket, or a data file with its deletes: rows that are read
together, and independently of all other units. What changes a unit's rows decides how it is read:

- nothing: the rows of its files as they stand (native path);
- `Mask`: some rows of its file are gone, by position (native path, under a mask).

Units, files and what they hold are pickled where a scan is cut into parts for several processes, so
openers and loaders are functions of modules or `functools.partial` of such, not lambdas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seambase.scan import ScanWarning
from seamkit.files.reader import FileReader

__all__ = ["Changes", "DataFile", "Mask", "Positions", "ReadPlan", "ReadUnit"]

Positions = npt.NDArray[np.int64]
"""Rows of a file, counted from 0 over all of its row groups; ascending, each once."""


@dataclass(frozen=True)
class DataFile:
    """A file of rows.

    Attributes:
        name: the file, as messages name it.
        size_bytes: of the file; files are spread over threads by it.
        open: opens it. Called once by every thread that reads; the reader gives columns under the
            table's names and in the table's types, and null or a default for those that the file
            lacks.
        sequence_number: when its rows were written, where a format orders files and changes by it.
    """

    name: str
    size_bytes: int
    open: Callable[[], FileReader]
    sequence_number: int = 0


@dataclass(frozen=True)
class Mask:
    """Rows of a unit's one file that are gone.

    Attributes:
        load: gives their positions. Called once a read, when a thread comes to the unit. It checks
            what it reads (its checksums, how many rows are said to be gone) and raises a typed
            error that names the file of the mask. That the positions ascend and lie inside the data
            file is checked by the scan.
    """

    load: Callable[[], Positions]


Changes = Mask


@dataclass(frozen=True)
class ReadUnit:
    """Rows that are read together.

    Attributes:
        name: how plans and messages call it: a path, a file group.
        files: where its rows lie; one file where it has a mask.
        partition: columns that have one value in all rows of the unit; they are not read.
        changes: what happens to the rows of its files.
        reason: why it is read the way it is, for `Scan.explain`.
        guarantee: what holds for all rows of the unit, in the table's names and types, such as the
            ranges that a table's metadata gives of its files; None where nothing is known. A filter
            that it rules out leaves the unit unread. It need not repeat `partition`.
    """

    name: str
    files: Sequence[DataFile]
    partition: Mapping[str, pa.Scalar] = field(default_factory=dict)
    changes: Changes | None = None
    reason: str = ""
    guarantee: pc.Expression | None = None

    def __post_init__(self) -> None:
        if isinstance(self.changes, Mask) and len(self.files) != 1:
            raise ValueError(f"{self.name}: a mask goes with one file, not {len(self.files)}")

    @property
    def size_bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True)
class ReadPlan:
    """What a table format planned for one read.

    Attributes:
        table: the table's folder or address, for messages.
        schema: all columns that may be asked for or tested, in the table's order; every reader of
            every unit can give them.
        units: in the order in which `Scan.to_table` shows their rows.
        heading: what `Scan.explain` says after the table, such as where files were listed.
        notes: further lines of it, such as what was left out.
        warnings: what went wrong while planning and was done otherwise.
    """

    table: str
    schema: pa.Schema
    units: Sequence[ReadUnit]
    heading: str = ""
    notes: Sequence[str] = ()
    warnings: Sequence[ScanWarning] = ()
