"""Avro data, as files and log blocks hold it, decoded by the C core into Arrow columns.

The schema that wrote a block is matched by name to the columns asked for; each field becomes one
node of the core's plan. Fields nobody asked for are skipped in the core, columns that the writer
lacks are added here. Type promotions are Avro's, and those of the table format's rules.
"""

from __future__ import annotations

from seamkit.avro.data_file import RecordReader, read_container, record_reader
from seamkit.avro.decoder import AvroDecoder, BlockPiece, cut_block, whole_block
from seamkit.avro.schema import AvroType, arrow_schema, arrow_type, parse_schema

__all__ = [
    "AvroDecoder",
    "AvroType",
    "BlockPiece",
    "RecordReader",
    "arrow_schema",
    "arrow_type",
    "cut_block",
    "parse_schema",
    "read_container",
    "record_reader",
    "whole_block",
]
