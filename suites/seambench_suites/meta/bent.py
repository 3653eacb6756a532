"""Implementations of any seam and format that are wrong on purpose: right ones, with answers bent.

A bend changes one thing of an answer on its way out: rows, types, bytes, chunks, counters, what a
report says. None knows a format, so each can be tried on all.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from seambench.contracts.column import ColumnChunk

Bend = Callable[[Any], Any]
"""Of a right implementation, one that is wrong."""


class Bent:
    """Something of which some members are others; the rest is as it was.

    Args:
        whole: what is bent.
        others: these members, by name.
    """

    def __init__(self, whole: Any, **others: Any) -> None:
        self._whole = whole
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


def members(**others: Any) -> Bend:
    """Whoever has other members in place of its own; None takes one away."""

    def bend(whole: Any) -> Any:
        bent = Bent(whole, **{name: value for name, value in others.items() if value is not None})
        gone = [name for name, value in others.items() if value is None]
        return _Lacking(bent, gone) if gone else bent

    return bend


class _Lacking(Bent):
    """Something without some of its members."""

    def __init__(self, whole: Any, gone: Sequence[str]) -> None:
        super().__init__(whole)
        self._gone = gone

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_gone"]:
            raise AttributeError(name)
        return super().__getattr__(name)


def scans(**change: Callable[..., Any]) -> Bend:
    """A reader whose scans are changed.

    Args:
        change: `request`: of what is asked, what is read in its place; `table`: of all rows of a
            stream, others; `dataset`: of the rows behind a dataset, others; `schema`: of the
            schema, another; `report`: of what a scan says, other words.
    """

    def bend(reader: Any) -> Any:
        def opened(request: Any) -> Any:
            scan = reader.open(change["request"](request) if "request" in change else request)
            others: dict[str, Any] = {}
            if "table" in change:
                others["to_reader"] = lambda: change["table"](_rows(scan)).to_reader()
            if "dataset" in change:
                others["dataset"] = lambda: ds.dataset(change["dataset"](_rows(scan)))
            if "report" in change:
                others["report"] = lambda: change["report"](scan.report())
            if "schema" in change:
                others["schema"] = change["schema"](scan.schema)
            return Bent(scan, **others)

        return Bent(reader, open=opened)

    return bend


def _rows(scan: Any) -> pa.Table:
    with scan.to_reader() as reader:
        return reader.read_all()


def chunks(change: Callable[[list[ColumnChunk]], list[ColumnChunk]]) -> Bend:
    """Columns whose chunks are changed."""
    return lambda table: Bent(table, chunks=lambda request: change(table.chunks(request)))


def written(change: Callable[[bytes], bytes], calls: str = "serialize") -> Bend:
    """A serde that writes other bytes.

    Args:
        change: of the right bytes, others.
        calls: the method that does: `serialize` or `stream`.
    """

    def bend(serde: Any) -> Any:
        return Bent(serde, **{calls: lambda *asked: change(bytes(getattr(serde, calls)(*asked)))})

    return bend


def read_batches(change: Callable[..., Any]) -> Bend:
    """A serde that reads other batches: `change` gets the right ones, the request and the bytes."""

    def bend(serde: Any) -> Any:
        def deserialize(request: Any, data: Any) -> Any:
            return change(serde.deserialize(request, data), request, data)

        return Bent(serde, deserialize=deserialize)

    return bend


def each(change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Callable[..., Any]:
    """For `read_batches`: every batch is changed alike."""
    return lambda batches, *_: [change(batch) for batch in batches]


def exchanges(
    sender: Mapping[str, Callable[..., Any]] | None = None,
    receiver: Mapping[str, Callable[..., Any]] | None = None,
    opened: Callable[[Any], Any] | None = None,
) -> Bend:
    """An exchange whose sides do something else.

    Args:
        sender: methods in place of a sender's: each gets the right one, then its arguments.
        receiver: likewise of a receiver's.
        opened: of an open exchange, another.
    """

    def bend(exchange: Any) -> Any:
        def open_(request: Any) -> Any:
            whole = exchange.open(request)
            bent = Bent(
                whole,
                senders=[_with(one, sender or {}) for one in whole.senders],
                receivers=[_with(one, receiver or {}) for one in whole.receivers],
            )
            return opened(bent) if opened else bent

        return Bent(exchange, open=open_)

    return bend


def _with(side: Any, methods: Mapping[str, Callable[..., Any]]) -> Any:
    def bound(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *asked: method(getattr(side, name), *asked)

    return Bent(side, **{name: bound(name, method) for name, method in methods.items()})
