"""Values that a filter names."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seamkit.files.expressions import named_values

K, N = pc.field("k"), pc.field("n")


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        (K == "a", {"a"}),
        (pc.scalar("a") == K, {"a"}),
        (K.isin(["a", "b"]), {"a", "b"}),
        ((K == "a") | (K == "é😀"), {"a", "é😀"}),
        ((K == "a") & (N > 3), {"a"}),
        ((K == "a") & (K == "b"), set()),
        (K.isin(["a", "b"]) & K.isin(["b", "c"]), {"b"}),
        (pc.if_else(K.is_valid(), K.isin(["a"]), pa.scalar(None, pa.bool_())), {"a"}),
        ((K == "a") | (N > 3), None),
        (K != "a", None),
        (~(K == "a"), None),
        (K > "a", None),
        (pc.field("l") == K, None),
        (pc.utf8_lower(K) == "a", None),
        (pc.field("s", "k") == "a", None),
        (pc.if_else(K.is_valid(), K.isin(["a"]), pa.scalar(True)), None),
        (K.is_null(), None),
        (pc.scalar(True), None),
        (N == 5, None),
    ],
    # Sets have no order that stays; two processes must call a test alike.
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_the_values_that_a_condition_leaves_to_a_column(
    condition: pc.Expression, values: set[Any] | None
) -> None:
    """All that it may have, or None where the condition does not name them."""
    found = named_values(condition, "k")
    assert found == (None if values is None else frozenset(values))


def test_a_name_that_looks_like_a_word_of_the_form_is_a_name() -> None:
    """Names and literals are told from calls by their place, not by their text."""
    condition = (pc.field("end") == "call") & (pc.field("literal") == 3)
    assert named_values(condition, "end") == frozenset(["call"])
    assert named_values(condition, "literal") == frozenset([3])
