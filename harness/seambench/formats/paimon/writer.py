"""Let Paimon write its own tables, those of data sets and golden ones.

A table lies where its caller says: a catalog that Spark is given for it has a warehouse of its own,
in which a link leads there.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seambench.conformance.plain import canonical
from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.paimon.buckets import bucket_numbers as groups
from seambench.formats.paimon.layouts import PaimonLayout
from seambench.formats.rows import plain_value

__all__ = ["check", "groups", "write", "write_table", "writer_version"]

#: Of larger golden tables the witness keeps the number of rows alone.
_WITNESSED_ROWS = 100
_TABLE = "golden"


@contextmanager
def _catalog(session: Any, table: Path) -> Iterator[None]:
    """A catalog in use whose one table lies in a folder."""
    table.mkdir(parents=True, exist_ok=True)
    before = session.catalog.currentCatalog()
    with tempfile.TemporaryDirectory() as warehouse:
        database = Path(warehouse, "default.db")
        database.mkdir()
        (database / _TABLE).symlink_to(table.absolute(), target_is_directory=True)
        name = f"paimon_{Path(warehouse).name.replace('-', '_')}"
        session.conf.set(f"spark.sql.catalog.{name}", "org.apache.paimon.spark.SparkCatalog")
        session.conf.set(f"spark.sql.catalog.{name}.warehouse", warehouse)
        session.sql(f"USE `{name}`.default")
        try:
            yield
        finally:
            session.catalog.setCurrentCatalog(before)


def write(step: Step, frame: Any, design: Design, path: Path) -> None:
    """One commit: a new table, or rows merged into it by key.

    Under event-time ordering a row counts only if its `ts` is not older than the one it meets.
    """
    layout = design.layout
    assert isinstance(layout, PaimonLayout)
    with _catalog(frame.sparkSession, path):
        raise NotImplementedError(step)


def check(path: Path, groups: Groups) -> None:
    """Check that each group was created as a bucket, and that just the changed ones have runs.

    Raises:
        SeambenchError: the manifests say otherwise; the message names the groups.
    """
    raise NotImplementedError(path, groups)


def writer_version(spec: Any) -> str | None:
    """Golden Paimon tables are all written by the default version."""
    del spec
    return None


def write_table(session: Any, spec: Any, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a golden table; the witness is what Spark reads after each.

    Args:
        session: a Spark session with Paimon.
        spec: what to write.
        table: where.
        lenient: go on after a step that fails, with the table as it then is.
    """
    for name, value in spec.settings.items():
        session.conf.set(name, value)
    done = Written()
    try:
        with _catalog(session, table):
            for number, step in enumerate(spec.steps, 1):
                try:
                    session.sql(step).collect()
                except Exception as error:
                    if not lenient or number == 1:
                        raise
                    done.failures[number] = str(error)[:500]
                _note(session, table, done)
    finally:
        for name in spec.settings:
            session.conf.unset(name)
    return done


def _note(session: Any, table: Path, done: Written) -> None:
    """Note the newest snapshot, when it was made, and the rows that Spark reads of it."""
    snapshots = {int(f.name.rpartition("-")[2]): f for f in table.glob("snapshot/snapshot-*")}
    newest = max(snapshots, default=None)
    done.instants.append("" if newest is None else str(newest))
    done.completions.append("" if newest is None else _time(snapshots[newest]))
    done.witness.append(_read(session))


def _time(snapshot: Path) -> str:
    """When a snapshot was made."""
    millis = int(json.loads(snapshot.read_text(encoding="utf-8"))["timeMillis"])
    moment = dt.datetime.fromtimestamp(millis // 1000, dt.UTC)
    moment += dt.timedelta(milliseconds=millis % 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _read(session: Any) -> Mapping[str, Any]:
    """The rows as Spark reads them, in the words of cases; of a large table their number."""
    session.catalog.clearCache()
    frame = session.table(_TABLE)
    names = frame.columns
    try:
        count = frame.count()
        if count > _WITNESSED_ROWS:
            return {"columns": names, "count": count}
        rows = [[canonical(plain_value(value)) for value in row] for row in frame.collect()]
    except Exception as error:
        # A later step may make the rows of this one readable again.
        return {"columns": names, "error": _first_line(error)}
    return {"columns": names, "rows": sorted(rows)}


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300]
