"""What every table format says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamkit.files.storage import Storage


def _none(_address: str) -> bool:
    return False


@dataclass(frozen=True)
class TableFormat:
    """How tables of a format are known, and who opens them.

    Attributes:
        name: as in capabilities, `formats.NAME`.
        title: its name in sentences.
        table: the class of its tables, `package.module:Class`; imported when a table is opened. It
            is called with an address, `storage_options`, and options of its own by name.
        words: the functions that its plans call, and the classes that these do not name but that
            stand where a protocol is asked for, `module:NAME` below the package of `table`; see
            `seamkit.ranges.words`.
        mark: the folder of metadata in a table's folder by which it is known.
        is_file: whether it is a file instead.
        holds: part of a file's name that this folder must hold, where its own name tells too
            little; empty if it need not.
        meta_columns: those that every table has besides the user's; read only when named.
        facts: of an opened table, further lines of an explanation: names and texts.
        explain_table: tells what a table says, `package.module:function`; empty where the lines
            that all formats share are enough.
        explain_log: tells what one of its logs says; empty where there are no logs.
        log_magic: what these logs begin with.
        is_address: whether an address that is no folder means a table of this format.
    """

    name: str
    title: str
    table: str
    words: Sequence[str]
    mark: str
    is_file: bool = False
    holds: str = ""
    meta_columns: Sequence[str] = ()
    facts: Callable[[Any], Iterator[tuple[str, str]]] = lambda _: iter(())
    explain_table: str = ""
    explain_log: str = ""
    log_magic: bytes = b""
    is_address: Callable[[str], bool] = _none

    @property
    def class_name(self) -> str:
        """The class of its tables, as `seamkit` exports it."""
        return self.table.rpartition(":")[2]

    def is_in(self, storage: Storage, entries: Mapping[str, bool]) -> bool:
        """Whether a folder is a table of this format.

        Args:
            storage: the folder.
            entries: what is in it by name, and whether that is a folder.

        Raises:
            InputError: the folder of metadata cannot be listed.
        """
        if entries.get(self.mark) is not (not self.is_file):
            return False
        return not self.holds or any(self.holds in e.name for e in storage.list(self.mark))
