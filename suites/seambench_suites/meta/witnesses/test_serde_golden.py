"""The golden bytes and the witnesses agree, so that each vouches for the other."""

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from seambase.pages.reader import (
    CHECKSUMMED,
    COMPRESSED,
    Page,
    PageOptions,
    layout_of,
    page_options,
    read_pages,
)
from seambase.types import parse_presto
from seambench.conformance.judge import verdict
from seambench.conformance.load import load_cases
from seambench.conformance.plain import canonical
from seambench.seams.serde.blocks import block_array, block_values
from seambench.seams.serde.cases import SerdeCase, serde_cases
from seambench.seams.serde.plain_pages import payload_of
from seambench.seams.serde.plain_rows import compact_row, framed, unsafe_row
from seambench.seams.serde.streams import batches_of
from seambench.seams.serde.values import plain_values
from seambench.seams.serde.vectors import Vector, load_golden, of_values
from seambench.seams.serde.written import encode_problem, marker_differs
from seambench_suites.cases import ROOT
from seambench_suites.meta.plain_serde import PlainSerde

PAGES = sorted((ROOT / "golden" / "presto").glob("*.json"))
ROWS = sorted((ROOT / "golden" / "unsaferow").glob("*.json"))
_VELOX_ROWS = sorted((ROOT / "golden" / "velox").glob("unsafe_*.json")) + sorted(
    (ROOT / "golden" / "velox").glob("compact_*.json")
)


def _bytes(vector: Vector) -> bytes:
    assert vector.data is not None
    return vector.data


def test_the_sets_are_whole() -> None:
    """Every golden file has its other half, and the sets are not cut short."""
    for folder, least in (("presto", 183), ("unsaferow", 99), ("velox", 187)):
        files = list((ROOT / "golden" / folder).iterdir())
        stems = {file.stem for file in files if file.suffix == ".json"}
        assert {file.stem for file in files if file.suffix == ".bin"} == stems
        assert len(stems) >= least


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.stem)
def test_pages_hold_their_values(file: Path) -> None:
    """The witness finds in a page the encodings and the values that its description tells.

    It finds them without knowing the types too, and Arrow arrays of the blocks hold them as well.
    A page is just what a writer without choices gives where its traits say so, else another.
    """
    vector = load_golden(file)
    options, types = page_options(vector.request), list(vector.types)
    pages = read_pages(_bytes(vector), options, types)
    layouts = [[layout_of(block) for block in page.columns] for page in pages]
    assert layouts == [list(layout) for layout in vector.layouts]
    assert read_pages(_bytes(vector), options) == pages
    written = [payload_of(want.columns, types, options) for want in vector.batches]
    assert (written == [page.payload for page in pages]) == vector.plain
    for page, want in zip(pages, vector.batches, strict=True):
        for block, type_, column in zip(page.columns, types, want.columns, strict=True):
            array = block_array(block, type_)
            array.validate(full=True)
            wanted = [canonical(value) for value in column]
            assert [canonical(value) for value in block_values(block, type_)] == wanted
            assert [canonical(value) for value in plain_values(array)] == wanted


def test_brought_vectors_need_no_layouts(tmp_path: Path) -> None:
    """Values are judged without `layout` too, which only adds what encodings to expect."""
    name = "stream_three_pages"
    content = json.loads((ROOT / "golden" / "presto" / f"{name}.json").read_text())
    for page in content["pages"]:
        del page["layout"]
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps({**content, "traits": ["rle"]}))
    shutil.copy(ROOT / "golden" / "presto" / f"{name}.bin", tmp_path)
    cases = {case.id.split("/")[-1]: case for case in serde_cases(ROOT, tmp_path)}
    assert verdict(cases["decode"], PlainSerde())[:2] == ("pass", "")


_PAYLOAD = payload_of([list(range(40))], [parse_presto("bigint")], PageOptions())


