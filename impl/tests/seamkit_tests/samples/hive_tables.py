"""Hive tables, unpacked from the suites' golden files, and tables of texts written here."""

import json
from collections.abc import Mapping
from pathlib import Path

from seamkit_tests import SUITES_GOLDEN
from seamkit_tests.samples.golden_tables import unpack

_GOLDEN = SUITES_GOLDEN / "hive"


def hive_table_names() -> list[str]:
    """The names that `unpack_hive` knows."""
    return sorted(path.parent.name for path in _GOLDEN.glob("*/table.zip"))


def unpack_hive(name: str, folder: Path) -> Path:
    """Unpack a table into a new folder; returns that folder."""
    return unpack(f"hive/{name}", folder / name)


def text_table(folder: Path, columns: Mapping[str, str], lines: str) -> Path:
    """A table of one text file whose fields end at a bar, in a new folder; returns that folder."""
    table = folder / "text"
    table.mkdir()
    named = [{"name": name, "type": type_} for name, type_ in columns.items()]
    told = {"format": "text", "columns": named, "properties": {"field.delim": "|"}}
    (table / "_hive_table.json").write_text(json.dumps(told), encoding="utf-8")
    (table / "0").write_text(lines, encoding="utf-8")
    return table
