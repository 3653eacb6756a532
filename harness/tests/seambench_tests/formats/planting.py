"""Golden tables in which one thing is wrong: what tests of linters share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from seambench.contracts.formats import TableFormat
from seambench.contracts.tables import Form
from seambench.formats.forms.containers import put_file
from seambench.formats.golden import golden_table
from seambench.formats.lint import Rules

SUITES = Path(__file__).resolve().parents[4] / "suites" / "seambench_suites"
Plant = Callable[[Path], object]


@dataclass(frozen=True)
class Planted:
    """What is known of a format's linter.

    Attributes:
        faults: rules without the format's name, tables, and plants after which they are broken.
        known: rules that golden tables break, by fault of their writers.
        elsewhere: rules that other tests break, or that no table here can.
        levels: of the rules of its own that golden tables must keep.
        tables: those that are brought into each form.
        earlier: takes the newest state of a table away; whether there was one before.
    """

    name: str
    rules: Rules
    faults: Sequence[tuple[str, str, Plant]]
    known: Mapping[str, Sequence[str]]
    elsewhere: Sequence[str] = ()
    levels: Sequence[str] = ("must",)
    tables: Sequence[str] = ()
    earlier: Callable[[Path], bool] = lambda _: False

    def full(self, rule: str) -> str:
        """A rule's whole name."""
        return rule if rule.startswith("parquet.") else f"{self.name}.{rule}"


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each member of objects and lists at any depth, as what holds it and its key."""
    if not isinstance(value, dict | list):
        return
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        yield from places(one)


def unpacked(format_: TableFormat, name: str, target: Path) -> Path:
    """A golden table in a folder."""
    golden_table(format_, SUITES / "golden" / format_.name / name).unpack(target)
    return target


def changed_bytes(pattern: str, change: Callable[[bytes], bytes]) -> Plant:
    """Change the bytes of files."""

    def plant(table: Path) -> None:
        for file in [*table.glob(pattern)]:
            put_file(file, change(file.read_bytes()))

    return plant


def put(at: int, new: bytes) -> Callable[[bytes], bytes]:
    """Put bytes into the place of others."""
    return lambda data: data[:at] + new + data[at + len(new) :]


def without(pattern: str) -> Plant:
    """Take files away."""

    def plant(table: Path) -> None:
        for file in [*table.glob(pattern)]:
            file.unlink()

    return plant


@cache
def _own_faults(format_: TableFormat, name: str) -> set[str]:
    """The rules that a golden table breaks as it is."""
    with TemporaryDirectory() as folder:
        return {fault.rule for fault in format_.faults(unpacked(format_, name, Path(folder)))}


def new_faults(format_: TableFormat, name: str, plant: Plant, folder: Path) -> set[str]:
    """The rules that a golden table breaks once something is planted, and did not before."""
    table = unpacked(format_, name, folder)
    plant(table)
    return {fault.rule for fault in format_.faults(table)} - _own_faults(format_, name)


def faults_by_form(
    format_: TableFormat, form: Form, tables: Sequence[str], folder: Path
) -> list[str]:
    """The rules that a table must keep, and breaks once it is brought into a form.

    It is the first of them that the form changes; for each form another one comes first.
    """
    begin = crc32(form.name.encode()) % len(tables)
    for number, name in enumerate((*tables[begin:], *tables[:begin])):
        table = unpacked(format_, name, folder / str(number))
        if form.change(table):
            return [one.rule for one in format_.faults(table) if one.level == "must"]
    return []
