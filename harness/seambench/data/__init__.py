"""Data sets: TPC-H rows from Spark, Hudi tables that Hudi wrote, and what readers must return.

`generate` makes (or finds) data sets and returns them as `Dataset` objects. The workload is derived
from TPC-H and not comparable with published TPC-H results.
"""

from __future__ import annotations

from seambench.data.dataset import (
    Dataset,
    DatasetTable,
    ExpectedTable,
    State,
    default_data_folder,
    list_datasets,
    open_dataset,
)
from seambench.data.generate import DEFAULT_TABLES, GenerateOptions, generate
from seambench.data.layouts import DEFAULT_LAYOUTS, Layout, curve_layouts, parse_layout
from seambench.data.oracle import Answer, answer, connect

__all__ = [
    "DEFAULT_LAYOUTS",
    "DEFAULT_TABLES",
    "Answer",
    "Dataset",
    "DatasetTable",
    "ExpectedTable",
    "GenerateOptions",
    "Layout",
    "State",
    "answer",
    "connect",
    "curve_layouts",
    "default_data_folder",
    "generate",
    "list_datasets",
    "open_dataset",
    "parse_layout",
]
