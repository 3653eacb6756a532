"""Golden tables that Paimon's Java core writes: what its connector for Spark is too old for.

The core has no SQL. A step is a table with one of the keys `create` (columns and their types, with
`keys`, `partition` and `options` beside it), `set` (options), `write` (rows: kind, then values;
the text `null` is null; with `overwrite` in place of all others), `compact`, `tag` (a name) and
`branch` (a name, `from` a tag). `on` beside it names the branch that is written to or read. The
step `read` changes nothing: its witness is what the core reads with these options of a scan, each
row behind its kind. `PaimonCore.java` carries steps out, compiled when it is used.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    if kind == "double":
        return f"float:{float(text.replace('Infinity', 'inf')).hex()}"
    if kind == "hex":
        return f"bytes:{bytes.fromhex(text)!r}"
    return value
