"""What is wrong with an Iceberg table by its specification, versions 1 to 3, whoever reads it.

Nothing here is shared with readers: JSON and Avro are read as they are, Parquet and ORC by Arrow,
and `rules.toml` says of each rule in which section of the specification it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from seambench.contracts.formats import Fault
from seambench.formats.iceberg.lint.files import RULES, file_faults
from seambench.formats.iceberg.lint.manifests import Tree
from seambench.formats.iceberg.lint.metadata import metadata_findings, refused
from seambench.formats.iceberg.lint.statistics import statistics_findings
from seambench.formats.iceberg.lint.table import Table, newest_metadata, read_metadata
from seambench.formats.lint import DAMAGE, Finding, guarded, reason

_UNREAD = "metadata.readable"


def lint(folder: Path) -> Iterator[Fault]:
    """What is wrong with the newest state of a table: all that its valid snapshots reach."""
    try:
        file = newest_metadata(folder)
        said = read_metadata(file)
    except DAMAGE as error:
        says = f"the newest metadata cannot be read: {reason(error)}"
        yield RULES.fault((_UNREAD, "metadata", says))
        return
    table = Table(folder, file, said if isinstance(said, dict) else {})
    for rules in (refused, metadata_findings):
        wrong = list(guarded(partial(rules, table), _UNREAD, "metadata"))
        yield from (RULES.fault((rule, table.place(file, at), says)) for rule, at, says in wrong)
        if any(rules is refused or rule == _UNREAD for rule, *_ in wrong):
            return
    tree = Tree(table)
    findings: tuple[Callable[[], Iterator[Finding]], ...] = (
        tree.findings,
        partial(statistics_findings, table),
    )
    for each in findings:
        yield from RULES.faults(each, _UNREAD, table.place(file))
    yield from file_faults(tree)
