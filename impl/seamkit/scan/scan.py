"""What every scan offers to those who read it, whatever the table format and the query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from seambase.errors import UnavailableError
from seambase.scan import ScanReport

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.dataset as ds

__all__ = ["Scan"]


class Scan(ABC):
    """A planned read of a table. Each call of a `to_...` method reads anew.

    A scan is cut into parts for engines that read with several processes: it can be pickled, and
    all its parts together give its rows, each once.
    """

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Schema of the batches: the requested columns in the requested order."""

    @abstractmethod
    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; those of different units come in any order."""

    @abstractmethod
    def dataset(self) -> ds.Dataset:
        """A dataset that DuckDB and Polars query, with columns and filters pushed down."""

    @abstractmethod
    def report(self) -> ScanReport:
        """Which paths the units take, and what reads so far came to."""

    @abstractmethod
    def explain(self) -> str:
        """The plan in words, a line for each unit: its path, its files, and why."""

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """How many parts there are."""

    @abstractmethod
    def part(self, number: int, columns: Sequence[str], condition: pc.Expression | None) -> Scan:
        """One part of the scan.

        Args:
            number: which one, from 0.
            columns: those to hand out; the scan's schema has them all.
            condition: further rows to leave out, over any columns of the scan; None for none.
        """

    def to_table(self) -> pa.Table:
        """All rows."""
        return self.to_reader().read_all()

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """All rows as a pandas data frame.

        Args:
            **options: of `pyarrow.Table.to_pandas`.

        Raises:
            UnavailableError: pandas is not installed.
        """
        if find_spec("pandas") is None:
            raise UnavailableError(
                "a data frame needs pandas, which is not installed; pip install pandas"
            )
        frame: pd.DataFrame = self.to_table().to_pandas(**options)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {', '.join(self.schema.names)}: {self.n_parts} parts>"
