"""Data files of a table in other forms, whichever of Parquet, ORC and Avro they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from seambench.contracts.tables import Form
from seambench.formats.forms.avro_data import AVRO_DATA_FORMS
from seambench.formats.forms.catalogue import PARQUET_FORMS
from seambench.formats.forms.containers import put_file
from seambench.formats.forms.orc import ORC_FORMS


class _DataForm(Protocol):
    """One way to write a data file."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    def rewritten(self, data: bytes) -> bytes | None:
        """A file in this form; None where it has no place in it."""


#: Forms of the files that begin so.
_FORMS: Mapping[bytes, Sequence[_DataForm]] = {
    b"PAR1": PARQUET_FORMS,
    b"ORC": ORC_FORMS,
    b"Obj\x01": AVRO_DATA_FORMS,
}


def rewritten_bytes(data: bytes, name: str) -> bytes | None:
    """A Parquet file in the form of a name; None where it has no place, as in what is no file."""
    [form] = [one for one in PARQUET_FORMS if one.name == name]
    return form.rewritten(data) if data[-4:] == b"PAR1" else None


def rewritten_as(file: Path, name: str) -> bool:
    """Bring one Parquet file into the form of a name; False where it has no place."""
    new = rewritten_bytes(file.read_bytes(), name)
    if new is not None:
        put_file(file, new)
    return new is not None


def data_forms(
    files: Callable[[Path], Iterable[Path]],
    mend: Callable[[Path, Mapping[str, int]], None] | None = None,
    kinds: Sequence[bytes] = tuple(_FORMS),
) -> list[Form]:
    """Forms of the data files of a table; those that begin with other bytes than `kinds` stay.

    `files` says which of the files below the folder are meant. `mend` puts right in metadata the
    sizes in bytes of files, by path below the folder.
    """

    def form(magic: bytes, one: _DataForm) -> Form:
        def change(table: Path) -> int:
            sizes = {}
            for file in files(table):
                data = file.read_bytes()
                new = one.rewritten(data) if data.startswith(magic) else None
                if new is not None:
                    put_file(file, new)
                    sizes[file.relative_to(table).as_posix()] = len(new)
            if sizes and mend is not None:
                mend(table, sizes)
            return len(sizes)

        return Form(one.name, one.title, change)

    return [form(magic, one) for magic in kinds for one in _FORMS[magic]]
