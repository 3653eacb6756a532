"""Let Paimon write its own tables, those of data sets and golden ones.

A table lies where its caller says: a catalog that Spark is given for it has a warehouse of its own,
in which a link leads there.

Layouts of Paimon data sets: `paimon-<changes>-<ordering>-u<ratio>-s<share>`.

Changes stay in sorted runs that a reader merges (`runs`), or the rows that they replace are marked
in deletion vectors (`dv`), or a full compaction merges them in at once (`compacted`).

Into which bucket of a Paimon table a key falls.

A table of n buckets puts a row into `abs(h % n)`, where the remainder has the sign of h (Java's).
h is the 32-bit Murmur3, seed 42, over the words of the key's binary row: eight bytes of header and
nulls, then eight for each number (MurmurHashUtils.hashBytesByWords in paimon-common).

Golden tables that Paimon's Java core writes: what its connector for Spark is too old for.

The core has no SQL. A step is a table with one of the keys `create` (columns and their types, with
`keys`, `partition` and `options` beside it), `set` (options), `evolve` (`rename`, `add`, `drop` or
`type`, the column, and what it is then), `write` (rows: kind, then values; the text `null` is null;
with `overwrite` in place of all others), `compact`, `tag` (a name) and `branch` (a name, `from` a
tag). `on` beside it names the branch that is written to or read. The step `read` changes nothing:
its witness is what the core reads with these options of a scan, each row behind its kind.
`PaimonCore.java` carries steps out, compiled when it is used.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from seambase.errors import SeambenchError, UsageError
from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.changed import ChangedLayout, ChangedLayouts, merge_by_key
from seambench.formats.murmur import finish, halves, mix
from seambench.formats.rows import witness
from seambench.formats.steps import carry_out, moment, settings

__all__ = ["check", "groups", "write", "write_table", "writer_version"]

TABLE = "golden"


@contextmanager
def catalog_of(session: Any, table: Path) -> Iterator[None]:
    """A catalog in use whose one table lies in a folder."""
    table.mkdir(parents=True, exist_ok=True)
    before = session.catalog.currentCatalog()
    with tempfile.TemporaryDirectory() as warehouse:
        database = Path(warehouse, "default.db")
        database.mkdir()
        (database / TABLE).symlink_to(table.absolute(), target_is_directory=True)
        name = f"paimon_{Path(warehouse).name.replace('-', '_')}"
        session.conf.set(f"spark.sql.catalog.{name}", "org.apache.paimon.spark.SparkCatalog")
        session.conf.set(f"spark.sql.catalog.{name}.warehouse", warehouse)
        session.sql(f"USE `{name}`.default")
        try:
            yield
        finally:
            session.catalog.setCurrentCatalog(before)


def write(step: Step, frame: Any, design: Design, path: Path) -> None:
    """One commit, and for layouts without runs its compaction; a new table is compacted once."""
    layout = design.layout
    assert isinstance(layout, PaimonLayout)
    session = frame.sparkSession
    frame.createOrReplaceTempView("changes")
    with catalog_of(session, path):
        if step == "create":
            session.sql(_creation(frame, design, layout))
        if step == "delete":
            merge_by_key(step, frame, design, TABLE)
        else:
            session.table("changes").writeTo(TABLE).append()
        if layout.kept == "compacted" or (step == "create" and layout.kept == "runs"):
            session.sql(f"CALL sys.compact(table => 'default.{TABLE}')")
    session.catalog.dropTempView("changes")


def _creation(frame: Any, design: Design, layout: PaimonLayout) -> str:
    columns = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in frame.schema.fields)
    options = {
        "primary-key": ",".join(design.keys),
        "bucket": str(design.slices),
        # Runs are left to readers, but for those that a compaction is asked for.
        "write-only": str(layout.kept != "dv").lower(),
        "deletion-vectors.enabled": str(layout.kept == "dv").lower(),
    }
    if layout.ordering == "event":
        options["sequence.field"] = "ts"
    listed = ", ".join(f"'{name}'='{value}'" for name, value in options.items())
    return f"CREATE TABLE {TABLE} ({columns}) TBLPROPERTIES ({listed})"


def check(path: Path, groups: Groups) -> None:
    """Check that each group was created as a bucket, and that just the changed ones got new files.

    Files are told apart by the time at which the table's creation ended.
    """
    created = _end_of_creation(path)
    files: dict[int, list[bool]] = {}
    for file in path.glob("bucket-*/data-*"):
        is_later = file.stat().st_mtime_ns // 1_000_000 > created
        files.setdefault(int(file.parent.name.removeprefix("bucket-")), []).append(is_later)
    base = {bucket for bucket, later in files.items() if not all(later)}
    changed = {bucket for bucket, later in files.items() if any(later)}
    for what, buckets, expected in (
        ("were created", base, groups.base),
        ("were changed", changed, groups.changed),
    ):
        if buckets != expected:
            raise SeambenchError(
                f"table {path.name}: the buckets {sorted(buckets)} {what}, expected "
                f"{sorted(expected)}"
            )


def _end_of_creation(path: Path) -> int:
    """When the last snapshot was made that belongs to a table's creation, in milliseconds."""
    files = path.glob("snapshot/snapshot-*")
    snapshots = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    end = 0
    for snapshot in sorted(snapshots, key=lambda one: int(one["id"])):
        if snapshot["commitKind"] != "COMPACT" and end:
            break
        end = int(snapshot["timeMillis"])
    return end


def writer_version(spec: Any) -> str | None:
    """The core's, where that writes; otherwise the default version of the connector."""
    return f"core-{spec.core}" if spec.core else None


