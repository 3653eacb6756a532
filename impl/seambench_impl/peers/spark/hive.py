"""Spark's Hive support over a folder: Hive's own input formats and serdes, by a table in a catalog.

The folder's descriptor becomes the statement that a user would write; the catalog is in memory and
ends with the process.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from seambase.errors import InputError, RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.scan import ScanRequest
from seambench.formats.hive import bundle
from seambench.formats.hive.golden import DESCRIPTOR
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.frames import SparkScan, open_frame

_WORDS = (
    *("formats.hive", "query.snapshot", "partitioned"),
    *("hive.text", "hive.csv", "hive.json", "hive.sequence"),
    *("hive.parquet", "hive.orc", "hive.avro", "hive.old-days"),
    "sql",
)
#: The serde of formats whose rows are lines of text, and how the files are stored.
_LINES: Mapping[str, tuple[str, str]] = {
    "text": ("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", "TEXTFILE"),
    "csv": ("org.apache.hadoop.hive.serde2.OpenCSVSerde", "TEXTFILE"),
    "json": ("org.apache.hive.hcatalog.data.JsonSerDe", "TEXTFILE"),
    "sequence": ("org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", "SEQUENCEFILE"),
}
_OTHERS = ("parquet", "orc", "avro")
_numbers = itertools.count(1)


class SparkHiveReader:
    """Spark 3.5 with the classes of Hive 2.3 that it brings, on `local[*]`."""

    name = "spark-hive"
    kind: Kind = "peer"
    capabilities: Mapping[str, bool] = dict.fromkeys(_WORDS, True)
    #: What conformance is known to find in it.
    xfails = XFAILS / "spark-hive.toml"

    def __init__(self) -> None:
        self.version = installed_version("pyspark", self.name, "spark")

    def open(self, request: ScanRequest) -> SparkScan:
        """Start Spark if need be, and make a table of the folder."""
        if request.query != "snapshot" or request.as_of is not None:
            raise RefusedError(f"{self.name} reads folders as they are, not {request.query}")
        if request.where is not None or request.strict:
            raise RefusedError(f"{self.name} takes neither a filter as text nor strict")
        name = f"seambench_{next(_numbers)}"
        statements = list(hive_statements(name, Path(request.table)))

        def load(session: Any) -> Any:
            for statement in statements:
                session.sql(statement)
            return session.table(name)

        return open_frame(self, request, bundle(), load)


def hive_statements(name: str, folder: Path) -> Iterator[str]:
    """The statements that make a table of a folder by its descriptor."""
    file = folder / DESCRIPTOR
    try:
        stated: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        kind, columns = stated["format"], _columns(stated["columns"])
        partitions = _columns(stated.get("partitions", []))
        properties = {str(key): str(value) for key, value in stated.get("properties", {}).items()}
        location = (folder / stated.get("location", "")).absolute()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file}: no table is described there ({error!r})") from error
    if kind not in _LINES and kind not in _OTHERS:
        raise RefusedError(f"{file}: format {kind!r} is not offered")
    pairs = ", ".join(f"{_text(key)}={_text(value)}" for key, value in properties.items())
    yield " ".join(
        (
            f"CREATE EXTERNAL TABLE {name} ({columns})",
            f"PARTITIONED BY ({partitions})" if partitions else "",
            *_stored(kind, pairs),
            f"LOCATION {_text(location.as_uri())}",
            f"TBLPROPERTIES ({pairs})" if pairs else "",
        )
    )
    if partitions:
        yield f"MSCK REPAIR TABLE {name}"


def _stored(kind: str, properties: str) -> Iterator[str]:
    if kind in _LINES:
        serde, stored = _LINES[kind]
        yield f"ROW FORMAT SERDE {_text(serde)}"
        if properties:
            yield f"WITH SERDEPROPERTIES ({properties})"
        yield f"STORED AS {stored}"
    else:
        yield f"STORED AS {kind.upper()}"


def _columns(stated: Iterable[Mapping[str, str]]) -> str:
    return ", ".join(f"`{one['name'].replace('`', '``')}` {one['type']}" for one in stated)


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
