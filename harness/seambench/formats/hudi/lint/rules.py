"""The rules of Hudi: sections of its technical specification, classes where that is silent."""

from __future__ import annotations

from seambench.formats.lint import Rules

RULES = Rules(
    "hudi",
    "Hudi",
    {
        "Technical Specification, Table Properties": {
            "must": "properties. required version type layout checksum"
        },
        "Technical Specification, Storage Layout": {
            "must": "properties. missing",
            "should": "file. group",
        },
        "Technical Specification, Timeline": {
            "must": "timeline. name action completion states unreadable",
            "should": "timeline. requested",
        },
        "HoodieCommitMetadata": {
            "must": "commit. form path file-id partition instant missing file-size writes"
            " unreadable",
            "should": "commit. write-errors",
        },
        "Technical Specification, Data Files": {"should": "file. name instant"},
        "Technical Specification, Table Types": {"must": "file. log"},
        "HoodiePartitionMetadata": {"must": "partition. mark"},
        "Technical Specification, Meta Fields": {
            "must": "base. meta-columns meta-nulls partition-path file-name commit-time unreadable",
            "should": "base. keys-doubled unread",
        },
        "KeyGenUtils": {"must": "base. record-key partition-values"},
        "HoodieBloomFilterWriteSupport": {
            "must": "base. min-record-key max-record-key bloom-filter"
        },
        "Technical Specification, Log Format": {
            "must": "log. magic version length total kind instant schema command content"
            " partition-path"
        },
        "Technical Specification, Metadata": {
            "must": "metadata. missing unreadable partitions lost-files gone-files file-size"
            " column-counts column-bounds record-index bloom-filter"
        },
    },
)
