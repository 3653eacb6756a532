"""Databases of tables: what a metastore, a catalog of Iceberg or a folder knows by names."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from seambase.errors import InputError, SeambenchError, UsageError
from seambase.scan import TableWarning
from seambase.wording import did_you_mean
from seamkit.catalogs import iceberg, metastore
from seamkit.catalogs.folder import FolderNames
from seamkit.catalogs.iceberg import IcebergNames
from seamkit.catalogs.metastore import MetastoreNames
from seamkit.files.storage import Storage, table_address
from seamkit.scan.hints import Hinted
from seamkit.tables.opening import OpenOptions, open_table, require_folder, table_formats
from seamkit.tables.registering import register_later, register_now
from seamkit.tables.table import Table

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

_OPEN = "call open('DATABASE.TABLE')"
_INSTEAD = {
    "[]": _OPEN,
    "attach": "call register(connection)",
    "connect": "call register(connection)",
    "get_table": _OPEN,
    "list_databases": "call databases()",
    "list_namespaces": "call databases()",
    "list_tables": "call tables()",
    "load_table": _OPEN,
    "namespaces": "call databases()",
    "open_table": _OPEN,
    "read": "call open('DATABASE.TABLE').to_arrow()",
    "scan": "call open('DATABASE.TABLE').scan()",
    "schemas": "call databases()",
    "table": _OPEN,
    "views": "call register(connection)",
}


class Catalog(Hinted):
    """Databases of tables; `open_catalog` makes one. Names are asked for anew each time.

    Attributes:
        address: as it was given.
    """

    instead = _INSTEAD

    def __init__(
        self,
        address: str,
        names: FolderNames | IcebergNames | MetastoreNames,
        open_: Callable[..., Table] = open_table,
    ) -> None:
        self.address = address
        self._names = names
        self._open = open_

    def databases(self) -> list[str]:
        """Names of the databases, namespaces in Iceberg's words.

        Raises:
            InputError: a folder that cannot be listed.
            UnavailableError: whoever is asked does not answer.
        """
        return self._names.databases()

    def tables(self, database: str | None = None) -> list[str]:
        """Tables as `DATABASE.TABLE`, which is what `open` takes.

        Views of a metastore are among them, which `open` refuses. In a folder those are tables in
        whose folder a format is recognised, as `open_table` does.

        Args:
            database: name of the one that is meant; None for all.

        Raises:
            InputError: no such database, or a folder that cannot be listed.
            UnavailableError: whoever is asked does not answer.
        """
        if database is None:
            return [one for own in self.databases() for one in self._tables_of(own)]
        if not isinstance(database, str):
            raise UsageError(f"database is {database!r}: a name is meant")
        found = self._tables_of(database)
        if not found and database not in (known := self.databases()):
            hint = did_you_mean(database, known)
            raise InputError(f"{self.address}: there is no database {database!r}{hint}")
        return found

    def _tables_of(self, database: str) -> list[str]:
        return [f"{database}.{table}" for table in self._names.tables(database)]

    def open(self, name: str, **options: Unpack[OpenOptions]) -> Table:
        """Open a table by its name.

        Args:
            name: `DATABASE.TABLE`.
            **options: of `open_table`.

        Raises:
            InputError: no such table.
            SeambenchError: as `open_table` does.
        """
        if not isinstance(name, str) or not all(name.partition(".")):
            raise UsageError(
                f"{self.address}: {name!r} names no table: DATABASE.TABLE is meant, and tables() "
                "lists them"
            )
        return self._open(self._names.locate(name), **options)

    def register(
        self,
        engine: duckdb.DuckDBPyConnection | SparkSession,
        database: str | None = None,
        *,
        tables: Sequence[str] | None = None,
        strict: bool = False,
    ) -> list[str]:
        """Give tables names in DuckDB, as views, or in Spark, as temporary views.

        Views of one database are called `TABLE`; of a whole catalog `DATABASE.TABLE`, in DuckDB in
        a schema for each database, in Spark as one name in backticks. A view that exists is
        replaced.

        In DuckDB nothing but a table's columns is looked at now. Each query plans the tables that
        it names, as they are then, with its columns and filters, so that partitions and files that
        these leave out are not listed. All rows come through our readers; `register` of a single
        table lets DuckDB read files itself. Spark is told each table's files now.

        A table that cannot be opened is left out, with a `TableWarning` that says why.

        Args:
            engine: a connection of DuckDB or a session of Spark.
            database: the one that is meant; None for all.
            tables: `DATABASE.TABLE` of those that are meant; None for all.
            strict: let one that cannot be opened be the error.

        Returns:
            Names of the tables that have views, `DATABASE.TABLE`.

        Raises:
            UsageError: the engine is neither, or a name is no table of the database.
            SeambenchError: as `tables` does, and as `open` does where it is strict.
        """
        names = self.tables(database)
        if tables is not None:
            for name in tables:
                if name not in names:
                    hint = did_you_mean(name, names)
                    raise UsageError(f"{self.address}: {name!r} is no table there{hint}")
            names = [name for name in names if name in tables]
        is_duckdb = hasattr(engine, "from_arrow")
        if not is_duckdb and not hasattr(engine, "sparkContext"):
            raise UsageError(f"{engine!r} is neither a connection of DuckDB nor a session of Spark")
        give: Callable[..., None] = register_later if is_duckdb else register_now
        done = []
        for name in names:
            own, _, table = name.rpartition(".")
            try:
                give(engine, "" if database is not None else own, table, self.open(name))
            except SeambenchError as error:
                if strict:
                    raise
                said = f"{self.address}: {name} is left out: {error}"
                warnings.warn(said, TableWarning, stacklevel=2)
            else:
                done.append(name)
        return done

    def __repr__(self) -> str:
        return f"<Catalog {self.address}>"


def open_catalog(
    address: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> Catalog:
    """Open a catalog: whatever knows tables by their names.

    Args:
        address: `hive://HOST:PORT` for a Hive metastore, `iceberg://CATALOG` for a catalog that
            pyiceberg is configured for, or a folder, local or wherever fsspec reaches. In it lie
            folders of databases, `NAME.db` or `NAME`, and in these the folders of tables of any
            format; tables right in it are those of `default`. So Spark, Paimon and Iceberg's Hadoop
            catalog keep theirs.
        storage_options: arguments of the fsspec file system in which tables lie, as for
            `open_table`.

    Raises:
        UsageError: another kind of address, or that of a table.
        InputError: there is no such folder.
        UnavailableError: what asks for names, or reaches the storage, is not installed.
    """
    root = table_address(address)

    def opened(place: str, **options: Any) -> Table:
        return open_table(place, storage_options, **options)

    if root.startswith(metastore.SCHEME):
        return Catalog(root, MetastoreNames.parse(root), opened)
    if root.startswith("thrift://"):  # as Hive and Spark are configured
        raise UsageError(f"{root}: hive://HOST:PORT is meant")
    if root.startswith(iceberg.SCHEME):
        return Catalog(root, IcebergNames(root), opened)
    named = f"; of a catalog that has this name the address is {iceberg.SCHEME}{root}"
    require_folder(root, named if root.isidentifier() else "")
    storage = Storage(root, storage_options)
    entries = {entry.name: entry.size_bytes is None for entry in storage.list()}
    if _is_table(storage, entries):
        raise UsageError(f"{root} is a table, no folder of databases: call open_table")
    return Catalog(root, FolderNames(storage, _is_table), opened)


def _is_table(storage: Storage, entries: Mapping[str, bool]) -> bool:
    return any(one.is_in(storage, entries) for one in table_formats())
