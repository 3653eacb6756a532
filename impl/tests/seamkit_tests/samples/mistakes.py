"""Readers of ours with a mistake in them, which a form of a table must show."""

from collections.abc import Callable

import pytest

from seambase.errors import InputError
from seambench.conformance.load import load_cases
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.registry import resolve
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.forms import check_form

Mistake = Callable[[pytest.MonkeyPatch], None]
"""Puts a mistake into our reader."""


def mistaken(
    patch: pytest.MonkeyPatch, mistake: Mistake, case: str, form: str, reader: str = "auto"
) -> None:
    """Our reader is right in a form; with a mistake in it, it is wrong in that form alone."""
    [asked] = [one for one in load_cases("scan") if one.id == case and isinstance(one, ScanCase)]
    own = resolve("scan", reader)
    check_form(asked, own, {"form": form})
    mistake(patch)
    check_form(asked, own, {"form": ""})

    with pytest.raises((Mismatch, InputError)):
        check_form(asked, own, {"form": form})
