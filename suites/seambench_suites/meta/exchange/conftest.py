"""What tests of exchanges between workers share."""

from pathlib import Path

import pytest

from seambench.bench.exchange.oracle import write_tables
from seambench.bench.exchange.plans import PLANS


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of every plan."""
    made = tmp_path_factory.mktemp("tables")
    write_tables(made, list(PLANS.values()), 0.002)
    return made
