"""The rules by name: where each stands in the specification, and how much it binds."""

from __future__ import annotations

from seambench.formats.lint import Rules

RULES = Rules(
    "iceberg",
    "Iceberg table specification",
    {
        "Table Metadata Fields": {
            "must": "metadata. readable required current unique last-column-id last-partition-id"
            " next-row-id log. order current",
            "should": "log. snapshots metadata",
        },
        "Schemas and Data Types": {"must": "schema. form ids types identifiers defaults promotion"},
        "Partitioning": {"must": "spec. source transform field-ids"},
        "Sorting": {"must": "order. fields"},
        "Snapshots": {
            "must": "snapshot. required parent sequence schema operation",
            "should": "snapshot. time",
        },
        "Snapshot References": {"must": "refs. snapshot main type"},
        "Manifest Lists": {
            "must": "list. readable required manifest length spec content sequence min-sequence"
            " counts partitions first-row-id twice"
        },
        # `schema-id` is required by the specification; its own implementation in Java writes none.
        "Manifests": {
            "must": "manifest. readable metadata schema-id field-ids",
            "should": "manifest. no-schema-id",
        },
        "Manifest Entry Fields and Data File Fields": {
            "must": "entry. form required status content sequence first-row-id format equality-ids"
            " split-offsets twice deleted-live row-ids",
            "should": "entry. snapshot sort-order",
        },
        "Optional Snapshot Summary Fields": {"should": "summary. totals changes"},
        "Data File Fields": {
            "must": "file. missing size readable records field-ids required partition value-counts"
            " null-counts nan-counts lower-bounds upper-bounds bounds-form",
            "should": "file. sort-order",
        },
        "Column Projection and Schema Evolution": {"must": "file. types"},
        "Delete Formats": {
            "must": "deletes. columns order reference version",
            "should": "deletes. positions",
        },
        "Deletion Vectors": {
            "must": "vector. puffin blob cardinality one reference",
            "should": "vector. positions",
        },
        "Table Statistics": {
            "must": "statistics. file puffin blobs",
            "should": "statistics. snapshot ndv",
        },
    },
)