def write_table(session: Any, spec: Any, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a golden table; the witness is what Spark reads after each.

    `lenient` goes on after a step that fails, with the table as it then is; the core stops there.
    """
    if spec.core:
        return _write_by_core(session, spec, table, lenient=lenient)
    note = partial(_note, table, partial(_read, session))
    with settings(spec.settings, session.conf), catalog_of(session, table):
        return carry_out(
            spec.steps, lambda step: session.sql(step).collect(), note, lenient=lenient
        )


def _write_by_core(session: Any, spec: Any, table: Path, *, lenient: bool) -> Written:
    """The same by the core; a step that fails ends a table, as it may be left half done."""
    core, done = Core(session, table), Written()
    for number, step in enumerate(spec.steps, 1):
        try:
            core.carry_out(step)
            _note(table, partial(core.read, step), done)
        except Exception as error:
            if not lenient or number == 1:
                raise
            done.failures[number] = str(error)[:500]
            noted = len(done.witness)
            del done.instants[noted:], done.completions[noted:]
            break
    return done


def _note(table: Path, read: Callable[[], Mapping[str, Any]], done: Written) -> None:
    """Note the newest snapshot, when it was made, and the rows that the engine reads of it."""
    snapshots = {int(f.name.rpartition("-")[2]): f for f in table.glob("snapshot/snapshot-*")}
    newest = max(snapshots, default=None)
    done.instants.append("" if newest is None else str(newest))
    done.completions.append("" if newest is None else _time(snapshots[newest]))
    done.witness.append(read())


def _time(snapshot: Path) -> str:
    return moment(int(json.loads(snapshot.read_text(encoding="utf-8"))["timeMillis"]))


def _read(session: Any) -> Mapping[str, Any]:
    """The rows as Spark reads them, in the words of cases; of a large table their number."""
    session.catalog.clearCache()
    frame = session.table(TABLE)
    try:
        return witness(frame)
    except Exception as error:
        # A later step may make the rows of this one readable again.
        return {"columns": frame.columns, "error": str(error).splitlines()[0][:300]}


@dataclass(frozen=True)
class PaimonLayout(ChangedLayout):
    """One way to lay out Paimon tables."""

    format_name: ClassVar[str] = "paimon"
    knob: ClassVar[str] = "changes"
    choices: ClassVar[tuple[str, ...]] = ("runs", "dv", "compacted")


LAYOUTS = ChangedLayouts(PaimonLayout, "Paimon")


def groups(keys: Sequence[npt.NDArray[np.int64]], buckets: int) -> npt.NDArray[np.int64]:
    """Bucket of each row, from 0, by equally long key columns: ints from 0 on, or bigints."""
    if buckets < 1:
        raise UsageError(f"a table needs at least one slice, not {buckets}")
    code = np.full(keys[0].shape, 42, dtype=np.uint32)
    nothing = np.zeros(keys[0].shape, dtype=np.uint32)
    words = [nothing, nothing, *(half for column in keys for half in halves(column))]
    for word in words:
        code = mix(code, word)
    code = finish(code, 4 * len(words))
    return np.abs(np.fmod(code.view(np.int32).astype(np.int64), buckets))


_SOURCE = Path(__file__).with_name("PaimonCore.java")


class Core:
    """Paimon's core in the JVM of a Spark session that has its jar, over the table of a folder."""

    def __init__(self, session: Any, table: Path) -> None:
        self._jvm = session._jvm
        self._gateway = session.sparkContext._gateway
        self._table = str(table)
        compiler = self._jvm.org.codehaus.janino.SimpleCompiler()
        loader = self._jvm.Thread.currentThread().getContextClassLoader()
        compiler.setParentClassLoader(loader)
        compiler.setSourceVersion(8)
        compiler.setTargetVersion(8)
        compiler.cook(_SOURCE.read_text(encoding="utf-8"))
        self._class = compiler.getClassLoader().loadClass("PaimonCore")

    def carry_out(self, step: Mapping[str, Any]) -> None:
        """One step."""
        with tempfile.TemporaryDirectory() as temporary:
            self._call("step", self._table, json.dumps(step), temporary)

    def read(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        """The rows as the core reads them after a step, in the words of cases."""
        columns: list[str] = json.loads(self._call("columns", self._table))
        if not step.get("read"):
            rows: list[list[str]] = json.loads(self._call("rows", self._table))
            return {"columns": columns, "rows": sorted([_text(v) for v in row] for row in rows)}
        changes: list[list[str]] = json.loads(self._call("changes", self._table, json.dumps(step)))
        return {"columns": ["rowkind", *columns], "rows": sorted(changes)}

    def _call(self, name: str, *arguments: str) -> Any:
        text = self._jvm.java.lang.Class.forName("java.lang.String")
        kinds = self._gateway.new_array(self._jvm.java.lang.Class, len(arguments))
        values = self._gateway.new_array(self._jvm.java.lang.Object, len(arguments))
        for i, argument in enumerate(arguments):
            kinds[i] = text
            values[i] = argument
        return self._class.getMethod(name, kinds).invoke(None, values)


def _text(value: str) -> str:
    """A value's text in the words of cases, which tell bytes and numbers as Python does."""
    kind, _, text = value.partition(":")
    if kind == "hex":
        return f"bytes:{bytes.fromhex(text)!r}"
    return value if kind == "str" else _DOUBLE.sub(_number, value)


_DOUBLE = re.compile(r"(?:(?<=[\[,=])|^)double:([-+.\w]+)")


def _number(match: re.Match[str]) -> str:
    return f"float:{float(match[1].replace('Infinity', 'inf')).hex()}"
