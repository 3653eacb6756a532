"""Operators between columns and rows as serdes: Spark's own, and beside them those of our backends.

`serialize` is an engine's columnar-to-row, `deserialize` its row-to-columnar, `operate` one after
the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seambase.errors import InputError, RefusedError, SeambenchError
from seambase.serde import SerdeRequest
from seambase.type_fields import fields_of
from seambench.contracts.common import Kind, Stage
from seambench.contracts.peers.catalogue import stated
from seambench.contracts.serde import Operated
from seambench_impl.peers import XFAILS
from seambench_impl.peers.peer_scan import installed_version
from seambench_impl.peers.spark.plans import Plans, SparkArrow, SparkOwn, session
from seambench_impl.peers.spark.rows import framing_of, spans_of
from seamkit.jvm.machine import java_failure
from seamkit.spark.session import own_error

_MEANT = ("threshold_bytes", "batch_rows")


class SparkOperators:
    """ColumnarToRowExec and RowToColumnarExec over Spark's own vectors."""

    name = "spark-operators"
    #: What conformance is known to find in it.
    xfails: Path | None = XFAILS / "spark-operators.toml"
    kind: Kind = "peer"
    plans: type[Plans] = SparkOwn
    #: Words of Spark's rows that it does not offer, and those that it does beyond them.
    without: Sequence[str] = ("types.void", "types.interval")  # RowToColumnarExec has neither
    beyond: Sequence[str] = ("operate", "batch-rows")
    #: Whether rows are looked through before operators, which believe them, get any.
    believes = True

    def __init__(self) -> None:
        self.version = installed_version("pyspark", self.name, "jvm")
        words = {**stated("serde", "spark-jvm", self.version), **dict.fromkeys(self.beyond, True)}
        self.capabilities: Mapping[str, bool] = {
            word: has for word, has in words.items() if word not in self.without
        }

    def serialize(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> bytes:
        """Rows of all batches, one after the other."""
        framing, plans = framing_of(request, self.name), self.plans(request)
        with self._own_errors(plans, RefusedError, "does not take these columns"):
            rows = [row for call in plans.calls(batches) for row in call]
        if framing == "packed":
            return b"".join(rows)
        return b"".join(len(row).to_bytes(4, "big") + row for row in rows)

    def deserialize(
        self, request: SerdeRequest, data: bytes | bytearray | memoryview
    ) -> list[pa.RecordBatch]:
        """One batch of all rows."""
        framing, plans = framing_of(request, self.name), self.plans(request)
        content = bytes(data)
        with self._own_errors(plans, InputError, "cannot read the rows"):
            if framing == "packed":
                rows = plans.packed(content, *spans_of(request, len(content)))
            else:
                jpype = plans.java.jpype
                given = jpype.JArray(jpype.JByte)(np.frombuffer(content, np.int8))
                with plans.java.inside():
                    rows = plans.row_class.readStream(given, plans.schema)
            batches = self._columns(plans, rows)
        if not batches:
            return [plans.batch(plans.java.list(()))]
        return batches if len(batches) == 1 else [pa.concat_batches(batches)]

    def operate(self, request: SerdeRequest, batches: Sequence[pa.RecordBatch]) -> Operated:
        """See `seambench.contracts.serde.Serde`."""
        framing_of(request, self.name, _MEANT)
        plans, before = self.plans(request), self._held()
        with self._own_errors(plans, RefusedError, "does not take these columns"):
            calls = plans.calls(batches)
            rows = [row for call in calls for row in call]
            lengths = np.array([len(row) for row in rows], np.int64)
            offsets = (np.cumsum(lengths) - lengths).tolist()
            packed = plans.packed(b"".join(rows), offsets, lengths.tolist())
            made = self._columns(plans, packed)
        return Operated(calls, made, self._held() - before)

    def _columns(self, plans: Plans, rows: Any) -> list[pa.RecordBatch]:
        if self.believes:
            with plans.java.inside():
                plans.row_class.check(rows, plans.schema)
        return plans.to_batches(rows)

    @contextmanager
    def _own_errors(self, plans: Plans, kind: type[SeambenchError], what: str) -> Iterator[None]:
        """Errors of Java as ours."""
        try:
            yield
        except plans.java.jpype.JException as error:
            ours = own_error(error)
            raise ours or kind(f"{self.name} {what}: {java_failure(error)}") from error

    def _held(self) -> int:
        """What is not given back."""
        return 0

    def stages(self, batch: pa.RecordBatch) -> Sequence[Stage]:
        """The steps `columnar-to-row` and `row-to-columnar`."""
        request = SerdeRequest("unsaferow", fields_of(batch.schema, "spark"))
        return list(self.plans(request).stages(batch))


class SparkArrowOperators(SparkOperators):
    """The same over vectors of Arrow's Java library, and Spark's ArrowWriter into them."""

    name = "spark-arrow"
    xfails = XFAILS / "spark-arrow.toml"
    plans = SparkArrow
    without = ("types.interval",)


class BackendOperators(SparkOperators):
    """Operators of our own, in Spark's place."""

    xfails: Path | None = None
    kind: Kind = "reference"
    without: Sequence[str] = ()
    beyond = ("operate", "batch-rows", "thresholds")
    believes = False

    def _held(self) -> int:
        return session().in_use()
