"""Log files of Hudi: layout, damage as Hudi 1.2.0 judges it, delete blocks, and real bytes."""

import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seambase.errors import InputError, RefusedError, SeambenchError
from seambase.scan import ScanWarning
from seamkit.core.memory import TrackedAllocator
from seamkit.tables.hudi.log.log import LogBlock, read_blocks
from seamkit_tests.samples.hudi_log_bytes import (
    INSTANT,
    MAGIC,
    SCHEMA,
    block,
    data_block,
    delete_content,
    entries,
)

I1, I2, I3 = "20240101000000001", "20240101000000002", "20240101000000003"
FIRST, SECOND, THIRD = (data_block(i, b"content of " + i.encode()) for i in (I1, I2, I3))


def read(content: bytes, *, strict: bool = False) -> tuple[list[LogBlock], list[ScanWarning]]:
    """Blocks and warnings of a file's bytes."""
    warnings: list[ScanWarning] = []
    return [*read_blocks(content, file="a.log", warnings=warnings, strict=strict)], warnings


def test_a_block_has_its_parts() -> None:
    """Kind, instant, header by Hudi's names, content and offsets of each block, in file order."""
    header: Mapping[int, str] = {8: "base", 2: '"int"', 0: I1, 5: "positions", 7: "true"}
    content = block("parquet", header, b"PAR1") + FIRST
    (first, second), warnings = read(content)
    assert (first.kind, first.instant, first.offset, first.format_version) == ("parquet", I1, 0, 1)
    assert first.header == {
        "BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS": "base",
        "SCHEMA": '"int"',
        "INSTANT_TIME": I1,
        "RECORD_POSITIONS": "positions",
        "IS_PARTIAL": "true",
    }
    assert first.is_partial
    assert not second.is_partial
    assert bytes(first.content) == b"PAR1"
    assert content[first.content_offset :].startswith(b"PAR1")
    assert second.offset == len(content) - len(FIRST)
    assert bytes(second.content) == b"content of " + I1.encode()
    assert warnings == []


@pytest.mark.parametrize(("said", "partial"), [("true", True), ("True", True), ("false", False)])
def test_a_header_says_whether_a_block_is_partial(said: str, partial: bool) -> None:
    """As Java reads booleans, whose letters may be of either case."""
    (found,), _ = read(block("parquet", {0: I1, 2: "", 7: said}, b"PAR1"))
    assert found.is_partial == partial


@pytest.mark.parametrize(
    ("key", "said"), [(7, "4rue"), (7, ""), (6, "true"), (5, "true"), (3, "true")]
)
def test_a_block_that_is_neither_partial_nor_whole_is_no_block(key: int, said: str) -> None:
    """Java takes any other text for false; no other entry is a truth value."""
    with pytest.raises(InputError, match=r"of its header is"):
        read(block("parquet", {0: I1, 2: "", key: said}, b"PAR1"))


def test_an_entry_that_a_header_has_twice_is_refused() -> None:
    """Hudi writes each once; of two the second would hide the first."""
    header = block("parquet", {0: I1, 2: "", 5: "positions", 7: "true"}, b"PAR1")
    twice = header.replace(struct.pack(">ii", 7, 4), struct.pack(">ii", 5, 4))
    with pytest.raises(InputError, match=r"RECORD_POSITIONS is there twice"):
        read(twice)


