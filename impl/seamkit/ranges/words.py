"""The words of plans: which classes and functions a plan is made of, and what they are called."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from seambase.description import StoredFile
from seambase.scan import ScanWarning
from seamkit.files.columns import Place
from seamkit.files.storage import Storage
from seamkit.scan.units import DataFile, KeyMask, Mask, ReadPlan, ReadUnit, Runs
from seamkit.tables.formats import table_formats

__all__ = ["known_words"]

_GROUP = "seamkit.plan_words"
_PLAIN = (
    DataFile,
    KeyMask,
    Mask,
    Place,
    ReadPlan,
    ReadUnit,
    Runs,
    ScanWarning,
    Storage,
    StoredFile,
)


@functools.cache
def known_words() -> Mapping[str, Callable[..., Any]]:
    """Classes and functions by their words.

    Those of a table format are listed beside it, those of other packages by entry points of the
    group `seamkit.plan_words`. A word is the format and the name in Python.
    """
    words = _named("", _PLAIN)
    for one in table_formats():
        module, _, name = one.words.partition(":")
        words |= _named(f"{one.name}.", getattr(importlib.import_module(module), name))
    for point in entry_points(group=_GROUP):
        words |= _named(f"{point.name}.", point.load())
    return words


def _named(prefix: str, listed: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {f"{prefix}{one.__qualname__}": one for one in listed}
