"""A reader that is a Python function: whatever it returns gives rows as an Arrow stream.

    def read(path, columns=None, as_of=None): ...

It is called with the folder of the table, and by name with what else is asked: `columns`, `filter`
and the other members of the doors' request (docs/doors.md). What it has no parameter for is
refused, so that nothing that is asked is passed over. The rest is done here: columns are chosen,
batches are cut, threads are its own affair.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from seambase.errors import InputError, RefusedError
from seambench.conformance.doors.facts import Facts, read_facts
from seambench.conformance.doors.library import trusted
from seambench.contracts.outcomes import ProtocolError
from seambench.contracts.scan import ScanRequest
from seambench.seams.scan.doors import DoorScanner, Read, request_members

#: What is done here, or need not be done, for a function that has no parameter for it.
_NOT_NEEDED = ("columns", "batch_size", "threads")


class FunctionScanner(DoorScanner):
    """A scanner that is a function of a table's folder and of what is asked."""

    path = "function"

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Look at what the function takes; its name is `package.module:function`."""
        self._function = function
        self._takes = _parameters(function)
        module = inspect.getmodule(function)
        file = getattr(module, "__file__", None)
        facts = read_facts(Path(file)) if file else Facts(name)
        if file and facts.name == Path(file).name:  # nothing is said of it
            facts = replace(facts, name=name)
        super().__init__(facts)

    def start(self, request: ScanRequest) -> Read:
        """Call the function for one read."""
        members = request_members(request, self.facts)
        path, query = members.pop("table"), members.pop("query")
        if query["type"] != "snapshot":
            members["query"] = query["type"]
        members |= {key: value for key, value in query.items() if key != "type"}
        if "where" in members:
            members["filter"] = members.pop("where")
        if not request.columns:  # none: rows are counted, whichever columns they have
            members.pop("columns", None)
        for member in list(members):
            if self._takes is None or member in self._takes:
                continue
            if member not in _NOT_NEEDED:
                raise RefusedError(f"{self.name}: it has no parameter for {member!r}")
            del members[member]
        chosen = None if "columns" in members else request.columns
        rows = None if "batch_size" in members else request.batch_rows
        return _FunctionRead(self.name, self._call(path, members), chosen, rows)

    def _call(self, path: str, members: Mapping[str, Any]) -> pa.RecordBatchReader:
        """The rows that it returns; `NotImplementedError` with a sentence is a refusal."""
        try:
            returned = self._function(path, **members)
        except NotImplementedError as error:
            if not str(error).strip():
                raise ProtocolError(f"{self.name}: it refuses without a sentence") from error
            raise RefusedError(f"{self.name}: {error}") from error
        if not hasattr(returned, "__arrow_c_stream__"):
            raise ProtocolError(
                f"{self.name}: it returned a {type(returned).__name__}, which has no "
                "`__arrow_c_stream__`; a table or frame of pyarrow, pandas, Polars or DuckDB has"
            )
        try:
            return pa.RecordBatchReader.from_stream(_without_index(returned))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self.name}: its stream has no readable schema: {error}") from error


def _without_index(returned: Any) -> Any:
    """A frame of pandas with those levels of its index that have a name as columns, in front.

    The others are places of rows, which filters and sorting leave behind.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(returned, pandas.DataFrame):
        return returned
    names = (name for name in returned.index.names if name is not None)
    named = [name for name in names if name not in returned.columns]
    frame = returned.reset_index(level=named) if named else returned
    return pa.Table.from_pandas(frame, preserve_index=False)


def _parameters(function: Callable[..., Any]) -> frozenset[str] | None:
    """Names by which a function takes arguments; None where it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(one.name for one in parameters if one.kind in named)


class _FunctionRead:
    def __init__(
        self, name: str, stream: pa.RecordBatchReader, chosen: Any, rows: int | None
    ) -> None:
        self._name, self._stream, self._rows = name, stream, rows
        known = stream.schema.names
        # A column that is not there, or twice, is for whoever asked to miss.
        self._chosen = chosen if all(known.count(one) == 1 for one in chosen or ()) else None
        self.schema: pa.Schema = stream.schema
        if self._chosen is not None:
            self.schema = pa.schema([stream.schema.field(one) for one in self._chosen])

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for whole in self._stream:
                batch = trusted(whole, self._name)
                if self._chosen is not None:
                    batch = batch.select(list(self._chosen))
                step = self._rows or max(1, batch.num_rows)
                for begin in range(0, batch.num_rows, step):
                    yield batch.slice(begin, step)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self._name}: its stream broke off: {error}") from error

    def close(self) -> None:
        self._stream.close()
