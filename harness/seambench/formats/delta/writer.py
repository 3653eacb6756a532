"""Let Delta write its own tables, those of data sets and golden ones.

Tables of data sets are not partitioned; each of Spark's partitions becomes one data file when they
are created, so that a file's rows follow from the key alone. Changes are merged in by key.

Layouts of Delta data sets: `delta-<deletes>-<ordering>-u<ratio>-s<share>`.

Replaced rows are marked in deletion vectors (`dv`), or changed files are written anew (`rewrite`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.changed import (
    ChangedLayout,
    ChangedLayouts,
    by_groups,
    group_of,
    merge_by_key,
)
from seambench.formats.murmur import partition_numbers as groups
from seambench.formats.rows import witness
from seambench.formats.steps import carry_out, moment, settings

__all__ = ["check", "groups", "write", "write_table", "writer_version"]

_DATA_FILE = re.compile(r"part-(\d{5})-.*\.parquet")


def write(step: Step, frame: Any, design: Design, path: Path) -> None:
    """One commit: a new table, or rows merged into it by key."""
    layout = design.layout
    assert isinstance(layout, DeltaLayout)
    if step == "create":
        writer = by_groups(frame, design).write.format("delta").mode("overwrite")
        vectors = str(layout.kept == "dv").lower()
        writer.option("delta.enableDeletionVectors", vectors).save(str(path))
        return
    table = str(path).replace("`", "``")
    merge_by_key(step, frame, design, f"delta.`{table}`")


def check(path: Path, groups: Groups) -> None:
    """Check that each group was created as a file, and that just the replaced ones were touched."""
    created: dict[str, int] = {}
    touched: set[int] = set()
    for number, file in enumerate(sorted((path / "_delta_log").glob("*.json"))):
        for action in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            if number == 0 and "add" in action:
                created[action["add"]["path"]] = group_of(action["add"]["path"], _DATA_FILE)
            elif "remove" in action:
                touched |= {created[p] for p in [action["remove"]["path"]] if p in created}
    groups.check(path.name, created.values(), touched)


def writer_version(spec: Any) -> str | None:
    """The version that a declaration names; golden tables need no other than the default."""
    return spec.writer or None


def write_table(session: Any, spec: Any, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a golden table; the witness is what Spark reads after each.

    `lenient` goes on after a step that fails, with the table as it then is.
    """
    hadoop = session.sparkContext._jsc.hadoopConfiguration()  # the Parquet writer's own settings
    do, note = partial(_carry_out, session, table), partial(_note, session, spec, table)
    with settings(spec.settings, session.conf, hadoop):
        try:
            return carry_out(spec.steps, do, note, lenient=lenient)
        finally:
            session.sql("DROP TABLE IF EXISTS golden")


def _carry_out(session: Any, table: Path, step: Any) -> None:
    if isinstance(step, str):
        session.sql(step.replace("{path}", str(table)))
        return
    first, last = step["compact_log"]
    log = table / "_delta_log"
    content = "".join(f"{line}\n" for line in _compacted(session, log, range(first, last + 1)))
    (log / f"{first:020}.{last:020}.compacted.json").write_text(content, encoding="utf-8")


def _compacted(session: Any, log: Path, versions: range) -> Iterator[str]:
    """The actions of some commits put together by Delta's own replay, one line of JSON each.

    Delta reads log compactions; to write them it has this replay and no command.
    """
    jvm = session.sparkContext._jvm
    none = getattr(jvm.scala, "None$").__getattr__("MODULE$")
    actions = jvm.org.apache.spark.sql.delta.actions
    replay = actions.InMemoryLogReplay(0, none)
    for version in versions:
        lines = jvm.java.util.ArrayList()
        for line in (log / f"{version:020}.json").read_text(encoding="utf-8").splitlines():
            lines.add(actions.Action.fromJson(line))
        converters = jvm.scala.collection.JavaConverters
        replay.append(version, converters.asScalaIterator(lines.iterator()))
    kept = replay.checkpoint()
    while kept.hasNext():
        yield kept.next().json()


def _note(session: Any, spec: Any, table: Path, done: Written) -> None:
    """Note the newest version, when it was made, and what Spark reads of it."""
    commits = (table / "_delta_log").glob("*.json")
    newest = max((file for file in commits if file.stem.isdigit()), key=lambda file: file.stem)
    done.instants.append(str(int(newest.stem)))
    done.completions.append(_time(newest))
    step = len(done.instants)
    frame = session.read.format("delta").load(str(table))
    if spec.hidden and step >= spec.hidden_from:
        hidden = [f"{expression} AS {name}" for name, expression in spec.hidden.items()]
        frame = frame.selectExpr("*", *hidden)
    answer = witness(frame)
    if spec.feed_from is not None and step >= spec.feed_from:
        answer |= {"feed": _feed(session, table, done.instants[spec.feed_from - 1])}
    done.witness.append(answer)


def _feed(session: Any, table: Path, first: str) -> dict[str, Any]:
    """The change feed from a version on as Spark reads it, or why it does not."""
    reader = session.read.format("delta").option("readChangeFeed", "true")
    try:
        return witness(reader.option("startingVersion", first).load(str(table)))
    except Exception as error:
        return {"refused": str(error).strip().splitlines()[0]}


def _time(commit: Path) -> str:
    """When a commit was made, as its commitInfo says."""
    lines = commit.read_text(encoding="utf-8").splitlines()
    [info] = [json.loads(line)["commitInfo"] for line in lines if '"commitInfo"' in line]
    return moment(info.get("inCommitTimestamp", info["timestamp"]))


@dataclass(frozen=True)
class DeltaLayout(ChangedLayout):
    """One way to lay out Delta tables."""

    format_name: ClassVar[str] = "delta"
    knob: ClassVar[str] = "deletes"
    choices: ClassVar[tuple[str, ...]] = ("dv", "rewrite")


LAYOUTS = ChangedLayouts(DeltaLayout, "Delta")
