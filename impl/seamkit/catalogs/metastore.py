"""A Hive metastore over Thrift: tables, their partitions, their statistics.

The classes of its protocol come with pyiceberg. A connection is made for each question, as servers
end those that are idle; what was answered is kept no longer than whoever asks allows.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from seambase.errors import (
    InputError,
    RefusedError,
    SeambenchError,
    UnavailableError,
    UsageError,
)
from seambase.extras import needs
from seambase.wording import counted

SCHEME = "hive://"
_SERVER = r"hive://([^/:@\s]+|\[[0-9a-fA-F:]+\]):(\d{1,5})"
_ADDRESS = re.compile(_SERVER + r"/([\w$-]+)\.([\w$-]+)")
_PARTITIONS_AT_ONCE = 300
_MOST_PARTITIONS = 1_000_000


@dataclass(frozen=True)
class TableName:
    """A table of a metastore: `hive://HOST:PORT/DATABASE.TABLE`."""

    host: str
    port: int
    database: str
    table: str

    @classmethod
    def parse(cls, address: str) -> TableName:
        """Read an address."""
        match = _ADDRESS.fullmatch(address)
        if match is None or not _is_port(match[2]):
            whole = re.fullmatch(_SERVER + "/?", address)
            hint = "; open_catalog opens a whole metastore" if whole else ""
            raise UsageError(f"{address}: {SCHEME}HOST:PORT/DATABASE.TABLE is meant{hint}")
        return cls(match[1].strip("[]"), int(match[2]), match[3].lower(), match[4].lower())

    def __str__(self) -> str:
        return f"{SCHEME}{self.host}:{self.port}/{self.database}.{self.table}"


def _is_port(digits: str) -> bool:
    return 0 < int(digits) < 1 << 16


@dataclass(frozen=True)
class MetastoreNames:
    """Databases and tables of a metastore, `hive://HOST:PORT`; each question is asked anew."""

    host: str
    port: int
    timeout_s: float = 30.0

    @classmethod
    def parse(cls, address: str) -> MetastoreNames:
        """Read an address."""
        match = re.fullmatch(_SERVER + "/?", address)
        if match is None or not _is_port(match[2]):
            hint = "; open_table opens a table of it" if _ADDRESS.fullmatch(address) else ""
            raise UsageError(f"{address}: {SCHEME}HOST:PORT is meant{hint}")
        return cls(match[1].strip("[]"), int(match[2]))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{SCHEME}{host}:{self.port}"

    def databases(self) -> list[str]:
        """Names of all databases."""
        with _client(self, self.timeout_s) as client:
            return sorted(client.get_all_databases())

    def tables(self, database: str) -> list[str]:
        """Names of the tables of a database, views among them."""
        with _client(self, self.timeout_s) as client:
            return sorted(client.get_all_tables(database))

    def locate(self, name: str) -> str:
        """What `open_table` takes for a table."""
        return f"{self}/{name}"


@dataclass(frozen=True)
class MetastoreTable:
    """What a metastore says of a table."""

    name: TableName  # its address
    kind: str  # `MANAGED_TABLE`, `EXTERNAL_TABLE`, `VIRTUAL_VIEW`, ...
    location: str  # its folder, as the metastore spells it; empty where it has none
    input_format: str  # class that cuts its files
    serde: str  # class that reads their rows
    columns: Mapping[str, str]  # types by name, in order, as Hive spells them
    partitions: Mapping[str, str]  # likewise of the columns that partition it
    parameters: Mapping[str, str]
    serde_parameters: Mapping[str, str]  # properties of its serde

    @property
    def properties(self) -> dict[str, str]:
        """Those of its serde, over which the table's own lie, as in Hive and Trino."""
        return {**self.serde_parameters, **self.parameters}


@dataclass(frozen=True)
class MetastorePartition:
    """A partition, which is stored in its own way."""

    values: Sequence[str]  # as texts, in the order of the partition columns
    location: str  # its folder, as the metastore spells it
    columns: Mapping[str, str]  # types by name, in order; a table's may have changed since
    input_format: str  # class that cuts its files
    serde: str  # class that reads their rows
    serde_parameters: Mapping[str, str]  # properties of its serde


@dataclass(frozen=True)
class _Kept:
    """An answer and when it came."""

    table: MetastoreTable
    partitions: Future[Sequence[MetastorePartition]]
    at: float


