"""Manifests in Avro and the lists that name them, cut and written otherwise, whatever they tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seambench.formats.forms.containers import AvroForm, read_avro, write_avro

Row = dict[str, Any]


@dataclass(frozen=True)
class Manifests:
    """Where a format has its manifests."""

    files: Callable[[Path], Sequence[Path]]  # those of a table
    lists: Callable[[Path], Sequence[Path]]  # the lists of a table
    place: Callable[[Path, Row], Path]  # where the manifest lies that a row of a list names
    size: str  # the field of such a row that is the manifest's size in bytes

    def each_list(
        self,
        table: Path,
        change: Callable[[list[Row]], list[Row]] = lambda rows: rows,
        form: AvroForm | None = None,
    ) -> None:
        """Change the manifests that each list names; their sizes are put right."""
        for file in self.lists(table):
            content = read_avro(file)
            rows = change(content.rows)
            for row in rows:
                if self.place(table, row).exists():
                    row[self.size] = self.place(table, row).stat().st_size
            write_avro(file, replace(content, rows=rows), form)

    def each_manifest(self, table: Path, form: AvroForm) -> int:
        """Write all manifests and lists in a form; how many manifests are other than before."""
        files = self.files(table)
        done = sum([write_avro(file, read_avro(file), form) for file in files])
        if done:
            self.each_list(table, form=form)
        return done

    def split(self, table: Path, rows_of: Callable[[Row, Sequence[Row]], Sequence[Row]]) -> int:
        """Write a manifest for each entry, in the same order; how many there are now.

        Given a manifest's row in a list and its entries, `rows_of` has a row for each entry.
        """
        made = 0

        def change(rows: list[Row]) -> list[Row]:
            nonlocal made
            found: list[Row] = []
            for row in rows:
                content = read_avro(self.place(table, row))
                if len(content.rows) < 2:
                    found.append(row)
                    continue
                ones = rows_of(row, content.rows)
                for one, entry in zip(ones, content.rows, strict=True):
                    write_avro(self.place(table, one), replace(content, rows=[entry]))
                found += ones
                made += len(ones)
            return found

        self.each_list(table, change)
        return made
