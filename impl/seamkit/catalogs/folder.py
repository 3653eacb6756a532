"""A folder as a catalog: folders of databases, and in them the folders of tables.

So Spark, Paimon and Iceberg's Hadoop catalog lay out a warehouse: a database is `NAME.db` or
`NAME`, and tables that lie beside them, as Spark has it, are those of `default`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seambase.errors import InputError, UsageError
from seambase.wording import did_you_mean
from seamkit.files.storage import Storage

_ENDING = ".db"
_DEFAULT = "default"

IsTable = Callable[[Storage, Mapping[str, bool]], bool]
"""Says of a folder, by its entries and which are folders, whether it is a table of any format."""


class FolderNames:
    """Databases and tables of a folder; each question lists it anew.

    Names that begin with `_` or `.` are passed over, and so are folders of partitions.
    """

    def __init__(self, storage: Storage, is_table: IsTable) -> None:
        self._storage = storage
        self._is_table = is_table

    def databases(self) -> list[str]:
        """Folders that are called so, those that hold a table, and `default` if one lies beside."""
        names = set()
        for name in self._folders(""):
            if name.endswith(_ENDING):
                names.add(name.removesuffix(_ENDING))
            elif self._holds_table(name):
                names.add(_DEFAULT)
            elif any(self._holds_table(f"{name}/{one}") for one in self._folders(name)):
                names.add(name)
        return sorted(name for name in names if name and "." not in name)

    def tables(self, database: str) -> list[str]:
        """Names of the folders of a database in which a table of any format is."""
        found = {
            one
            for folder in self._folders_of(database)
            for one in self._folders(folder)
            if self._holds_table(_joined(folder, one))
        }
        return sorted(found)

    def locate(self, name: str) -> str:
        """The folder of a table, which `open_table` takes."""
        database, _, table = name.partition(".")
        parents = self._folders_of(database)
        places = [_joined(one, table) for one in parents if table in self._folders(one)]
        where = f"{self._storage.root}: {name!r}"
        if len(places) > 1:  # a folder of the name need not be a table
            places = [one for one in places if self._holds_table(one)] or places[:1]
        if len(places) > 1:
            raise UsageError(f"{where} is {' and '.join(places)}: open_table opens either")
        if not places:
            hint = did_you_mean(table, self.tables(database))
            raise InputError(f"{where} is no table of this folder{hint}")
        return self._storage.full(places[0])

    def _folders_of(self, database: str) -> list[str]:
        """Where tables of a database may lie: below the catalog's folder, an empty text that."""
        # A table's own folder is none of them, whatever it is called.
        there = self._folders("")
        named = [one for one in (f"{database}{_ENDING}", database) if one in there]
        found = [one for one in named if not self._holds_table(one)]
        return [*found, ""] if database == _DEFAULT else found

    def _folders(self, folder: str) -> list[str]:
        """Names of the folders in one that may be databases or tables."""
        return [
            one.name
            for one in self._storage.list(folder)
            if one.size_bytes is None and "=" not in one.name
            if not one.name.startswith(("_", "."))
        ]

    def _holds_table(self, folder: str) -> bool:
        below = self._storage.below(folder)
        return self._is_table(below, {e.name: e.size_bytes is None for e in below.list()})


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
