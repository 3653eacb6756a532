"""Golden tables that Paimon's Java core writes: what its connector for Spark is too old for.

The core has no SQL. A step is a table with one of the keys `create` (columns and their types, with
`keys`, `partition` and `options` beside it), `set` (options), `write` (rows: kind, then values;
the text `null` is null) and `compact`. `PaimonCore.java` carries it out, compiled when it is used.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Core"]

_SOURCE = Path(__file__).with_name("PaimonCore.java")


class Core:
    """The core in the JVM of a Spark session, over one table.

    Args:
        session: a Spark session with the jar of Paimon's core.
        table: the table's folder.
    """

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

    def read(self) -> Mapping[str, Any]:
        """The rows as the core reads them, in the words of cases."""
        columns: list[str] = json.loads(self._call("columns", self._table))
        rows: list[list[str]] = json.loads(self._call("rows", self._table))
        return {"columns": columns, "rows": sorted(rows)}

    def _call(self, name: str, *arguments: str) -> Any:
        text = self._jvm.java.lang.Class.forName("java.lang.String")
        kinds = self._gateway.new_array(self._jvm.java.lang.Class, len(arguments))
        values = self._gateway.new_array(self._jvm.java.lang.Object, len(arguments))
        for i, argument in enumerate(arguments):
            kinds[i] = text
            values[i] = argument
        return self._class.getMethod(name, kinds).invoke(None, values)
