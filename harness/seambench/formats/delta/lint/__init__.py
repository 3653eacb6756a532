"""What is wrong with a Delta table by its protocol: the log, its metadata, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from seambench.contracts.formats import Fault
from seambench.formats.delta.lint.features import metadata_findings
from seambench.formats.delta.lint.files import RULES, file_faults
from seambench.formats.delta.lint.log import Log


def lint(table: Path) -> Iterator[Fault]:
    """What is wrong with the newest version of a table."""
    log = Log(table)
    yield from RULES.faults(log.replay, "form", "_delta_log")
    metadata = partial(metadata_findings, log.state, second_kind=log.has_second_kind)
    yield from RULES.faults(metadata, "form", "_delta_log, metaData")
    if log.state.metadata is not None:
        yield from file_faults(table, log.state)
