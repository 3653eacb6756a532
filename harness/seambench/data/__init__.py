"""Data sets: TPC-H rows from Spark, tables that a format's own writer wrote, and the right answers.

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
from seambench.data.generate import (
    DEFAULT_TABLES,
    GenerateOptions,
    PlannedDataset,
    generate,
    planned,
)
from seambench.data.layouts import curve_layouts, default_layouts, parse_layout
from seambench.data.oracle import Answer, answer, connect

__all__ = [
    "DEFAULT_TABLES",
    "Answer",
    "Dataset",
    "DatasetTable",
    "ExpectedTable",
    "GenerateOptions",
    "PlannedDataset",
    "State",
    "answer",
    "connect",
    "curve_layouts",
    "default_data_folder",
    "default_layouts",
    "generate",
    "list_datasets",
    "open_dataset",
    "parse_layout",
    "planned",
]
