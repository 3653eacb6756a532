"""Let Spark write Hive's tables through Hive's own classes, and read them back as a witness."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seambase.errors import UsageError
from seambench.contracts.tables import Design, Groups, Step, Written
from seambench.formats.hive.golden import DESCRIPTOR, TableSpec
from seambench.formats.rows import in_words, plain_value
from seambench.formats.steps import carry_out, settings


def write(step: Step, frame: Any, design: Design, path: Path) -> None:
    """There are no data sets of Hive tables."""
    del step, frame, path
    raise UsageError(f"{design.name}: there are no data sets of Hive tables")


def groups(keys: Sequence[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
    """One group: nothing is cut."""
    del count
    return np.zeros(len(keys[0]), np.int64)


def check(path: Path, groups: Groups) -> None:
    """Nothing to check."""
    del path, groups


def writer_version(spec: Any) -> str | None:
    """All tables are written by the Hive that Spark brings."""
    del spec
    return None


def write_table(session: Any, spec: Any, table: Path, *, lenient: bool = False) -> Written:
    """Carry out every step of a golden table; the witness is what Hive's classes read after all.

    `lenient` goes on after a step that fails; what cannot be read is noted as its `error`.
    """
    assert isinstance(spec, TableSpec)
    do = partial(_carry_out, session, table)
    with settings(spec.settings, session.conf):
        try:
            done = carry_out(spec.steps, do, _note, lenient=lenient, needed=0)
            if spec.witnessed:
                done.witness.append(_witness(session, lenient))
        finally:
            session.sql("DROP TABLE IF EXISTS golden")
            session.sql("RESET")
    text = json.dumps(spec.descriptor, indent=2, ensure_ascii=False)
    (table / DESCRIPTOR).write_text(text + "\n", encoding="utf-8")
    return done


def _note(done: Written) -> None:
    """A folder has no commits: a step is called by its number."""
    done.instants.append(str(len(done.instants) + 1))


def _carry_out(session: Any, table: Path, step: Any) -> None:
    if isinstance(step, str):
        session.sql(step.replace("{path}", str(table)))
        return
    file = table / step["path"]
    file.parent.mkdir(parents=True, exist_ok=True)
    content = bytes.fromhex(step["hex"]) if "hex" in step else step["text"].encode()
    file.write_bytes(content)


def _witness(session: Any, lenient: bool) -> Mapping[str, Any]:
    """The rows as Hive's classes read them, in the words of cases."""
    try:
        frame = session.sql("SELECT * FROM golden")
        rows = in_words(frame.collect(), _plain)
    except Exception as error:
        if not lenient:
            raise
        return {"error": str(error)[:500]}
    return {"columns": frame.columns, "rows": rows}


def _plain(value: Any) -> Any:
    """A value in the words of cases, entries of maps in the order of their keys: they have none."""
    if isinstance(value, dict):
        return sorted((plain_value(key), _plain(inner)) for key, inner in value.items())
    if hasattr(value, "asDict"):
        return {name: _plain(inner) for name, inner in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return plain_value(value)
