"""A partition whose folder a catalog names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PartitionFolder:
    """Where a partition lies, and how it is stored."""

    texts: Sequence[str]  # of its values, in the order of the partition columns
    location: str  # its folder: a path, or an address, of any storage
    file_format: str | None = None  # a format or the class of a serde; None for that of the table
    # of its serde and the table, where it has a `file_format` of its own
    properties: Mapping[str, str] = field(default_factory=dict)
    # types of its own columns by name, in order; None for those of the table
    columns: Mapping[str, str] | None = None
