"""A table that a Hive metastore names: of which format it is, and what both say differently."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Unpack

import pyarrow as pa

from seambase.description import TableDescription
from seambase.errors import InputError, RefusedError, UsageError
from seambase.scan import Query
from seambase.statistics import ColumnStatistics, Figure, TableStatistics
from seamkit.catalogs.metastore import Metastore, MetastorePartition, MetastoreTable, TableName
from seamkit.scan.scan import Scan
from seamkit.tables.partition_folder import PartitionFolder
from seamkit.tables.table import ScanKeywords, Table, TableState

_METASTORE = Metastore()
_PROVIDER = "spark.sql.sources.provider"
_KEEPER, _CATALOG = "spark.sql.partitionProvider", "catalog"
_PROJECTED = "projection.enabled"  # of Athena and Trino
#: How places end that are none: a metastore wants one of each table, and Spark keeps those of its
#: sources that Hive does not know, Delta's among them, in a property of the serde.
_NOWHERE = "-__PLACEHOLDER__"
#: What Spark's tables have for an input format where Hive has none for their files, or no words for
#: their columns; Spark has no source of such files itself.
_OF_NO_SPARK = "SequenceFileInputFormat"
_DIFFERENCES, _ROW_FORMAT = "seamkit.tables.hive.listing", "seamkit.tables.hive.row_format"


class CatalogTable(Table):
    """A table by its name in a Hive metastore.

    Hudi's tables are known by their input formats: of a merge-on-read table `_rt` is the snapshot
    and `_ro` the read-optimised view, unless a scan asks for another query. Iceberg's, Delta's and
    Paimon's are known by the properties of the table, all others are Hive's own by serde and input
    format. Where the metastore and a table's own metadata differ, the table's own counts, and
    `differences` tells.

    Attributes:
        entry: what the metastore says.
        location: the table's folder, or the metadata file of one of Iceberg's.
        own: the table, as its format's class opened it.
        query: what a scan reads where it does not say.

    Args:
        address: `hive://HOST:PORT/DATABASE.TABLE`.
        storage_options: arguments of the fsspec file system in which its folder lies.
        opened: opens the table of a format in a folder: `open_table`.
        max_age_s: how old an answer of the metastore may be.
        **options: of the format's own class.
    """

    def __init__(
        self,
        address: str,
        storage_options: Mapping[str, Any] | None = None,
        *,
        opened: Callable[..., Table],
        max_age_s: float = 60.0,
        **options: Any,
    ) -> None:
        if isinstance(max_age_s, bool) or not isinstance(max_age_s, int | float) or max_age_s < 0:
            raise UsageError(f"max_age_s is {max_age_s!r}: seconds from 0 on are meant")
        self.entry = _METASTORE.table(TableName.parse(address), max_age_s)
        self._max_age_s = max_age_s
        self.format = format_of(self.entry)
        is_view = self.format == "hudi" and not _is_realtime(self.entry)
        self.query: Query = "read-optimized" if is_view else "snapshot"
        self.location = self._located()
        if self.format == "hive":
            options = {**self._hive_options(), **options}
        self.own = opened(self.location, storage_options, format=self.format, **options)

    def _located(self) -> str:
        """Where the table lies, by its own metadata where the metastore names that."""
        entry = self.entry
        is_file = self.format == "iceberg"
        stated = entry.parameters.get("metadata_location", "") if is_file else entry.location
        if stated.endswith(_NOWHERE):
            stated = entry.serde_parameters.get("path", "")
        if not stated:
            raise InputError(f"{entry.name}: the metastore tells no folder or file of the table")
        return local_path(stated)

    def _hive_options(self) -> dict[str, Any]:
        entry = self.entry
        if entry.partitions and entry.parameters.get(_PROJECTED, "").lower() == "true":
            raise RefusedError(
                f"{entry.name}: its partitions are computed ({_PROJECTED}), and the metastore need "
                "not know them; this is not supported"
            )
        # Of Spark's tables the metastore knows the partitions where it says so; others lie in
        # folders by their names.
        keeper = entry.parameters.get(_KEEPER, "" if _PROVIDER in entry.parameters else _CATALOG)
        is_named = bool(entry.partitions) and keeper == _CATALOG
        return {
            "columns": entry.columns,
            "partitions": entry.partitions,
            "file_format": _file_format(entry, str(entry.name)),
            "properties": entry.properties,
            "folders": self._folders if is_named else None,
        }

    def _folders(self) -> list[PartitionFolder]:
        """The partitions, those that are stored in another way than the table with how."""
        entry = self.entry
        own = _file_format(entry, str(entry.name)), entry.properties
        columns, found = [*entry.columns.items()], []
        for one in _METASTORE.partitions(entry.name, self._max_age_s):
            # Hive lays those of a partition's serde over the table's.
            stored = _file_format(one, one.location), {**own[1], **one.serde_parameters}
            known: dict[str, Any] = {}
            if stored != own:
                known = {"file_format": stored[0], "properties": stored[1]}
            # `ALTER TABLE` leaves those of partitions as they are, unless it cascades.
            if one.columns and [*one.columns.items()] != columns:
                known["columns"] = one.columns
            found.append(PartitionFolder(tuple(one.values), local_path(one.location), **known))
        return found

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns."""
        return self.own.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns that the table's own rows have where none are named."""
        return self.own.columns

    @cached_property
    def differences(self) -> list[str]:
        """Where columns of the metastore are not those of the table itself, in sentences."""
        stated = {**self.entry.columns, **self.entry.partitions}
        module: Any = importlib.import_module(_DIFFERENCES)
        return list(module.differences(stated, self.schema))

    @property
    def about_rows(self) -> int | None:
        """The metastore's `numRows`; None where nobody counted."""
        return _number(self.entry.parameters.get("numRows")) or None

    def statistics(self) -> TableStatistics:
        """What the metastore tells of the table: estimates, of the time when they were gathered."""
        parameters = self.entry.parameters
        rows, size = (_number(parameters.get(name)) for name in ("numRows", "totalSize"))
        types = {field.name.lower(): field for field in self.schema}
        columns = {field.name: ColumnStatistics() for field in self.schema}
        for one in _METASTORE.statistics(self.entry):
            field = types.get(one.colName.lower())
            if field is not None:
                columns[field.name] = _column(one, field.type)
        return TableStatistics(_guess(rows), _guess(size), columns)

    def describe(self) -> TableDescription:
        """What the table itself says."""
        return self.own.describe()

    def scan(self, columns: Sequence[str] | None = None, **keywords: Unpack[ScanKeywords]) -> Scan:
        """Plans a read; see the format's own `scan`."""
        if self.query != "snapshot":
            keywords.setdefault("query", self.query)
        return self.own.scan(columns, **keywords)

    def _states(self) -> Iterator[TableState]:
        return self.own._states()

    def _facts(self) -> str:
        return f"{self.entry.name}, {self.format}"