# What is wrong with a file: bytes, instants of the blocks that survive, offsets passed over.
DAMAGE: dict[str, tuple[bytes, list[str], list[int]]] = {
    "nothing": (FIRST + SECOND, [I1, I2], []),
    "empty file": (b"", [], []),
    "cut in the tail": (FIRST + SECOND[:-1], [I1], [len(FIRST)]),
    "cut in the middle": (FIRST + SECOND[:30], [I1], [len(FIRST)]),
    "cut in the size": (FIRST + SECOND[:10], [I1], [len(FIRST)]),
    "cut behind the magic": (FIRST + MAGIC, [I1], [len(FIRST)]),
    "stray bytes at the end": (FIRST + b"#HUDI", [I1], [len(FIRST)]),
    "five bytes alone": (b"#HUDI", [], [0]),
    "magic twice": (FIRST + MAGIC + SECOND, [I1, I2], [len(FIRST)]),
    "magic three times": (FIRST + MAGIC + MAGIC + SECOND, [I1, I2], [len(FIRST), len(FIRST) + 6]),
    "magic twice at the start": (MAGIC + FIRST, [I1], [0]),
    "garbage takes the block before it": (
        FIRST + SECOND + b"garbage" + THIRD,
        [I1, I3],
        [len(FIRST)],
    ),
    "garbage at the end takes the last block": (FIRST + SECOND + b"garbage", [I1], [len(FIRST)]),
    "size one too large": (
        block("avro", {INSTANT: I1, SCHEMA: '"int"'}, b"x", add_to_size=1) + SECOND,
        [I2],
        [0],
    ),
    "size one too small": (
        block("avro", {INSTANT: I1, SCHEMA: '"int"'}, b"x", add_to_size=-1) + SECOND,
        [I2],
        [0],
    ),
    "total does not fit": (
        FIRST + block("avro", {INSTANT: I2, SCHEMA: '"int"'}, add_to_total=1) + THIRD,
        [I1, I3],
        [len(FIRST)],
    ),
    "size beyond the file": (MAGIC + struct.pack(">q", 2**40) + FIRST, [I1], [0]),
    "size negative": (MAGIC + struct.pack(">q", -5) + FIRST, [I1], [0]),
    "a magic in the content of a cut block": (data_block(I1, SECOND)[:-12], [I2], [0]),
    "a magic in the content of a good block": (
        data_block(I1, MAGIC + b"12345678") + SECOND,
        [I1, I2],
        [],
    ),
    "the search crosses a window": (
        block("avro", {INSTANT: I1, SCHEMA: '"int"'}, bytes(2**20 - 70), add_to_size=1) + SECOND,
        [I2],
        [0],
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_passed_over_as_hudi_does(case: str) -> None:
    """A bad block is left from behind its magic to the next magic, and each stretch is reported."""
    content, survivors, skipped = DAMAGE[case]
    blocks, warnings = read(content)
    assert [b.instant for b in blocks] == survivors
    assert [w.offset for w in warnings] == skipped
    assert all(w.file == "a.log" and w.reason for w in warnings)


@pytest.mark.parametrize("case", DAMAGE)
def test_strict_refuses_damage(case: str) -> None:
    """Strict reading refuses at the first stretch that would be passed over, with its offset."""
    content, survivors, skipped = DAMAGE[case]
    if not skipped:
        assert [b.instant for b in read(content, strict=True)[0]] == survivors
        return
    with pytest.raises(InputError, match=rf"^a\.log: damaged at byte {skipped[0]}: "):
        read(content, strict=True)


def test_every_window_boundary_is_searched() -> None:
    """The next magic is found wherever it lies against the search's windows."""
    for shift in range(14):
        bad = block("avro", {INSTANT: I1}, bytes(2**20 - 60 - shift), add_to_size=1)
        assert [b.instant for b in read(bad + SECOND)[0]] == [I2]


GOOD = {INSTANT: I1, SCHEMA: '"int"'}
BROKEN: dict[str, tuple[bytes, type[SeambenchError], str]] = {
    "no magic at the start": (b"garbage" + FIRST, InputError, "byte 0 should begin a log block"),
    "log format version 0": (block("avro", GOOD, version=0), RefusedError, "format version 0"),
    "log format version 2": (block("avro", GOOD, version=2), RefusedError, "format version 2"),
    "block type 2": (block(2, GOOD), RefusedError, "block type 2"),
    "block type 7": (block(7, GOOD), RefusedError, "block type 7"),
    "block type -1": (block(-1, GOOD), RefusedError, "block type -1"),
    "header key 9": (block("avro", {**GOOD, 9: "x"}), RefusedError, "header key 9"),
    "header key -1": (block("avro", {**GOOD, -1: "x"}), RefusedError, "header key -1"),
    "no instant": (block("avro", {SCHEMA: '"int"'}), InputError, "has no instant"),
    "no schema": (block("avro", {INSTANT: I1}), InputError, "has no schema"),
    "text that is not UTF-8": (block("avro", {INSTANT: b"\xff"}), InputError, "not UTF-8"),
    "a footer": (block("avro", GOOD, footer=entries({0: "x"})), RefusedError, "footer"),
    "bytes behind the footer": (
        block("avro", GOOD, footer=entries({}) + b"z"),
        InputError,
        "1 byte is left",
    ),
    "no footer": (block("avro", GOOD, footer=b""), InputError, "number of header entries"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_damage_is_refused(case: str) -> None:
    """A block whose sizes agree but whose parts are unknown or broken is refused, not skipped."""
    content, error, words = BROKEN[case]
    with pytest.raises(error, match=words) as caught:
        read(FIRST + content if case != "no magic at the start" else content)
    assert str(caught.value).startswith("a.log")


def test_unknown_commands_are_refused() -> None:
    """Rollback is the only command; its target must be there."""
    (unknown,), _ = read(block("command", {INSTANT: I2, 1: I1, 3: "1"}))
    with pytest.raises(RefusedError, match="unknown command '1'"):
        _ = unknown.rollback_target
    (without,), _ = read(block("command", {INSTANT: I2, 3: "0"}))
    with pytest.raises(InputError, match="without a target"):
        _ = without.rollback_target


@given(
    st.lists(st.sampled_from([FIRST, SECOND, MAGIC, b"#HU", b"\x00" * 9, FIRST[:40]]), max_size=6)
)
@settings(deadline=None, max_examples=200)
def test_any_mixture_is_read_or_refused(parts: list[bytes]) -> None:
    """Every byte belongs to a block or to a reported stretch; nothing is lost in between."""
    content = b"".join(parts)
    try:
        blocks, warnings = read(content)
    except InputError:
        assert not content.startswith(MAGIC)
        return
    covered = {w.offset for w in warnings} | {b.offset for b in blocks}
    assert (min(covered) if covered else 0) == 0
    for found in blocks:
        assert content[found.offset :].startswith((FIRST, SECOND))
    skipped = sum(int(w.reason.rsplit("; ", 1)[1].split()[0].replace(",", "")) for w in warnings)
    assert skipped + sum(len(FIRST) for _ in blocks) == len(content)


#: All digits of Hudi's decimals among ordering values.
_LONG = Decimal("123456789012345.678901234567891")
DELETES: list[tuple[Any, str, Any]] = [
    (None, "null", None),
    (("BooleanWrapper", {"value": True}), "boolean", True),
    (("IntWrapper", {"value": 0}), "int", 0),
    (("IntWrapper", {"value": -(2**31)}), "int", -(2**31)),
    (("LongWrapper", {"value": 2**62}), "long", 2**62),
    (("FloatWrapper", {"value": 0.5}), "float", 0.5),
    (("DoubleWrapper", {"value": -1e300}), "double", -1e300),
    (("BytesWrapper", {"value": b"\x00\xff"}), "bytes", b"\x00\xff"),
    (("StringWrapper", {"value": "näch"}), "string", "näch"),
    (("DateWrapper", {"value": 19000}), "date", 19000),
    (("DecimalWrapper", {"value": Decimal("-1.5")}), "decimal", Decimal("-1.5")),
    (("DecimalWrapper", {"value": _LONG}), "decimal", _LONG),
    (("TimeWrapper", {"value": 5}), "time-micros", 5),
    (("TimestampWrapper", {"value": 7}), "timestamp-micros", 7),
    (("ArrayWrapper", {"wrappedValues": None}), "array", None),
    (
        (
            "ArrayWrapper",
            {
                "wrappedValues": [
                    ("LongWrapper", {"value": 5}),
                    None,
                    ("StringWrapper", {"value": "x"}),
                    ("LocalDateWrapper", {"value": 3}),
                    ("DecimalWrapper", {"value": Decimal("0.25")}),
                ]
            },
        ),
        "array",
        (("long", 5), ("null", None), ("string", "x"), ("date", 3), ("decimal", Decimal("0.25"))),
    ),
]


def delete_block(content: bytes) -> LogBlock:
    """A delete block of this content, read back."""
    (found,), _ = read(block("delete", {INSTANT: I1}, content))
    return found


def test_delete_records() -> None:
    """Keys, partition paths and ordering values of every type of the union, with type words."""
    records = [(f"key {i}", None if i == 1 else f"p={i}", v) for i, (v, _, _) in enumerate(DELETES)]
    with TrackedAllocator() as allocator:
        keys = delete_block(delete_content(records)).delete_keys(allocator)
        assert len(keys) == len(records)
        assert keys.record_keys == [key for key, _, _ in records]
        assert keys.batch.column("partition_path").to_pylist() == [path for _, path, _ in records]
        assert keys.ordering_types == [word for _, word, _ in DELETES]
        assert keys.ordering_values == [value for _, _, value in DELETES]
        del keys


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (delete_content([], version=1), InputError, "broken at byte 1"),
        (delete_content([], version=2), InputError, "broken at byte 1"),
        (delete_content([], version=4), RefusedError, "unknown version 4"),
        (delete_content([], version=9), RefusedError, "unknown version 9"),
        (b"\x00\x00\x00\x03", InputError, "too few"),
        (delete_content([("k", "", None)]) + b"\x00", InputError, "claim"),
        (delete_content([("k", "", None)])[:-1], InputError, "claim"),
        (struct.pack(">ii", 3, 2) + b"\x02\x04", InputError, "delete block at byte 0"),
        (struct.pack(">ii", 3, 1) + b"\x80", InputError, "delete block at byte 0"),
        (struct.pack(">ii", 3, 5) + b"\x02\x00\x00\x1a\x00", InputError, "no such branch"),
    ],
)
def test_broken_delete_blocks(content: bytes, error: type[SeambenchError], words: str) -> None:
    """Versions beyond 3 are refused by number; a list that breaks its format is an error."""
    with pytest.raises(error, match=words):
        delete_block(content).delete_keys()


def test_ordering_texts_are_utf8() -> None:
    """A text that is none is a named error, alone and in a list of several values."""
    for value in (
        ("StringWrapper", {"value": "~"}),
        ("ArrayWrapper", {"wrappedValues": [("StringWrapper", {"value": "~"})]}),
    ):
        content = delete_content([("k", None, value)]).replace(b"~", b"\xde")
        keys = delete_block(content).delete_keys()
        with pytest.raises(InputError, match=r"a\.log, .* an ordering value is not UTF-8"):
            _ = keys.ordering_values