@pytest.mark.parametrize(
    ("size", "kept"),
    [(850, True), (700, False), (300, False)],
    ids=["hardly smaller", "at the bound", "much smaller"],
)
def test_codecs_differ_only_where_they_save_little(size: int, kept: bool) -> None:
    """A page re-encoded plain was compressed by another library of the codec, or should be."""
    plain = Page(40, 0, 1000, 1000, 0, _PAYLOAD, [])
    packed = replace(plain, marker=COMPRESSED, size=size)
    assert marker_differs(plain, packed) == marker_differs(packed, plain) == (not kept)
    assert marker_differs(packed, replace(packed, marker=COMPRESSED | CHECKSUMMED))
    assert not marker_differs(packed, packed)


@pytest.mark.parametrize("file", [*ROWS, *_VELOX_ROWS], ids=lambda file: file.stem)
def test_rows_are_what_the_plain_writer_gives(file: Path) -> None:
    """Rows of engines are those of a writer that knows only the format, don't-care bytes aside."""
    vector = load_golden(file)
    options, types = vector.request.options, vector.types
    written = b""
    for batch in vector.batches:
        rows = [tuple(column[row] for column in batch.columns) for row in range(batch.rows)]
        if vector.request.format == "compactrow":
            listed = [compact_row(row, types) for row in rows]
        else:
            listed = [unsafe_row(row, types, options.get("writer", "spark")) for row in rows]
        written += framed(listed, options["framing"])
    assert encode_problem(vector, written) is None


@pytest.mark.parametrize("file", [*PAGES[::9], *ROWS[::9]], ids=lambda file: file.stem)
def test_batches_hold_their_values(file: Path) -> None:
    """What implementations are handed to encode is valid and holds the values told."""
    vector = load_golden(file)
    for batch, want in zip(batches_of(vector), vector.batches, strict=True):
        batch.validate(full=True)
        assert batch.num_rows == want.rows
        for column, values in zip(batch.columns, want.columns, strict=True):
            found = [canonical(value) for value in plain_values(column)]
            assert found == [canonical(value) for value in values]


@cache
def _ruled() -> list[SerdeCase]:
    """Cases of case files and set files."""
    cases = [case for case in load_cases("serde") if isinstance(case, SerdeCase)]
    return [case for case in cases if case.rule is not None]


def test_rules_hold_for_the_witness() -> None:
    """The witnesses decide every case of a single rule about pages as the case file says."""
    serde = PlainSerde()
    about = [case for case in _ruled() if case.id.startswith(("serde/presto/", "serde/velox/"))]
    single = [case for case in about if case.file.suffix == ".toml"]
    chosen = [*single, *[case for case in about if case not in single][::9]]
    outcomes = {case.id: verdict(case, serde)[:2] for case in chosen}
    assert {id_: o for id_, o in outcomes.items() if o[0] not in ("pass", "not-offered")} == {}
    assert sum(word == "pass" for word, _ in outcomes.values()) > 80


def test_rules_name_their_source_and_witness() -> None:
    """A rule of Velox or Gluten is vouched for by the specification, unless its bytes are known."""
    for case in _ruled():
        assert case.rule is not None
        text = case.rule.source
        assert len(case.requirement.split()) >= 4, case.id
        if "Velox" in text.split(",")[0] or "Gluten" in text:
            its_own = case.operation == "stream" or "golden/velox/" in text
            known = its_own and bool(getattr(case.rule, "bytes", ""))
            assert case.witness == ("engine" if known else "specification"), case.id


def test_every_rule_has_a_vector() -> None:
    """Case files can be made into bytes, and those of rows are what the plain writer gives."""
    for case in _ruled():
        vector = case.vector()
        if vector.request.format == "arrow" or case.expect.refused or vector.data is None:
            continue
        if vector.request.format == "presto" or "encode" not in case.id:
            continue
        assert of_values(vector.request, vector.types, vector.batches).data == vector.data
