"""Who vouches for a case: the first of engine, another's implementation, specification, nobody."""

from __future__ import annotations

import pytest

from seambench.report.views import vouched as view
from seambench.report.views.outcomes import Column, Seen
from seambench.report.views.vouched import right_peers, vouched


class _Case:
    """As much of a case as counts here."""

    def __init__(self, name: str, witness: str = "") -> None:
        self.id = f"scan/lake/{name}"
        self.witness = witness


def _column(name: str, about: str, **kinds: str) -> Column:
    found = Column("scan", name, "1", about)
    for case, kind in kinds.items():
        found.outcomes[f"scan/lake/{case}"] = Seen(kind, "pass" if kind == "right" else "fail")
    return found


def test_the_first_that_vouches_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What only our own implementations pass, nobody vouches for; nor does a wrong peer."""
    cases = [
        _Case("a", "Lake 2.0"),
        _Case("b", "specification"),
        _Case("c", "specification"),
        _Case("d"),
        _Case("e"),
        _Case("f"),
    ]
    monkeypatch.setattr(view, "load_cases", lambda _: cases)
    columns = [
        _column("theirs", "peer", a="right", b="right", d="right", e="wrong"),
        _column("ours", "native", c="right", e="right", f="right"),
    ]
    (found,) = vouched(columns)
    assert (found.engine, found.reader, found.specification, found.alone) == (1, 2, 1, 2)
    assert found.cases == 6


def test_a_peer_counts_once_for_all_its_versions() -> None:
    """A version that is right is enough, whatever others do."""
    columns = [_column("lake", "peer", a=kind) for kind in ("wrong", "right", "right")]
    assert right_peers(columns) == {"scan/lake/a": ["lake"]}
