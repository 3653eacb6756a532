"""The rules of Paimon: pages of its specification, and classes of its core where it is silent."""

from __future__ import annotations

from seambench.formats.lint import Rules

RULES = Rules(
    "paimon",
    "Paimon",
    {
        "Specification": {"must": "form"},
        "Specification, Snapshot": {
            "must": "snapshot. json gap id version kind schema rows next-row-id"
            " index-manifest. missing unreadable manifest-list. size",
            "should": "snapshot. hint",
        },
        "SnapshotManager.earlierOrEqualTimeMills": {"should": "snapshot. time"},
        "Specification, Schema": {"must": "schema. json id version field-ids keys-changed"},
        "TableSchema.highestFieldId": {"must": "schema. highest-field-id"},
        "SchemaValidation": {"must": "schema. names reserved-names keys options"},
        "Schema.normalizeFields": {"must": "schema. key-nullable"},
        "Specification, Manifest List": {
            "must": "manifest-list. missing unreadable counts schema bounds partition-stats"
            " manifest. missing unreadable size"
        },
        "Specification, Data Manifest": {
            "must": "entry. kind partition bucket"
            " file. schema level extra-files size row-count sequence-numbers delete-rows keys",
            "should": "file. wide-sequence-numbers wide-keys",
        },
        "FileEntry.mergeEntries": {"must": "entry. added-twice deleted-absent"},
        "SortedRun.validate": {"must": "level. overlap"},
        "Row Tracking": {"must": "row-ids. overlap"},
        "Specification, DataFile": {
            "must": "file. missing unreadable columns types row-kinds partition-values",
            "should": "file. unread",
        },
        "MergeTreeReaders.readerForSection": {"must": "file. key-order"},
        "DefaultBucketFunction": {"must": "file. bucket-of-rows"},
        "Specification, SimpleStats": {
            "must": "key-stats. min-values max-values null-counts columns"
            " value-stats. min-values max-values null-counts columns"
        },
        "Specification, Index Manifest": {"must": "index. missing size kind"},
        "Specification, Dynamic Bucket Index": {"must": "index. hashes"},
        "Specification, Deletion Vectors": {
            "must": "vectors. version data-file range length magic checksum bitmap cardinality"
            " position bucket twice"
        },
    },
)
