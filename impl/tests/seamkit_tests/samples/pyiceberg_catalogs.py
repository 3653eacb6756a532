"""Catalogs that pyiceberg knows by the environment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest


def configure(patch: pytest.MonkeyPatch, name: str, settings: Mapping[str, str]) -> None:
    """Make a catalog known."""
    from pyiceberg.utils.config import Config

    for key, value in settings.items():
        patch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__{key}", value)
    patch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it was read when imported


def sql_catalog(patch: pytest.MonkeyPatch, folder: Path) -> Any:
    """A catalog `here`, in SQLite."""
    from pyiceberg.catalog import load_catalog

    settings = {"URI": f"sqlite:///{folder}/c.db", "WAREHOUSE": f"file://{folder}"}
    configure(patch, "here", {"TYPE": "sql", **settings})
    return load_catalog("here")
