"""What adapters of foreign writers share: their tests as SQL, their errors as refusals."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.peers.catalogue import known_peer
from seambench.contracts.peers.environments import python_of
from seambench.contracts.table_writer import Test, WriterStep
from seambench.formats.hive.golden import DESCRIPTOR
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

    part = "-writer"
    package: ClassVar[str]
    extra: ClassVar[str | None] = "peers"
    format: ClassVar[str]
    more: ClassVar[Sequence[str]] = ()
    kind: Kind = "peer"

    def __init__(self) -> None:
        self.version = self.released()
        words = (f"formats.{self.format}", *(f"steps.{do}" for do in self.steps()), *self.more)
        self.capabilities: Mapping[str, bool] = dict.fromkeys(words, True)
        self.taken_up: Any = None

    def state(self, newest: Callable[[], Any]) -> Any:
        """The table's state that a step `open` took up, for one step; else the newest."""
        taken_up, self.taken_up = self.taken_up, None
        return newest() if taken_up is None else taken_up

    def released(self) -> str:
        """Its version."""
        return installed_version(self.package, self.name, self.extra)

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does, by name."""
        raise NotImplementedError

    def step(self, step: WriterStep) -> None:
        """See `seambench.contracts.table_writer.TableWriter`."""
        with refused(self.name):
            self.steps()[step.do](step)


class FileWriter(PeerWriter):
    """A library that writes Parquet files: a Hive table has one of no rows, and one of each append.

    Attributes:
        keywords: what the library calls those of parquet-mr's properties that it takes.
    """

    format = "hive"
    keywords: ClassVar[Mapping[str, str]]

    def write(self, rows: pa.Table, file: Path, given: Mapping[str, Any]) -> None:
        """Write a file; what is given are values by the library's keywords."""
        raise NotImplementedError

    def steps(self) -> Mapping[str, Callable[[WriterStep], None]]:
        """What it does."""
        return {"create": self._create, "append": self._append}

    def _create(self, step: WriterStep) -> None:
        columns = [{"name": one.name, "type": _hive_type(one.type)} for one in step.rows.schema]
        step.table.mkdir(parents=True)
        text = json.dumps({"format": "parquet", "columns": columns})
        (step.table / DESCRIPTOR).write_text(text, encoding="utf-8")
        self._append(step)

    def _append(self, step: WriterStep) -> None:
        if strange := set(step.properties) - set(self.keywords):
            raise RefusedError(f"{self.name} is not told {min(strange)}")
        given = {self.keywords[n]: _PROPERTIES[n](text) for n, text in step.properties.items()}
        file = step.table / f"part-{sum(1 for _ in step.table.glob('*.parquet'))}.parquet"
        try:
            self.write(step.rows, file, given)
        except BaseException:
            file.unlink(missing_ok=True)
            raise


#: Properties by which Hive tells parquet-mr how to write, and what their values are.
CODEC, DICTIONARY = "parquet.compression", "parquet.enable.dictionary"
GROUP_ROWS = "parquet.block.row.count.limit"
_PROPERTIES: Mapping[str, Callable[[str], Any]] = {
    CODEC: str,
    DICTIONARY: lambda text: text == "true",
    GROUP_ROWS: int,
}
_HIVE: Mapping[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
}


def _hive_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_map(kind):
        return f"map<{_hive_type(kind.key_type)},{_hive_type(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{_hive_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{one.name}:{_hive_type(one.type)}' for one in kind)}>"
    return _HIVE[kind]


class WriterElsewhere(Named, CommandWriter):
    """A writer whose packages do not go with ours, in the environment of a peer's newest version.

    Attributes:
        seam: of the peer in the catalogue.
        runs: `MODULE:CLASS` of the `PeerWriter` that the program there makes.
        does: the steps of that, since it cannot be made here.
    """

    name: str
    part = "-writer"
    seam: ClassVar[str] = "scan"
    format: ClassVar[str]
    runs: ClassVar[str]
    does: ClassVar[Sequence[str]]
    more: ClassVar[Sequence[str]] = ("keys", "partitions")

    def __init__(self, timeout: float = 600.0) -> None:
        """Note who it is; the environment is made when the first step comes."""
        self._peer = known_peer(self.seam, self.name)
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
