"""What is told of an exchange on Spark that failed, without Spark."""

import pytest

from seambench.bench.exchange.on_spark import _reason


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "\n  Job aborted.\nat java.lang\n  seambench.errors: a row is lost\nmore",
            "a row is lost",
        ),
        ("\n  Job aborted.\nat java.lang", "Job aborted."),
        ("", "ValueError"),
    ],
)
def test_the_line_that_tells_most_is_told(said: str, told: str) -> None:
    """What a task of ours raised, else the first line, else the kind of error."""
    assert _reason(ValueError(said)).endswith(told)
