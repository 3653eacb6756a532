"""The rules of Delta by name, each with its section in the transaction log protocol."""

from __future__ import annotations

from seambench.formats.lint import Rules

RULES = Rules(
    "delta",
    "Delta protocol",
    {
        "Delta Log Entries": {"must": "log. empty gap commit. json"},
        "Actions": {
            "must": "form commit. twice first action. field",
            "should": "commit. remove-absent unknown",
        },
        "Append-only Tables": {"must": "commit. append-only"},
        "In-Commit Timestamps": {"must": "commit. time"},
        "Checkpoints": {
            "must": "last-checkpoint checkpoint. parts sidecar unreadable files metadata protocol"
            " domains",
            "should": "last-checkpoint. counts",
        },
        "Log Compaction Files": {"must": "compaction. files metadata protocol domains"},
        "Version Checksum File": {"must": "checksum. json counts metadata protocol"},
        "Change Metadata": {"must": "state metadata. format id partitions"},
        "Schema Serialization Format": {"must": "schema schema. names"},
        "Table Features": {"must": "protocol. features undeclared"},
        "Column Mapping": {"must": "mapping. field ids max-id"},
        "Add File and Remove File": {
            "must": "commit. data-change partition. columns file. twice missing size"
        },
        "Data Files": {"must": "file. types nulls"},
        "Row Tracking": {"must": "row-ids. missing overlap high-water"},
        "Partition Value Serialization": {"must": "partition. value"},
        "Per-file Statistics": {
            "must": "stats. json num-records null-count min-values max-values",
            "should": "stats. columns",
        },
        "Deletion Vectors": {"must": "vector. broken cardinality position"},
    },
)
