"""The suite finds serdes that are wrong, and lets one that is right pass."""

import inspect
import json
import math
import re
import shutil
import sys
from dataclasses import replace
from decimal import Decimal
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError, UsageError
from seambase.pages import reader
from seambase.pages.reader import HEADER_BYTES
from seambase.types import parse_presto
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.contracts.common import Kind
from seambench.contracts.outcomes import NotOffered
from seambench.contracts.serde import StreamStep
from seambench.seams.serde.cases import ByteEdit, SerdeCase, edited
from seambench.seams.serde.damage import damaged
from seambench.seams.serde.streams import _dressed, replayed, steps_over
from seambench.seams.serde.values import from_golden, plain_values, value_difference
from seambench.seams.serde.vectors import Expected
from seambench_suites.cases import ROOT
from seambench_suites.meta import plain_serde
from seambench_suites.meta.plain_serde import PlainSerde


@cache
def _cases() -> dict[str, SerdeCase]:
    return {case.id: case for case in load_cases("serde") if isinstance(case, SerdeCase)}


@pytest.mark.parametrize("operation", ["decode", "encode", "truncate", "flip", "garble"])
def test_right_serde_passes(operation: str) -> None:
    """The witnesses as an implementation pass a sample of everything that is asked of pages."""
    chosen = [
        case
        for id_, case in _cases().items()
        if id_.startswith("serde/presto/") and case.operation == operation
    ][::15]
    outcomes = {case.id: verdict(case, PlainSerde())[:2] for case in chosen}
    assert {id_: o for id_, o in outcomes.items() if o[0] != "pass"} == {}
    assert len(outcomes) > 6


@pytest.mark.parametrize(
    ("case", "says"),
    [("presto/bigint_1_rows/re-encode", "no re-encode"), ("stream/ranges/stream", "no stream")],
)
def test_what_a_serde_does_not_offer_is_told(case: str, says: str) -> None:
    """It is no failure of it."""
    found, reason = verdict(_cases()[f"serde/{case}"], PlainSerde())[:2]
    assert (found, says in reason) == ("not-offered", True), reason


def test_what_is_expected_of_a_stream_is_what_its_file_says() -> None:
    """Where a file states the pages, they are those that its steps give by the witness's rule."""
    stated = [
        case
        for id_, case in _cases().items()
        if id_.startswith("serde/stream/") and case.steps and case.expect.batches
    ]
    for case in stated:
        pages = replayed(case.vector().batches, case.steps, keeps=True)
        assert list(pages) == list(case.expected()), case.id
    assert len(stated) >= 5


def _folder(tmp_path: Path, name: str) -> Path:
    for ending in ("bin", "json"):
        shutil.copy(ROOT / "golden" / "presto" / f"{name}.{ending}", tmp_path)
    return tmp_path


def test_other_folders_are_checked(tmp_path: Path) -> None:
    """Vectors that others bring are checked like ours, under the name of their folder."""
    folder = _folder(tmp_path, "bigint_1_rows")
    cases = load_cases("serde", golden=folder)
    assert {case.id.split("/")[1] for case in cases} == {tmp_path.name}
    assert {verdict(case, PlainSerde()).word for case in cases} == {"pass", "not-offered"}


def test_wrong_vectors_are_found(tmp_path: Path) -> None:
    """A vector whose values are not those of its bytes fails, one with other bytes is an error."""
    folder = _folder(tmp_path, "bigint_1_rows")
    file = folder / "bigint_1_rows.json"
    content = json.loads(file.read_text())
    content["pages"][0]["values"] = [["12"]]
    file.write_text(json.dumps(content))
    words = {case.id.split("/")[-1]: case for case in load_cases("serde", golden=folder)}
    found, reason = verdict(words["decode"], PlainSerde())[:2]
    assert (found, "12 expected" in reason) == ("fail", True)


