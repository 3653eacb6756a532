"""The rules by name: where each stands in the specification, and how much it binds."""

from __future__ import annotations

from collections.abc import Mapping

from seambench.contracts.common import Level
from seambench.contracts.lint import Fault

_SECTIONS: Mapping[str, tuple[str, Mapping[Level, str]]] = {
    "metadata": (
        "Table Metadata Fields",
        {"must": "readable required current unique last-column-id last-partition-id next-row-id"},
    ),
    "schema": (
        "Schemas and Data Types",
        {"must": "form ids types identifiers defaults promotion"},
    ),
    "spec": ("Partitioning", {"must": "source transform field-ids"}),
    "order": ("Sorting", {"must": "fields"}),
    "snapshot": (
        "Snapshots",
        {"must": "required parent sequence schema operation", "should": "time"},
    ),
    "log": ("Table Metadata Fields", {"must": "order current", "should": "snapshots metadata"}),
    "refs": ("Snapshot References", {"must": "snapshot main type"}),
    "list": (
        "Manifest Lists",
        {
            "must": "readable required manifest length spec content sequence min-sequence counts"
            " partitions first-row-id twice"
        },
    ),
    "manifest": (
        "Manifests",
        # Required by the specification; its own implementation in Java writes none.
        {"must": "readable metadata schema-id field-ids", "should": "no-schema-id"},
    ),
    "entry": (
        "Manifest Entry Fields and Data File Fields",
        {
            "must": "required status content sequence first-row-id format equality-ids"
            " split-offsets twice row-ids",
            "should": "snapshot sort-order",
        },
    ),
    "summary": ("Optional Snapshot Summary Fields", {"should": "totals"}),
    "file": (
        "Data File Fields",
        {
            "must": "missing size readable records field-ids required partition value-counts"
            " null-counts nan-counts lower-bounds upper-bounds bounds-form"
        },
    ),
    "deletes": (
        "Delete Formats",
        {"must": "columns order reference version", "should": "positions"},
    ),
    "vector": (
        "Deletion Vectors",
        {"must": "puffin blob cardinality one reference", "should": "positions"},
    ),
    "statistics": ("Table Statistics", {"must": "file", "should": "snapshot"}),
}
#: Of each rule its section in the specification and its level.
RULES: Mapping[str, tuple[str, Level]] = {
    f"iceberg.{part}.{name}": (section, level)
    for part, (section, levels) in _SECTIONS.items()
    for level, names in levels.items()
    for name in names.split()
}


Finding = tuple[str, str, str]
"""A rule without the format's name, the place, and what stands there."""


def fault(found: Finding, before: str = "") -> Fault:
    """A fault of a finding; `before` is the file in which its place lies."""
    rule, place, says = found
    section, level = RULES[f"iceberg.{rule}"]
    place = ": ".join(part for part in (before, place) if part)
    return Fault(f"iceberg.{rule}", f"Iceberg table specification, {section}", place, says, level)
