"""Delete blocks of writers before Hudi 0.14, which hold Java objects in Kryo's form.

Their bytes are laid out by hand, as Kryo 4 writes them and `SerializationUtils` of Hudi 1.2.0 does.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from seambase.errors import InputError, RefusedError, SeambenchError
from seamkit.tables.hudi.log.deletes import DeleteKeys, read_delete_keys
from seamkit_tests.hudi.test_log_merges import PATHS, Log, merged
from seamkit_tests.samples.hudi_log_bytes import java_delete_content

_NONE = ("null", None)
_LONG = "x" * 70
_TEXTS = ("ab", "a", "", "ä", "€uro", "😀", _LONG, f"{_LONG}ü", "y" * 9000)


def _read(content: bytes) -> DeleteKeys:
    return read_delete_keys(memoryview(content), source="block")


def test_a_block_is_what_hudi_wrote() -> None:
    """Two records of one partition, whose second names the path of the first."""
    records = [("key1", "2023-01-01", ("int", 5873)), ("key2", "2023-01-01", ("int", 11746))]
    names = [f"org.apache.hudi.common.model.{name}" for name in ("DeleteRecord", "HoodieKey")]
    last = [
        name[:-1].encode() + bytes([ord(name[-1]) | 128]) for name in (f"[L{names[0]};", *names)
    ]
    content = b"\1\0" + last[0] + b"\1\3"
    content += b"\1\1" + last[1] + b"\1" + b"\1\2" + last[2] + b"\1"
    content += b"\x012023-01-0\xb1\1key\xb1" + b"\2\xe2\x5b"
    content += b"\1\1\1" + b"\1\2\1" + b"\5\1key\xb2" + b"\2\xc4\xb7\1"
    assert len(content) == 168
    content = struct.pack(">ii", 2, len(content)) + content
    assert java_delete_content(records) == content
    deletes = _read(content)
    assert deletes.record_keys == ["key1", "key2"]
    assert deletes.batch.column("partition_path").to_pylist() == ["2023-01-01"] * 2
    assert (deletes.ordering_types, deletes.ordering_values) == (["int"] * 2, [5873, 11746])


@pytest.mark.parametrize(
    ("word", "value", "shown"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("boolean", False, False),
        *(("int", n, n) for n in (0, -1, 63, 64, -(2**31), 2**31 - 1)),
        *(("long", n, n) for n in (0, -1, 2**55, 2**56, -(2**63), 2**63 - 1)),
        ("float", 0.1, struct.unpack(">f", struct.pack(">f", 0.1))[0]),
        ("double", -0.1, -0.1),
        *(("string", text, text) for text in _TEXTS),
        ("decimal", (12345, 2), Decimal("123.45").quantize(Decimal("1e-15"))),
        ("decimal", (-1, 15), Decimal("-1e-15")),
        ("decimal", (255, 15), Decimal("2.55e-13")),  # as many bits as bytes hold without a sign
        ("decimal", (10**22, 0), Decimal(10**22)),
    ],
    ids=repr,
)
def test_ordering_values_of_all_types(word: str, value: Any, shown: Any) -> None:
    """A type is a number that Kryo has for it, a decimal a class by its name; null has none."""
    deletes = _read(java_delete_content([("k", "p", (word, value)), ("l", "p", (word, value))]))
    assert deletes.ordering_types == [word] * 2
    assert deletes.ordering_values == [shown] * 2


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("text", [None, *_TEXTS], ids=repr)
def test_keys_may_have_any_letters(version: int, text: str | None) -> None:
    """Keys and partitions are texts, or null; what was there before is a number."""
    records = [(text, "p", _NONE), ("k", text, _NONE), (text, text, _NONE)]
    deletes = _read(java_delete_content(records, version=version))
    assert deletes.record_keys == [text, "k", text]
    assert deletes.batch.column("partition_path").to_pylist() == ["p", text, text]
    assert deletes.ordering_types == ["null"] * 3


@PATHS
@pytest.mark.parametrize(
    ("version", "order", "stays"),
    [
        (1, _NONE, False),
        (2, _NONE, False),
        (2, ("int", 0), False),
        (2, ("long", 4), True),
        (2, ("long", 5), False),
        (2, ("int", 4), False),  # of another type than the column, which has no order
    ],
)
def test_deletes_meet_rows_as_others_do(
    tmp_path: Path, path: str, version: int, order: tuple[str, Any], stays: bool
) -> None:
    """Keys alone have no order; values are compared with those of rows of their type."""
    log = Log().java_deletes(("a", order), ("c", order), version=version)
    base = [("a", "x", 1, 5), ("b", "y", 1, 5)]
    expected = base if stays else base[1:]
    assert merged(tmp_path, base, log, path=path) == expected


def _changed(content: bytes, old: bytes, new: bytes) -> bytes:
    """A block in which something stands in the place of another, which is there once, or behind."""
    body = content[8:]
    assert not old or body.count(old) == 1
    body = body.replace(old, new) if old else body + new
    return content[:4] + struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("version", [1, 2])
def test_texts_and_deletes_may_be_none(version: int) -> None:
    """Kryo has a mark for a text that is null, beside that of an object; an array may be empty."""
    content = java_delete_content([("k", "p", _NONE)], version=version)
    deletes = _read(_changed(content, b"\1\x82k", b"\1\x80"))
    assert deletes.record_keys == [None]
    assert deletes.batch.column("partition_path").to_pylist() == ["p"]
    assert len(_read(java_delete_content([], version=version))) == 0


_WHOLE = java_delete_content(
    [("key1", "p", ("int", 5)), ("ä", "p", ("string", "key1")), ("c", None, ("decimal", (1, 2)))]
)


@pytest.mark.parametrize("length", range(8, len(_WHOLE)))
def test_a_block_that_is_cut_is_an_error(length: int) -> None:
    """Wherever it ends, whatever its length says."""
    with pytest.raises(InputError, match="block"):
        _read(struct.pack(">ii", 2, length - 8) + _WHOLE[8:length])


@pytest.mark.parametrize("at", range(8, len(_WHOLE)))
def test_a_changed_byte_is_an_error_or_another_value(at: int) -> None:
    """It ends no process, and takes no record away."""
    for changed in (0x00, 0x01, 0x7F, 0x80, 0xFF, _WHOLE[at] ^ 1):
        content = _WHOLE[:at] + bytes([changed]) + _WHOLE[at + 1 :]
        try:
            deletes = _read(content)
        except SeambenchError as error:
            assert "block" in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert len(deletes) == 3
            assert len(deletes.ordering_values) == 3


_BROKEN = "broken at byte"


@pytest.mark.parametrize(
    ("order", "old", "new", "error", "says"),
    [
        # What follows a value of another class cannot be read; Utf8, as 0.13 knows it.
        (("boolean", True), b"\5\1", b"\x1d\1\3ab", RefusedError, "Java class 27"),
        (
            *(("decimal", (1, 2)), b"math.BigDecima\xec", b"time.LocalDat\xe5"),
            *(RefusedError, "Java class 'java.time.LocalDate'"),
        ),
        # A number may name any object that was there before, or none; a class has another name.
        *(
            (_NONE, b"HoodieKe\xf9\1", b"HoodieKe\xf9" + bytes([mark]), InputError, _BROKEN)
            for mark in (0, 2, 3, 4, 9)
        ),
        (_NONE, b"Ke\xf9", b"Ke\xfa", InputError, r"HoodieKez' where a .*HoodieKey is expected"),
        # Five bytes hold more than an int: too long, too small, too large.
        *(
            (("int", 777), b"\x92\x0c", number, InputError, _BROKEN)
            for number in (b"\x80" * 5, b"\xff\xff\xff\xff\x7f", b"\xfe\xff\xff\xff\x7f")
        ),
        # No column of Spark's has such points; newer blocks compare fifteen digits behind it.
        *(
            (("decimal", (1, scale)), b"", b"", InputError, f"a decimal of {scale} digits behind")
            for scale in (-1, 39)
        ),
        (("decimal", (1, 16)), b"", b"", RefusedError, "value 1E-16, and more than 15 digits"),
        (("decimal", (1, 2)), b"\2\1\4", b"\0", InputError, _BROKEN),  # less than no bytes
        (_NONE, b"", b"\0", InputError, "1 byte follows the delete records"),
    ],
    ids=repr,
)
def test_what_is_no_delete_is_refused(
    order: tuple[str, Any], old: bytes, new: bytes, error: type[Exception], says: str
) -> None:
    """By its place, or the name of the class that is there; the array fills the block."""
    content = _changed(java_delete_content([("k", "p", order)]), old, new)
    with pytest.raises(error, match=says):
        _read(content)
