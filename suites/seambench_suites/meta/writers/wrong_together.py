"""Writers that are right alone, and wrong beside another one or when they die: a class a mistake.

Each runs as a program, so that it is made without arguments.
"""

import os
import signal
from typing import NoReturn

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.registry import resolve
from seambench.contracts.table_writer import WriterStep


class Wrong:
    """A right writer of Delta tables, that notes which version it took up."""

    kind: Kind = "peer"

    def __init__(self) -> None:
        self._right = resolve("table-writer", "deltalake")
        self.name, self.version = type(self).__name__, self._right.version
        self.capabilities = self._right.capabilities
        self.taken_up = 0

    def step(self, step: WriterStep) -> None:
        """Take a table up, or do a step."""
        if step.do == "open":
            self.taken_up = _newest(step)
        self.do(step)

    def do(self, step: WriterStep) -> None:
        """Do it right."""
        self._right.step(step)

    def alone(self, step: WriterStep) -> bool:
        """Whether nobody has committed since the table was taken up."""
        return step.do in ("create", "open") or _newest(step) == self.taken_up


def _newest(step: WriterStep) -> int:
    return int(DeltaTable(str(step.table)).version())


def _die() -> NoReturn:
    os.killpg(0, signal.SIGKILL)
    raise AssertionError


class LastWins(Wrong):
    """Puts its commit in place of those that it does not know."""

    def do(self, step: WriterStep) -> None:
        """Take the others' commits away, and commit."""
        if not self.alone(step):
            for version in range(self.taken_up + 1, _newest(step) + 1):
                (step.table / f"_delta_log/{version:020}.json").unlink()
        super().do(step)


class LosesSteps(Wrong):
    """Says that it has done what it gave up as another was faster."""

    def do(self, step: WriterStep) -> None:
        """Commit, if nobody else has."""
        if self.alone(step):
            super().do(step)


class DeletesByStaleState(Wrong):
    """Writes anew what its own state leaves after a delete, whatever there is by now."""

    def do(self, step: WriterStep) -> None:
        """Overwrite by the rows of the version that was taken up."""
        if step.do != "delete":
            super().do(step)
            return
        rows = pa.table(DeltaTable(str(step.table), version=self.taken_up).to_pyarrow_table())
        [(column, _, value)] = step.where
        kept = [row for row in rows.to_pylist() if row[column] != value]
        write_deltalake(str(step.table), pa.Table.from_pylist(kept, rows.schema), mode="overwrite")


class CommitsTwice(Wrong):
    """Tries again what was committed, since it takes the other's commit for a conflict."""

    def do(self, step: WriterStep) -> None:
        """Commit, and once more if another was there before."""
        alone = self.alone(step)
        super().do(step)
        if not alone:
            super().do(step)


class RefusesTooLate(Wrong):
    """Commits, and then finds the conflict."""

    def do(self, step: WriterStep) -> None:
        """Commit, and refuse if another was there before."""
        alone = self.alone(step)
        super().do(step)
        if not alone:
            raise RefusedError("somebody else has committed")


class LogBeforeData(Wrong):
    """Commits a file that it has not written yet, and dies."""

    def do(self, step: WriterStep) -> None:
        """Take the data file back of a commit that is not the first."""
        super().do(step)
        if step.do == "append" and _newest(step) > 1:
            [added] = DeltaTable(str(step.table)).get_add_actions().column("path").to_pylist()[:1]
            (step.table / added).unlink()
            _die()


class HalfAnOverwrite(Wrong):
    """Deletes all rows, and dies before it commits the new ones."""

    def do(self, step: WriterStep) -> None:
        """Overwrite in two commits."""
        if step.do != "overwrite":
            super().do(step)
            return
        DeltaTable(str(step.table)).delete()
        if _newest(step) > 3:
            _die()
        write_deltalake(str(step.table), step.rows, mode="append")


class LeavesALock(Wrong):
    """Dies with a lock in its hand, by which nobody comes in any more."""

    def do(self, step: WriterStep) -> None:
        """Refuse while there is a lock; die with it at the second append."""
        lock = step.table / "_lock"
        if step.do not in ("create", "open"):
            if lock.exists():
                raise RefusedError("somebody else is writing")
            if _newest(step) > 0:
                lock.touch()
                _die()
        super().do(step)