class Metastore:
    """Tables of metastores, kept for a while; an answer may take `timeout_s`."""

    def __init__(self, timeout_s: float = 30.0) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._kept: dict[TableName, _Kept] = {}

    def table(self, name: TableName, max_age_s: float) -> MetastoreTable:
        """A table.

        Its partitions are asked for in the background from now on. The answer may be `max_age_s`
        old; 0 asks anew.
        """
        return self._entry(name, max_age_s).table

    def partitions(self, name: TableName, max_age_s: float) -> Sequence[MetastorePartition]:
        """All partitions of a table; waits for them."""
        return self._entry(name, max_age_s).partitions.result()

    def statistics(self, table: MetastoreTable) -> Sequence[Any]:
        """What the metastore knows of the table's columns, of all in one question."""
        name, columns = table.name, list(table.columns)
        with _client(name, self._timeout_s) as client:
            from hive_metastore.ttypes import TableStatsRequest

            # Of Hive and Spark: from Hive 4 on others have their own, and some want to know whose.
            request = TableStatsRequest(name.database, name.table, columns, engine="hive")
            return list(client.get_table_statistics_req(request).tableStats or ())

    def _entry(self, name: TableName, max_age_s: float) -> _Kept:
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None and time.monotonic() - kept.at <= max_age_s:
                return kept
        table = self._ask_table(name)
        future: Future[Sequence[MetastorePartition]] = Future()
        new = _Kept(table, future, time.monotonic())
        with self._lock:
            self._kept[name] = new
        if table.partitions:
            work = threading.Thread(
                target=self._fill, args=(future, table), name="metastore", daemon=True
            )
            work.start()
        else:
            future.set_result([])
        return new

    def _ask_table(self, name: TableName) -> MetastoreTable:
        with _client(name, self._timeout_s) as client:
            entry = _entry_of(client, name)
            sd = entry.sd
            table = MetastoreTable(
                name,
                entry.tableType or "",
                (sd.location if sd else None) or "",
                (sd.inputFormat if sd else None) or "",
                (sd.serdeInfo.serializationLib if sd and sd.serdeInfo else None) or "",
                _columns(sd.cols if sd else None),
                _columns(entry.partitionKeys),
                dict(entry.parameters or {}),
                dict((sd.serdeInfo.parameters if sd and sd.serdeInfo else None) or {}),
            )
            if _has_avro_schema(table):
                table = replace(table, columns=_of_avro_schema(client, name))
            return table

    def _fill(self, future: Future[Sequence[MetastorePartition]], table: MetastoreTable) -> None:
        try:
            future.set_result(self._ask_partitions(table))
        except BaseException as error:  # whoever waits gets it
            future.set_exception(error)

    def _ask_partitions(self, table: MetastoreTable) -> Sequence[MetastorePartition]:
        """The names first, then the partitions, some hundreds at a time."""
        name = table.name
        found: list[MetastorePartition] = []
        known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        with _client(name, self._timeout_s) as client:
            names = client.get_partition_names(name.database, name.table, -1)
            if len(names) > _MOST_PARTITIONS:
                raise InputError(
                    f"{name}: {counted(len(names), 'partition')}, more than can be listed"
                )
            for begin in range(0, len(names), _PARTITIONS_AT_ONCE):
                some = names[begin : begin + _PARTITIONS_AT_ONCE]
                answer = client.get_partitions_by_names(name.database, name.table, some)
                for one in answer:
                    if one.sd is None or len(one.values or ()) != len(table.partitions):
                        raise InputError(f"{name}: a partition has no folder or too few values")
                    serde, columns = one.sd.serdeInfo, _columns(one.sd.cols)
                    found.append(
                        MetastorePartition(
                            tuple(one.values),
                            one.sd.location or "",
                            known.setdefault((*columns.items(),), columns),  # mostly one
                            one.sd.inputFormat or "",
                            (serde.serializationLib if serde else None) or "",
                            dict((serde.parameters if serde else None) or {}),
                        )
                    )
        return found


def _columns(stated: Sequence[Any] | None) -> dict[str, str]:
    return {one.name.lower(): one.type for one in stated or ()}


def _entry_of(client: Any, name: TableName) -> Any:
    """A table's entry, in the way of Hive from 2.3 on; Hive 4.0.1 knows no other any more."""
    from hive_metastore.ttypes import GetTableRequest
    from thrift.Thrift import TApplicationException

    try:
        request = GetTableRequest(dbName=name.database, tblName=name.table)
        return client.get_table_req(request).table
    except TApplicationException as error:
        if error.type != TApplicationException.UNKNOWN_METHOD:
            raise
    return client.get_table(name.database, name.table)


_AVRO_SERDE = "serde2.avro.AvroSerDe"


def _has_avro_schema(table: MetastoreTable) -> bool:
    """Whether a table's columns are those of an Avro schema, which its properties may change."""
    schemas = (table.properties.get(f"avro.schema.{word}", "none") for word in ("literal", "url"))
    return table.serde.endswith(_AVRO_SERDE) and any(one != "none" for one in schemas)


def _of_avro_schema(client: Any, name: TableName) -> Mapping[str, str]:
    """The columns that the metastore reads out of a table's schema, as Hive and Trino ask for them.

    What it noted down is how they were when the table was made.
    """
    from hive_metastore.ttypes import MetaException

    try:
        return _columns(client.get_fields(name.database, name.table))
    except MetaException as error:
        raise RefusedError(
            f"{name}: its columns are those of an Avro schema, which the metastore does not read "
            f"({error.message}); name the table by its folder"
        ) from error


@contextmanager
def _client(name: TableName | MetastoreNames, timeout_s: float) -> Iterator[Any]:
    """A connection for what is asked of. What the other side raises becomes an error of ours."""
    with needs("seamkit[metastore]", "a Hive metastore"):
        from hive_metastore.ThriftHiveMetastore import Client
        from hive_metastore.ttypes import MetaException, NoSuchObjectException
        from thrift import Thrift
        from thrift.protocol import TBinaryProtocol
        from thrift.transport import TSocket, TTransport
    socket = TSocket.TSocket(name.host, name.port)
    socket.setTimeout(int(timeout_s * 1000))
    transport = TTransport.TBufferedTransport(socket)
    try:
        transport.open()
        yield Client(TBinaryProtocol.TBinaryProtocol(transport))
    except SeambenchError:
        raise
    except NoSuchObjectException as error:
        raise InputError(f"{name}: the metastore has no such table ({error.message})") from error
    except (Thrift.TException, MetaException, OSError, EOFError) as error:
        text = " ".join(str(getattr(error, "message", None) or error).split())
        raise UnavailableError(
            f"{name}: the metastore does not answer ({text}); one that asks for Kerberos, "
            "passwords or TLS does not either: those are not supported, so name the table by "
            "its folder, or a port of the metastore that asks for none"
        ) from error
    finally:
        transport.close()
