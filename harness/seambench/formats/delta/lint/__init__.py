"""What is wrong with a Delta table by its protocol: the log, its metadata, and its files.

Sources are sections of the Delta transaction log protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seambench.contracts.lint import Fault
from seambench.formats.delta.lint.features import metadata_faults
from seambench.formats.delta.lint.files import file_faults
from seambench.formats.delta.lint.log import Log


def lint(table: Path) -> Iterator[Fault]:
    """What is wrong with the newest version of a table."""
    log = Log(table)
    state = log.replay()
    yield from log.faults
    yield from metadata_faults(state, second_kind=log.has_second_kind)
    if state.metadata is not None:
        yield from file_faults(table, state)
