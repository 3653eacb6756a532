"""What adapters of foreign writers share: their tests as SQL, their errors as refusals."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import known_peer
from seambench.contracts.peers.environments import python_of
from seambench.contracts.table_writer import Test, WriterStep
from seambench.seams.table_writer.doors import CommandWriter
from seambench_impl.peers import Named
from seambench_impl.peers.peer_scan import foreign_errors, installed_version


class PeerWriter(Named):
    """A foreign writer of tables of one format.

    Attributes:
        package: that it is, whose version it has.
        format: what it writes.
        more: further words that it states.
    """

    package: ClassVar[str]
    extra: ClassVar[str | None] = "peers"
    format: ClassVar[str]
    more: ClassVar[Sequence[str]] = ()
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = installed_version(self.package, self.name, self.extra)
        words = (f"formats.{self.format}", *(f"steps.{do}" for do in self.steps()), *self.more)
        self.capabilities: Mapping[str, bool] = dict.fromkeys(words, True)

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does, by name."""
        raise NotImplementedError

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        with refused(self.name):
            self.steps()[step.do](step)


class WriterElsewhere(Named, CommandWriter):
    """A writer whose packages do not go with ours, in the environment of a peer's newest version.

    Attributes:
        runs: `MODULE:CLASS` of the `PeerWriter` that the program there makes.
        does: the steps of that, since it cannot be made here.
    """

    name: str
    format: ClassVar[str]
    runs: ClassVar[str]
    does: ClassVar[Sequence[str]]
    more: ClassVar[Sequence[str]] = ("keys", "partitions")

    def __init__(self, timeout: float = 600.0) -> None:
        """Note who it is; the environment is made when the first step comes."""
        self._peer = known_peer("scan", self.name)
        self.version, self.timeout, self._running = self._peer.versions[-1], timeout, None
        words = (f"formats.{self.format}", *(f"steps.{do}" for do in self.does), *self.more)
        self.capabilities = dict.fromkeys(words, True)

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        if self._running is None:
            python = str(python_of(self._peer, self.version))
            self.arguments = [python, "-m", "seambench.seams.table_writer.program", self.runs]
        super().step(step)


def refused(name: str) -> contextlib.AbstractContextManager[None]:
    """What a library raises, as a refusal: its first line. The judge looks whether nothing came."""
    return foreign_errors(
        lambda error, line: RefusedError(f"{name}: {type(error).__name__}: {line}")
    )


def in_sql(where: Sequence[Test], quote: str = '"') -> str:
    """Tests as a condition in SQL."""
    return " AND ".join(_test(*test, quote) for test in where) or "TRUE"


def _test(column: str, how: str, value: Any, quote: str) -> str:
    name = quoted_name(column, quote)
    if how == "null":
        return f"{name} IS NULL"
    if how == "in":
        return f"{name} IN ({', '.join(map(literal, value))})"
    return f"{name} {how} {literal(value)}"


def quoted_name(name: str, quote: str = '"') -> str:
    """A name in SQL."""
    return quote + name.replace(quote, quote * 2) + quote


def literal(value: Any) -> str:
    """A value in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex()}'"
        case dt.datetime():
            return f"TIMESTAMP '{value.astimezone(dt.UTC).isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            digits, scale = value.as_tuple().digits, -int(value.as_tuple().exponent)
            return f"CAST('{value}' AS DECIMAL({max(len(digits), scale + 1)},{scale}))"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case _:
            return str(value)