def format_of(entry: MetastoreTable) -> str:
    """The format of a metastore's table."""
    if "VIEW" in entry.kind:
        raise RefusedError(f"{entry.name}: a view, which has no files to read")
    parameters = {name.lower(): value.lower() for name, value in entry.parameters.items()}
    provider = parameters.get(_PROVIDER, "")
    # Delta's UniForm calls its tables Iceberg's, too, and writes metadata of these some time later.
    if parameters.get("table_type") == "iceberg" and provider != "delta":
        return "iceberg"
    if "Hoodie" in entry.input_format or provider == "hudi":
        return "hudi"
    if provider == "delta" or parameters.get("table_type") == "delta":
        return "delta"
    handler = parameters.get("storage_handler", "")
    if "paimon" in handler or provider == "paimon" or parameters.get("table_type") == "paimon":
        return "paimon"
    if provider and entry.input_format.endswith(_OF_NO_SPARK):
        raise RefusedError(
            f"{entry.name}: a table of Spark's in {provider!r}, of which the metastore has no "
            "columns and no serde in Hive's words; this is not supported"
        )
    return "hive"


def _file_format(stored: MetastoreTable | MetastorePartition, where: str) -> str:
    """What a Hive table's or partition's files are, as `HiveTable` takes it."""
    module: Any = importlib.import_module(_ROW_FORMAT)
    return str(module.read_through(stored.input_format, stored.serde, where))


def _is_realtime(entry: MetastoreTable) -> bool:
    """Whether an input format of Hudi merges logs; without one its serde's property tells."""
    if "Hoodie" in entry.input_format:
        return "Realtime" in entry.input_format
    return entry.serde_parameters.get("hoodie.query.as.ro.table", "").lower() != "true"


def local_path(location: str) -> str:
    """A location as Hive spells it, `file:/a` and `file:///a`, as a path.

    It is a path of Hadoop's: a percent sign stands for itself.
    """
    if not location.startswith("file:"):
        return location
    return "/" + location.removeprefix("file:").lstrip("/")


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None


def _column(stated: Any, kind: pa.DataType) -> ColumnStatistics:
    """Statistics of one column, whichever kind they are of."""
    kinds = ("booleanStats", "longStats", "doubleStats", "stringStats", "binaryStats", "dateStats")
    data = next((one for kind in kinds if (one := getattr(stated.statsData, kind, None))), None)
    ends = [_value(getattr(data, name, None), kind) for name in ("lowValue", "highValue")]
    counts = [_guess(getattr(data, name, None)) for name in ("numNulls", "numDVs")]
    return ColumnStatistics(
        counts[0],
        None if ends[0] is None else Figure(ends[0], "estimate"),
        None if ends[1] is None else Figure(ends[1], "estimate"),
        counts[1],
    )


def _guess(value: int | None) -> Figure[int] | None:
    return None if value is None else Figure(value, "estimate")


def _value(end: Any, kind: pa.DataType) -> pa.Scalar | None:
    """An end of a range in a column's own type; None where it is none of it."""
    number = getattr(end, "daysSinceEpoch", end)
    if number is None:
        return None
    try:
        return pa.scalar(number).cast(pa.int32() if pa.types.is_date32(kind) else kind).cast(kind)
    except pa.ArrowException:
        return None