def test_exchanged_bytes_are_found(tmp_path: Path) -> None:
    """Bytes whose digest is not the one told are an error, not a verdict on an implementation."""
    folder = _folder(tmp_path, "bigint_1_rows")
    (folder / "bigint_1_rows.bin").write_bytes(b"\0" * 50)
    case = next(case for case in load_cases("serde", golden=folder))
    assert verdict(case, PlainSerde()).word == "error"


def test_folders_without_vectors_are_refused(tmp_path: Path) -> None:
    """A folder that holds nothing to check is wrong usage, not a pass."""
    with pytest.raises(UsageError, match="holds no golden files"):
        load_cases("serde", golden=tmp_path)


def test_garbled_pages_differ_in_one_number_of_the_payload() -> None:
    """Nothing moves: a number within the page is another, which may be the one that was there."""
    vector = _cases()["serde/presto/bigint_1_rows/garble"].vector()
    assert vector.data is not None
    changed = set()
    for defect in damaged("garble", vector):
        assert len(defect.data) == len(vector.data), defect.what
        both = zip(defect.data[HEADER_BYTES:], vector.data[HEADER_BYTES:], strict=True)
        places = [at for at, (a, b) in enumerate(both) if a != b]
        assert not places or places[-1] - places[0] < 4, defect.what
        changed |= set(places)
    # The count of columns lies at the begin: nothing else says as much.
    assert 0 in changed


_CHECKS = [
    (
        "header-checksum-of-nought",
        "if marker & CHECKSUMMED and",
        "if crc and marker & CHECKSUMMED and",
    ),
    (
        "second-page-wrong-checksum",
        "if marker & CHECKSUMMED and",
        "if not begin and marker & 4 and",
    ),
    ("header-compressed-to-more", "size >= uncompressed", "size == uncompressed"),
    ("header-compressed-to-as-much", "size >= uncompressed", "size > uncompressed"),
    (
        "header-encrypted-and-checked",
        "if marker & ENCRYPTED:",
        "marker &= ~ENCRYPTED if marker & CHECKSUMMED else marker\n        if marker & ENCRYPTED:",
    ),
    ("uncompressed-size-beyond", "len(payload) != uncompressed", "len(payload) > uncompressed"),
    ("bytes-after-the-columns-compressed", "if cursor.left:", "if cursor.at > HEADER_BYTES + 130:"),
    (
        "second-column-of-more-rows",
        "if column.rows != rows:",
        "if not number and column.rows != rows:",
    ),
    ("nulls-past-1024-rows", "(row & 7)) & 1)", "(row & 7)) & 1) and row < 1024"),
]


@pytest.mark.parametrize(("name", "check", "instead"), _CHECKS, ids=[one[0] for one in _CHECKS])
def test_a_reader_that_lacks_one_check_is_found(
    name: str, check: str, instead: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The witness's reader with one condition changed does not pass the case of that condition."""
    source, file = inspect.getsource(reader), tmp_path / "reader.py"
    assert check in source
    file.write_text(source.replace(check, instead), encoding="utf-8")
    spec = spec_from_file_location(reader.__name__, file)
    assert spec is not None
    assert spec.loader is not None
    changed = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, reader.__name__, changed)
    spec.loader.exec_module(changed)
    monkeypatch.setattr(plain_serde, "read_pages", changed.read_pages)
    [case] = [one for id_, one in _cases().items() if f"/{name}/decode" in id_]
    assert verdict(case, PlainSerde()).word in ("fail", "error")


def test_a_peer_refuses_damage_by_any_error_of_ours() -> None:
    """It says that it refuses, not in which of our words; our own must call it broken input."""
    case = _cases()["serde/presto/bigint_1_rows/truncate"]

    class Refuses(PlainSerde):
        def deserialize(self, request: Any, data: Any) -> Any:
            try:
                return super().deserialize(request, data)
            except InputError as error:
                raise UsageError(f"at 0: {error}") from error

    class Foreign(Refuses):
        kind: Kind = "peer"

    assert verdict(case, Refuses()).word == "fail"
    assert verdict(case, Foreign()).word == "pass"


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        (ByteEdit("truncate", 3), b"abc"),
        (ByteEdit("truncate", -1), b"abcde"),
        (ByteEdit("overwrite", 1, "7878"), b"axxdef"),
        (ByteEdit("insert", -2, "78"), b"abcdxef"),
    ],
    ids=str,
)
def test_an_edit_does_what_its_word_says(edit: ByteEdit, left: bytes) -> None:
    """Bytes behind a cut are gone, others are put over what is there or between it."""
    assert edited(b"abcdef", edit) == left


