"""HFiles: every entry comes, and broken bytes are told by name."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError
from seamkit.tables.hudi.listing.hfile import read_hfile
from seamkit_tests.samples.hfile_bytes import build_hfile

_BLOCKS = [[(b"a", b"1"), (b"bb", b"")], [(b"c", b"x" * 300)], []]
_ENTRIES = [pair for block in _BLOCKS for pair in block]


@pytest.mark.parametrize("codec", [1, 2])
@pytest.mark.parametrize("checksum", [0, 1, 2])
def test_all_entries_come_in_order(codec: int, checksum: int) -> None:
    """Data blocks are walked from first to last, other blocks between them are passed over."""
    content = build_hfile(_BLOCKS, codec=codec, checksum=checksum)
    assert read_hfile(content, file="f").entries == _ENTRIES


@pytest.mark.parametrize(
    ("info", "tail"),
    [
        ({}, b""),
        ({b"KEY_VALUE_VERSION": b"\0\0\0\1"}, b"\x8c\x01\x02\x03\x04"),
        ({b"KEY_VALUE_VERSION": b"\0\0\0\1"}, b"\x90"),
        ({b"KEY_VALUE_VERSION": b"\0\0\0\1", b"hfile.MAX_TAGS_LEN": b"\0\0\0\2"}, b"\0\2xy\0"),
    ],
    ids=["no version", "long version", "negative version", "tags"],
)
def test_what_follows_a_value_is_told_by_the_file(info: dict[bytes, bytes], tail: bytes) -> None:
    """Version numbers are there if KEY_VALUE_VERSION is 1, tags if MAX_TAGS_LEN is told."""
    found = read_hfile(build_hfile(_BLOCKS, info, tail=tail), file="f")
    assert found.entries == _ENTRIES
    assert found.info == info


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"version": 2}, RefusedError, "HFile version 2"),
        ({"codec": 5}, RefusedError, "compression 5"),
        ({"checksum": 3}, RefusedError, "checksums of type 3"),
        ({"kind": 8}, RefusedError, "the cell at 0 is of kind 8"),
        ({"entries": 4}, InputError, "3 entries, but its trailer says 4"),
        ({"tail": b""}, InputError, "block at byte 0: "),
        ({"tail": b"\0\0\0"}, InputError, "block at byte 0: "),
    ],
)
def test_other_kinds_are_refused(
    options: dict[str, int], error: type[Exception], message: str
) -> None:
    """What is not read is refused by name, what contradicts itself told with its place."""
    with pytest.raises(error, match=message):
        read_hfile(build_hfile(_BLOCKS, **options), file="f")  # type: ignore[arg-type]


def test_a_flipped_bit_does_not_go_unseen() -> None:
    """Every bit of every block is guarded by its checksum, its header or the trailer."""
    whole = build_hfile(_BLOCKS)
    blocks = len(whole) - 4096
    seen = set()
    for at in range(blocks):
        broken = bytearray(whole)
        broken[at] ^= 0x10
        try:
            seen.add(tuple(read_hfile(bytes(broken), file="f").entries))
        except (InputError, RefusedError):
            continue
    assert seen <= {tuple(_ENTRIES)}


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_broken_bytes_raise_named_errors_alone(data: st.DataObject) -> None:
    """Whatever the bytes, the reader answers with entries or with an error of ours."""
    content = bytearray(
        build_hfile(
            _BLOCKS, codec=data.draw(st.integers(1, 2)), checksum=data.draw(st.integers(0, 2))
        )
    )
    tail = len(content) - 4096
    places = st.one_of(st.integers(0, tail + 40), st.integers(0, len(content) - 1))
    for at in data.draw(st.lists(places, max_size=6)):
        content[at] = data.draw(st.integers(0, 255))
    with suppress(InputError, RefusedError):
        read_hfile(bytes(content), file="f")
