"""A plugin of pytest: with `-m NAME ...` files that nowhere name NAME are not even imported.

Importing and collecting all tests takes longer than some environments' own tests.
"""

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over test files without the first name of `-m`: who has that mark must name it."""
    asked = config.option.markexpr.partition(" ")[0]
    if not asked.isidentifier() or asked == "not":
        raise pytest.UsageError(f"-m {config.option.markexpr!r} does not begin with a mark's name")
    if not (collection_path.suffix == ".py" and collection_path.name.startswith("test_")):
        return None
    return True if asked not in collection_path.read_text(encoding="utf-8").lower() else None