@pytest.mark.parametrize("operation", ["truncate", "flip", "garble"])
def test_what_has_no_bytes_is_not_damaged(operation: str) -> None:
    """A vector of values alone is not offered: nobody is asked about bytes that are not known."""
    vector = _cases()["serde/presto/bigint_1_rows/garble"].vector()
    with pytest.raises(NotOffered, match="no bytes are known"):
        list(damaged(operation, replace(vector, data=None)))


def test_every_offset_of_a_page_is_garbled_by_numbers_that_nearly_fit() -> None:
    """Each place of a list of offsets is tried, and the count of rows and one more is."""
    vector = _cases()["serde/presto/varchar_utf8/garble"].vector()
    assert vector.data is not None
    rows = vector.batches[0].rows
    begin = vector.data.index(b"VARIABLE_WIDTH") + len("VARIABLE_WIDTH") + 4 - HEADER_BYTES
    told = [
        re.fullmatch(r"(-?\d+) at byte (\d+) .*", one.what) for one in damaged("garble", vector)
    ]
    places = {int(one[2]) for one in told if one}
    assert rows > 3
    assert {begin + 4 * row for row in range(rows)} <= places
    assert rows + 1 in {int(one[1]) for one in told if one}


def test_any_batches_are_put_through_the_same_steps() -> None:
    """Halves exchanged, all rows, none, rows twice, and the last of them written backwards."""
    steps = steps_over([Expected(3, [["a", "b", "c"]])])
    pages = ["", "bca", "bcaabc", "bcaabc", "aabbcc", "baa"]
    assert StreamStep("append", 0, range=(0, 0)) in steps
    found = replayed([Expected(3, [["a", "b", "c"]])], steps, keeps=True)
    assert ["".join(page.columns[0]) for page in found] == pages


def test_a_single_row_can_be_a_constant() -> None:
    """A column of one row is handed over as a run, as of more rows that are all the same."""
    for values in ([7], [7, 7, 7]):
        batch = _dressed(pa.record_batch({"a": pa.array(values)}), {"a": "constant"})
        batch.validate(full=True)
        assert plain_values(batch.column(0)) == values
    with pytest.raises(UsageError, match="cannot be handed over as 'constant'"):
        _dressed(pa.record_batch({"a": [7, 8]}), {"a": "constant"})


def test_structs_without_fields_are_rows_or_null() -> None:
    """There is one value for each, which holds nothing."""
    array = pa.array([{}, None, {}], pa.struct([]))
    assert plain_values(array) == [(), None, ()]


@pytest.mark.parametrize(
    ("text", "fits"), [("12.34", True), ("1.5", False), ("0.05", True), ("123.45", False)]
)
def test_decimals_have_the_digits_of_their_type(text: str, fits: bool) -> None:
    """A golden value with fewer or more digits is a mistake of its file."""
    type_ = parse_presto("decimal(4,2)")
    if fits:
        assert from_golden(text, type_, "millis") == Decimal(text)
    else:
        with pytest.raises(UsageError, match="other digits than the type has"):
            from_golden(text, type_, "millis")


@pytest.mark.parametrize(
    ("want", "have", "same"),
    [(-0.0, 0.0, False), (0.0, -0.0, False), (-0.0, -0.0, True), (math.nan, math.nan, True)],
)
def test_what_is_read_keeps_the_sign_of_nought(want: float, have: float, same: bool) -> None:
    """Numbers that are equal in arithmetic are not one value, and any NaN is another's."""
    batch = pa.record_batch({"a": pa.array([have])})
    found = value_difference([want], batch, 0, parse_presto("double"), "millis")
    assert (found is None) == same
