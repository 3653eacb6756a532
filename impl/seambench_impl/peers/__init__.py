"""Readers by others, one file each; the foreign library is imported when a table is opened."""

from pathlib import Path

#: What each can be had in, and what its documents say it can do.
CATALOGUE = Path(__file__).with_name("catalogue")
#: What conformance is known to find in each.
XFAILS = Path(__file__).with_name("xfails")
