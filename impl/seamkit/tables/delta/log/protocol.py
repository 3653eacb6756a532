"""What a table asks of its readers: refused by name where it is more than this reader knows."""

from __future__ import annotations

from seambase.errors import InputError, RefusedError
from seamkit.tables.delta.log.actions import Protocol

__all__ = ["VECTORS", "WIDENING", "check_protocol", "has_feature", "maps_columns"]

VECTORS = "deletionVectors"
MAPPING = "columnMapping"
WIDENING = ("typeWidening", "typeWidening-preview")
_KNOWN = frozenset(
    [
        VECTORS,
        MAPPING,
        "timestampNtz",
        "timestampWithoutTimezone",  # by which early tables call it
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantShredding",
        "variantShredding-preview",
        "variantType",
        "variantType-preview",
        *WIDENING,
    ]
)
_BY_CATALOG = ("catalogManaged", "catalogOwned-preview")
_MAPPING_VERSION = 2
_FEATURES_VERSION = 3


def check_protocol(protocol: Protocol, root: str, *, ratified: bool = False) -> None:
    """Check that a table can be read.

    Args:
        protocol: what it asks for.
        root: the table, for messages.
        ratified: whether the caller knows from the table's catalog which version is the newest.
    """
    version = protocol.min_reader_version
    if not 1 <= version <= _FEATURES_VERSION:
        raise RefusedError(
            f"{root}: the table asks for reader version {version}; 1 to {_FEATURES_VERSION} are "
            "supported"
        )
    if version < _FEATURES_VERSION:
        return
    if protocol.reader_features is None:
        raise InputError(f"{root}: reader version 3 without a list of readerFeatures")
    for name in protocol.reader_features:
        if name in _BY_CATALOG and not ratified:
            raise RefusedError(
                f"{root}: the table is managed by a catalog ({name!r}), which alone knows its "
                "newest version: ask it, and open DeltaTable(path, staged_commits=[...], "
                "version=...)"
            )
        if name not in _KNOWN and name not in _BY_CATALOG:
            raise RefusedError(
                f"{root}: the table asks for the reader feature {name!r}, which is not supported"
            )


def has_feature(protocol: Protocol, *names: str) -> bool:
    """Whether one of some features is in the list of a table."""
    return not set(names).isdisjoint(protocol.reader_features or ())


def maps_columns(protocol: Protocol) -> bool:
    """Whether the protocol lets the property `delta.columnMapping.mode` count.

    Spark once upgraded tables to version 3 without telling readers of the mapping that writers knew
    of (Delta 3.1 wrote such ones): the list of either counts, as in Spark and delta-kernel-rs.
    """
    return (
        protocol.min_reader_version == _MAPPING_VERSION
        or has_feature(protocol, MAPPING)
        or MAPPING in protocol.writer_features
    )
