"""A scan as a lazy frame of Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from seamkit.engines.files import EngineFiles, EnginePlan

if TYPE_CHECKING:
    import polars as pl

__all__ = ["polars_frame"]


def polars_frame(plan: EnginePlan) -> pl.LazyFrame:
    """The rows of a plan: files by Polars' own reader, all others by ours.

    Args:
        plan: what to read.
    """
    import polars as pl

    from seambase.dataset import without_views

    # Types are those that Polars gives to our own columns, whoever reads the rows.
    shown = pl.from_arrow(pa.Table.from_batches([], without_views(plan.schema)))
    assert isinstance(shown, pl.DataFrame)
    parts = [_scan_parquet(files, shown.schema) for files in plan.files]
    if plan.rest is not None:
        rest = pl.scan_pyarrow_dataset(plan.rest.dataset())
        parts.append(
            rest.select(_typed(pl.col(name), kind, name) for name, kind in shown.schema.items())
        )
    return pl.concat(parts) if parts else shown.lazy()


def _scan_parquet(files: EngineFiles, types: pl.Schema) -> pl.LazyFrame:
    import polars as pl

    # A file may have columns that the scan does not hand out, and others of them not.
    rows = pl.scan_parquet(
        list(files.paths), glob=False, hive_partitioning=False, extra_columns="ignore"
    )
    columns = []
    for name, kind in types.items():
        if name in files.values:
            value = pl.lit(files.values[name].as_py())
        elif name in files.absent:
            value = pl.lit(None)
        else:
            value = pl.col(name)
        columns.append(_typed(value, kind, name))
    return rows.select(columns)


def _typed(value: pl.Expr, kind: pl.DataType, name: str) -> pl.Expr:
    return value.cast(kind).alias(name)
