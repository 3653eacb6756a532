"""Tests of what a machine may lack."""

import pytest

from seambase.errors import UnavailableError


class OrSkipped:
    """A block; without what it needs on this machine the test is skipped, with what that is."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, UnavailableError):
            pytest.skip(f"unavailable: {error}")
