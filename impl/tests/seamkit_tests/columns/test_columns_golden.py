"""Golden off-heap tables through the implementation, without the suites' own check."""

from __future__ import annotations

from typing import Any

import pytest

from seambench.contracts.column import ColumnRequest
from seambench_impl.column import OffHeapColumns
from seamkit_tests.samples.golden_columns import GOLDEN, load_golden


def _cases() -> list[str]:
    return sorted(file.name for file in GOLDEN.glob("*.json") if file.name != "type_strings.json")


def _request(case: Any) -> ColumnRequest:
    return ColumnRequest(
        fields=case["fields"],
        types=case["types"],
        rows=case["rows"],
        required_fields=case["required_fields"],
        nested_fields=case.get("nested_fields"),
        fetch_size=case["fetch_size"],
        chunk_rows=[chunk["num_rows"] for chunk in case["chunks"]],
    )


def _matches(expected: str, found: bytes) -> bool:
    pairs = zip(expected[::2], expected[1::2], strict=True)
    wanted = ["".join(pair) for pair in pairs]
    return len(wanted) == len(found) and all(
        want in ("??", f"{byte:02x}") for want, byte in zip(wanted, found, strict=True)
    )


@pytest.mark.parametrize("name", _cases())
def test_tables_match_byte_for_byte(name: str) -> None:
    """Every buffer the format determines is the one StarRocks wrote; nothing is left behind."""
    case = load_golden(name)
    table = OffHeapColumns()
    chunks = table.chunks(_request(case))
    assert len(chunks) == len(case["chunks"])
    for want, have in zip(case["chunks"], chunks, strict=True):
        assert have.num_rows == want["num_rows"]
        for slot, got in zip(want["slots"], have.slots, strict=True):
            assert (got.kind, got.column) == (slot["kind"], slot["column"])
            assert _matches(slot.get("hex", ""), got.content or b""), (slot, got)
    assert table.live_blocks() == 0


@pytest.mark.parametrize(
    ("text", "item", "content"),
    [
        ("string", "a\ud800b", b"a?b"),  # Java's encoder writes ? for half a character
        ("string", "\U0001d518", b"\xf0\x9d\x94\x98"),
        ("int(11)", 7, (7).to_bytes(4, "little")),  # Java ignores what follows a type
        ("decimal32(9,2)", "1.5", (150).to_bytes(8, "little")),
        ("date", "0000-01-01", (1721060).to_bytes(4, "little")),
        ("date", "-0001-01-01", (1720695).to_bytes(4, "little")),
        ("date", "-4712-01-01", (38).to_bytes(4, "little")),  # Julian day 0 is in -4713
        ("date", "+10000-01-01", (5373485).to_bytes(4, "little")),
        ("timestamp", "-0001-01-01 00:00:00.000001", (1720695 << 40 | 1).to_bytes(8, "little")),
    ],
)  # fmt: skip
def test_values_that_only_java_has(text: str, item: Any, content: bytes) -> None:
    """Tables brought by others may hold what StarRocks takes, and our own types refuse."""
    request = ColumnRequest(["c"], [text], [[item]], ["c"], None, 1, [1])
    table = OffHeapColumns()
    (chunk,) = table.chunks(request)
    assert chunk.slots[-1].content == content
    assert table.live_blocks() == 0


def test_there_are_golden_tables() -> None:
    """The golden folder is where the test looks for it, and holds as many cases as it should."""
    assert len(_cases()) == 45
