"""A writer to begin with: a folder where a table is to be. See docs/writers.md of Seambench."""

from __future__ import annotations

from collections.abc import Mapping

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.table_writer import WriterStep


class Writer:
    """Implements `seambench.contracts.table_writer.TableWriter`."""

    name = "NAME"
    version = "0.1"
    kind: Kind = "peer"
    #: Scripts with other steps are not asked; `seambench list capabilities` has all words.
    capabilities: Mapping[str, bool] = dict.fromkeys(
        ("formats.FORMAT", "steps.create", "steps.append", "steps.upsert", "keys"), True
    )

    def step(self, step: WriterStep) -> None:
        """Do one step, and return when it is committed.

        Raises:
            RefusedError: it does not do this, and has left the table as it was. What is refused is
                never counted as a wrong answer.
        """
        if step.do == "create":
            # No table so far: one with the columns of `step.rows`, without rows, is to lie there.
            step.table.mkdir()
        else:
            raise RefusedError(f"NAME does no {step.do} yet")
