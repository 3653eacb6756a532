"""Spark's Hive support as a peer: a descriptor becomes the statement that a user writes."""

import json
from pathlib import Path

import pytest

from seambase.errors import InputError, RefusedError
from seambench.contracts.scan import ScanRequest
from seambench_impl.peers.spark.hive import SparkHiveReader, hive_statements


def _described(folder: Path, text: str) -> Path:
    (folder / "_hive_table.json").write_text(text, encoding="utf-8")
    return folder


def test_a_descriptor_becomes_a_table(tmp_path: Path) -> None:
    """Names and texts are quoted; partitions are looked for; properties are serde's and table's."""
    stated = {
        "format": "text",
        "columns": [{"name": "a`b", "type": "map<string,int>"}],
        "partitions": [{"name": "day", "type": "date"}],
        "properties": {"escape.delim": "\\", "field.delim": "'"},
        "location": "files",
    }
    create, repair = hive_statements("t", _described(tmp_path, json.dumps(stated)))
    properties = r"'escape.delim'='\\', 'field.delim'='\''"
    assert create == (
        "CREATE EXTERNAL TABLE t (`a``b` map<string,int>) PARTITIONED BY (`day` date)"
        " ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'"
        f" WITH SERDEPROPERTIES ({properties}) STORED AS TEXTFILE"
        f" LOCATION '{(tmp_path / 'files').as_uri()}' TBLPROPERTIES ({properties})"
    )
    assert repair == "MSCK REPAIR TABLE t"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no table is described"),
        ("[]", "no table is described"),
        ('{"format": "orc", "columns": [{"name": "k"}]}', "no table is described"),
        ('{"format": "orc", "columns": {"k": "int"}}', "no table is described"),
        ('{"format": "rcfile", "columns": []}', "format 'rcfile' is not offered"),
    ],
)
def test_broken_descriptors_are_told_by_name(text: str, says: str, tmp_path: Path) -> None:
    """What describes no table ends before Spark is started."""
    request = ScanRequest(str(_described(tmp_path, text)))
    with pytest.raises((InputError, RefusedError), match=says):
        SparkHiveReader().open(request)


def test_what_hive_has_no_word_for_is_refused(tmp_path: Path) -> None:
    """Folders have no snapshots, and no windows."""
    for request in (
        ScanRequest(str(tmp_path), as_of="1"),
        ScanRequest(str(tmp_path), query="incremental"),
        ScanRequest(str(tmp_path), where="k > 1"),
    ):
        with pytest.raises(RefusedError, match="spark-hive"):
            SparkHiveReader().open(request)
