"""Numbers in groups of seven bits: up to 64 bits of them, and no byte beyond their end."""

import pytest

from seambase.errors import InputError
from seambench.formats.forms import footer
from seamkit.core.varints import signed, varint, varint_bytes

_NUMBERS = [0, 1, 127, 128, 300, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@pytest.mark.parametrize("value", _NUMBERS)
def test_numbers_are_read_as_they_are_written(value: int) -> None:
    """As the judge's own functions write and read them; what lies around is not looked at."""
    whole = footer.varint(value)
    assert varint_bytes(value) == whole
    assert varint(b"\xff" + whole + b"\xff", 1, "") == (value, 1 + len(whole))


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"\xff" * 9, b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00"]
)
def test_a_number_that_does_not_end_in_64_bits_is_refused(data: bytes) -> None:
    """Cut off, of 65 bits, of eleven bytes."""
    with pytest.raises(InputError, match="here: a number at byte 0 does not end in 64 bits"):
        varint(data, 0, "here")


def test_the_lowest_bit_is_the_sign() -> None:
    """0, -1, 1, -2 are counted up; the ends are those of 64 bits."""
    assert [signed(value) for value in range(4)] == [0, -1, 1, -2]
    assert [signed(value) for value in ((1 << 64) - 2, (1 << 64) - 1)] == [2**63 - 1, -(2**63)]
