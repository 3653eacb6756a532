"""Tables in other forms: these change what they say, keep the rows, and find bad readers."""

import io
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from seambench.conformance.load import load_cases
from seambench.conformance.run import Run
from seambench.contracts.outcomes import Mismatch, NotOffered
from seambench.contracts.registry import resolve
from seambench.contracts.tables import CommitRequest
from seambench.formats.forms.catalogue import PARQUET_FORMS
from seambench.formats.forms.containers import recoded_avro, reheaded_avro
from seambench.formats.forms.data import AVRO_DATA_FORMS, ORC_FORMS, AvroDataForm, OrcForm
from seambench.formats.forms.footer import Footer
from seambench.formats.forms.parquet import ParquetForm
from seambench.seams.scan.cases import ScanCase
from seambench.seams.scan.check import unpacked
from seambench.seams.scan.forms import check_form, varied
from seambench_suites.meta.tables.wrong_forms import (
    BelievesArrowsSchema,
    FirstRowGroupAlone,
    IgnoresEscapes,
    PlainDelta,
    TakesColumnsByPlace,
    TakesSizesOnTrust,
)

_FORMS = {form.name: form for form in PARQUET_FORMS}
_SIMPLE = "scan/delta/checkpoints/classic/newest"
#: One in so many varied cases is put to our own reader here; all of them in the nightly run.
_SHARE = 421


def _file(**options: Any) -> bytes:
    """Forty rows of many types, as one writer would write them."""
    ticks = [1_577_882_096_789_000 + 1000 * n for n in range(40)]
    table = pa.table(
        {
            "i": pa.array(range(40), pa.int32()),
            "l": pa.array([None if n % 7 == 0 else n for n in range(40)], pa.int64()),
            "s": [f"text {n % 5}" for n in range(40)],
            "d": pa.array([float("nan") if n == 3 else n / 2 for n in range(40)]),
            "b": [n % 2 == 0 for n in range(40)],
            "n": pa.array(range(40), pa.decimal128(9, 2)),
            "t": pa.array(ticks, pa.timestamp("us", "UTC")),
            "a": pa.array([[n, n + 1] if n % 3 else [] for n in range(40)], pa.list_(pa.int32())),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, store_schema=False, store_decimal_as_integer=True, **options)
    footer = Footer(out.getvalue())
    footer.put_text("by", "a test")
    return footer.file()


def _rows(data: bytes, folder: Path, form: ParquetForm) -> list[Any]:
    """The rows as DuckDB reads them, in the order of names; as Polars does where DuckDB errs."""
    file = folder / "one.parquet"
    if form.name == "types-new":
        return list(map(repr, pl.read_parquet(data).rows()))
    file.write_bytes(data)
    asked = "SELECT i, l, s, trim(d::VARCHAR, '-'), b, n, epoch_us(t), a FROM read_parquet(?) ORDER BY i"
    return duckdb.execute(asked, [str(file)]).fetchall()


def _chunk(data: bytes, column: str) -> Any:
    metadata = pq.read_metadata(io.BytesIO(data))
    group = metadata.row_group(0)
    return next(
        c
        for c in map(group.column, range(metadata.num_columns))
        if c.path_in_schema.startswith(column)
    )


def _groups(data: bytes) -> list[int]:
    metadata = pq.read_metadata(io.BytesIO(data))
    return [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]


def _statistics(data: bytes, column: str) -> set[int]:
    """Fields of a chunk's statistics, by number."""
    footer = Footer(data)
    return next(
        set(chunk[3].get(12, ())) for leaf, chunk in footer.chunks() if leaf.path[0] == column
    )


def _told(data: bytes, column: str) -> set[int]:
    """Which of a converted and a logical type a column has, by their fields."""
    elements = (one for one in Footer(data).schema.items if one.text(4) == column)
    return set(next(elements)) & {6, 10}


def _has_plain_pages(data: bytes, column: str) -> bool:
    """Whether any data page holds plain values, as the statistics of encodings say."""
    chunks = (chunk[3] for leaf, chunk in Footer(data).chunks() if leaf.path[0] == column)
    return any(one.whole(1) in (0, 3) and one.whole(2) == 0 for one in next(chunks)[13].items)


def _hint(data: bytes, column: str) -> str:
    return str(pq.read_schema(io.BytesIO(data)).field(column).type)


def _texts(data: bytes) -> Any:
    return pq.read_metadata(io.BytesIO(data)).metadata


def _type(data: bytes, column: str) -> str:
    return str(_chunk(data, column).physical_type)


def _is_cut(data: bytes) -> bool:
    """Whether a column of forty small values takes as many bytes as forty headers do."""
    return bool(_chunk(data, "i").total_compressed_size > 40 * 20)


# ruff: noqa: E501 - a table
#: What a form is known by, and what that is then.
_SIGNS: dict[str, tuple[Callable[[bytes], Any], Any]] = {
    "row-groups-1": (_groups, [1] * 40),
    "row-groups-2": (_groups, [2] * 20),
    "row-groups-7": (_groups, [7] * 5 + [5]),
    "row-groups-empty": (_groups, [0, 40, 0]),
    "pages-small": (_is_cut, True),
    "pages-v2": (_is_cut, True),
    "page-index": (lambda one: _chunk(one, "i").has_offset_index, True),
    "checksums": (lambda one: pq.read_table(io.BytesIO(one), page_checksum_verification=True).num_rows, 40),
    "codec-none": (lambda one: _chunk(one, "i").compression, "UNCOMPRESSED"),
    "codec-gzip": (lambda one: _chunk(one, "i").compression, "GZIP"),
    "codec-zstd": (lambda one: _chunk(one, "i").compression, "ZSTD"),
    "codec-brotli": (lambda one: _chunk(one, "i").compression, "BROTLI"),
    "codec-lz4": (lambda one: _chunk(one, "i").compression, "LZ4"),
    "plain": (lambda one: _chunk(one, "s").has_dictionary_page, False),
    "dictionary-full": (lambda one: _has_plain_pages(one, "l"), True),
    "delta": (lambda one: "DELTA_BYTE_ARRAY" in _chunk(one, "s").encodings, True),
    "delta-lengths": (lambda one: "DELTA_LENGTH_BYTE_ARRAY" in _chunk(one, "s").encodings, True),
    "byte-streams": (lambda one: "BYTE_STREAM_SPLIT" in _chunk(one, "d").encodings, True),
    "booleans-rle": (lambda one: _has_plain_pages(one, "b"), False),
    "statistics-none": (lambda one: _statistics(one, "i"), set()),
    "statistics-counts": (lambda one: _statistics(one, "i"), {3}),
    "statistics-bounds": (lambda one: {5, 6} <= _statistics(one, "i") and 3 not in _statistics(one, "i"), True),
    "statistics-low": (lambda one: _statistics(one, "i") & {1, 2, 5, 6}, {6}),
    "statistics-old": (lambda one: _statistics(one, "i") & {1, 2, 5, 6}, {1, 2}),
    "statistics-wide": (lambda one: (_chunk(one, "i").statistics.min, _chunk(one, "i").statistics.max), (-1, 2)),
    "columns-reversed": (lambda one: pq.read_schema(io.BytesIO(one)).names, list("atnbdsli")),
    "required": (lambda one: pq.read_schema(io.BytesIO(one)).field("i").nullable, False),
    "optional": (lambda one: pq.read_schema(io.BytesIO(one)).field("i").nullable, True),
    "types-old": (lambda one: _told(one, "t"), {6}),
    "types-new": (lambda one: _told(one, "t"), {10}),
    "texts-absent": (_texts, None),
    "decimals-integers": (lambda one: _type(one, "n"), "INT32"),
    "decimals-fixed": (lambda one: _type(one, "n"), "FIXED_LEN_BYTE_ARRAY"),
    "decimals-bytes": (lambda one: _type(one, "n"), "BYTE_ARRAY"),
    "timestamps-millis": (lambda one: _hint(one, "t"), "timestamp[ms, tz=UTC]"),
    "timestamps-micros": (lambda one: _hint(one, "t"), "timestamp[us, tz=UTC]"),
    "timestamps-int96": (lambda one: _type(one, "t"), "INT96"),
    "lists-two-levels": (lambda one: _chunk(one, "a").path_in_schema, "a.array"),
    "spelled-otherwise": (lambda one: _chunk(one, "a").path_in_schema, "a.list.element"),
    "hint-large": (lambda one: _hint(one, "s"), "large_string"),
    "hint-view": (lambda one: _hint(one, "s"), "string_view"),
    "hint-dictionary": (lambda one: _hint(one, "s"), "dictionary<values=string, indices=int32, ordered=0>"),
    "hint-zones": (lambda one: _hint(one, "t"), "timestamp[us, tz=Asia/Kolkata]"),
    "nan-bits": (lambda one: 0xFFF8000000000123 in pq.read_table(io.BytesIO(one))["d"].to_numpy().view("uint64"), True),
}  # fmt: skip


#: Forms in which the first file is already.
_ALIKE = {"spelled-otherwise", "timestamps-micros", "decimals-integers", "checksums"}


@pytest.mark.parametrize("form", PARQUET_FORMS, ids=lambda form: form.name)
def test_a_form_shows_in_the_file_and_not_in_its_rows(form: ParquetForm, tmp_path: Path) -> None:
    """What a form says can be seen in the file's metadata; DuckDB reads the rows of before."""
    before = _file()
    if form.name == "optional":
        before = _FORMS["required"].rewritten(before) or b""
    after = form.rewritten(before)
    assert after is not None
    sign, value = _SIGNS[form.name]
    assert sign(before) != value or form.name in _ALIKE
    assert sign(after) == value
    assert _rows(after, tmp_path, form) == _rows(before, tmp_path, form)


def _orc() -> bytes:
    """Two hundred rows, with an attribute of a column as writers of tables put it."""
    ids = [pa.field("i", pa.int32(), metadata={"iceberg.id": "1"}), pa.field("s", pa.string())]
    schema = pa.schema([*ids, pa.field("t", pa.timestamp("ns"))])
    columns = [range(200), [f"a long text {n % 5}" for n in range(200)], range(200)]
    out = io.BytesIO()
    orc.write_table(pa.table(list(map(pa.array, columns)), schema.names).cast(schema), out)
    return out.getvalue()


def _of_orc(data: bytes) -> orc.ORCFile:
    return orc.ORCFile(io.BytesIO(data))


_ORC_SIGNS: dict[str, tuple[Callable[[bytes], Any], Any]] = {
    "orc-stripes": (lambda one: _of_orc(one).nstripes, 200),
    "orc-strides": (lambda one: _of_orc(one).row_index_stride, 1),
    "orc-uncompressed": (lambda one: _of_orc(one).compression, "UNCOMPRESSED"),
    "orc-zlib": (lambda one: _of_orc(one).compression, "ZLIB"),
    "orc-snappy": (lambda one: _of_orc(one).compression, "SNAPPY"),
    "orc-lz4": (lambda one: _of_orc(one).compression, "LZ4"),
    "orc-zstd": (lambda one: _of_orc(one).compression, "ZSTD"),
    "orc-runs-old": (lambda one: _of_orc(one).file_version, "0.11"),
    "orc-dictionary": (lambda one: len(one) < 3000, True),
    "orc-direct": (lambda one: len(one) > 3000, True),
}


@pytest.mark.parametrize("form", ORC_FORMS, ids=lambda form: form.name)
def test_a_form_of_orc_shows_in_the_file_and_not_in_its_rows(form: OrcForm) -> None:
    """The file is otherwise as the form says; rows, types and their attributes are the same."""
    before = _orc()
    after = form.rewritten(before)
    assert after is not None
    sign, value = _ORC_SIGNS[form.name]
    assert sign(before) != value or form.name in {"orc-uncompressed", "orc-direct"}
    assert sign(after) == value
    assert _of_orc(after).read().equals(_of_orc(before).read())
    assert _of_orc(after).schema.equals(_of_orc(before).schema, check_metadata=True)


def _avro() -> bytes:
    """Rows of which some have no value in Python's own types."""
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    fields = [{"name": "i", "type": "int", "field-id": 1}, {"name": "t", "type": moment}]
    schema = {"type": "record", "name": "r", "fields": fields}
    out = io.BytesIO()
    rows = [{"i": n, "t": 2**62 + n} for n in range(40)]
    fastavro.writer(out, schema, rows, codec="null", metadata={"by": "a test"})
    return reheaded_avro(out.getvalue(), {"avro.codec": "null", "more": "text"})


def _avro_blocks(data: bytes) -> list[int]:
    return [block.num_records for block in fastavro.block_reader(io.BytesIO(data))]


def _codec(data: bytes) -> str:
    return str(fastavro.reader(io.BytesIO(recoded_avro(data, pack=False))).codec)


_AVRO_SIGNS: dict[str, tuple[Callable[[bytes], Any], Any]] = {
    "avro-data-plain": (_codec, "null"),
    "avro-data-deflate": (_codec, "deflate"),
    "avro-data-zstd": (lambda one: b"avro.codec\x12zstandard" in one, True),
    "avro-data-bzip2": (_codec, "bzip2"),
    "avro-data-blocks": (_avro_blocks, [1] * 40),
    "avro-data-fields": (lambda one: one.index(b'"t"') < one.index(b'"i"'), True),
}


@pytest.mark.parametrize("form", AVRO_DATA_FORMS, ids=lambda form: form.name)
def test_a_form_of_avro_shows_in_the_file_and_not_in_its_rows(form: AvroDataForm) -> None:
    """The file is otherwise as the form says; numbers, field ids and texts of the header stay."""
    before = _avro()
    after = form.rewritten(before)
    assert after is not None
    sign, value = _AVRO_SIGNS[form.name]
    assert sign(before) != value or form.name == "avro-data-plain"
    assert sign(after) == value
    assert b'"field-id": 1' in after
    assert b"a test" in after
    plain = recoded_avro(after, pack=False).replace(b"timestamp-micros", b"timestamp-notime")
    assert list(fastavro.reader(io.BytesIO(plain))) == [{"i": n, "t": 2**62 + n} for n in range(40)]


def test_columns_are_reversed_where_rows_could_be_null() -> None:
    """Paimon's files say so of their rows, which none is."""
    schema = json.loads(fastavro.reader(io.BytesIO(_avro())).metadata["avro.schema"])
    out = io.BytesIO()
    fastavro.writer(out, ["null", schema], [{"i": 1, "t": 2}], codec="null")
    [form] = [one for one in AVRO_DATA_FORMS if one.reverse]
    after = form.rewritten(out.getvalue())
    assert after is not None
    assert after.index(b'"t"') < after.index(b'"i"')


def test_a_form_changes_what_it_names_alone() -> None:
    """The schema's elements are those of the first writer, whatever pyarrow would call them."""
    before = _FORMS["lists-two-levels"].rewritten(_file())
    assert before is not None
    after = _FORMS["codec-zstd"].rewritten(before)
    assert after is not None
    assert Footer(after).schema == Footer(before).schema


def test_footers_are_written_as_they_were_read() -> None:
    """Nothing of a footer is lost on the way through the tree."""
    data = _file(write_page_index=True, bloom_filter_options={"i": True})
    assert pq.read_metadata(io.BytesIO(Footer(data).file())).equals(
        pq.read_metadata(io.BytesIO(data))
    )


def _cases(pattern: str) -> list[ScanCase]:
    found = [case for case in load_cases("scan") if isinstance(case, ScanCase)]
    return [case for case in found if case.id.startswith(pattern)]


def _shown(forms: set[str], cases: list[ScanCase], reader: Any) -> set[str]:
    """Puts a varied case of each form that has a place in some table to a reader."""
    found: set[str] = set()
    for case in varied(cases):
        if case.form in forms - found and all(map(reader.capabilities.get, case.needs)):
            with suppress(NotOffered):
                check_form(case, reader, {"form": case.form})
                found.add(case.form)
    return found


@pytest.mark.parametrize(
    ("reader", "pattern", "forms"),
    [
        ("deltalake", "scan/delta/life/travel", [
            "row-groups-1", "columns-reversed", "log-checkpoint", "log-checkpoint-parts",
            "log-checkpoint-before", "log-statistics-none", "log-less", "log-paths",
        ]),
        ("deltalake", "scan/delta/checkpoints", [
            "log-commits", "log-unhinted", "checkpoint-row-groups", "checkpoint-columns", "plain",
        ]),
        ("pyiceberg", "scan/iceberg/positions", [
            "row-groups-1", "columns-reversed", "manifests-split", "manifests-joined", "avro-plain",
            "avro-blocks", "avro-fields", "avro-less", "lists-reversed", "metadata-newest",
        ]),
        ("hudi-rs", "scan/hudi/scenarios/event", [
            "row-groups-1", "columns-reversed", "log-records", "log-files", "log-headers",
            "timeline-archived",
        ]),
        ("hudi-rs", "scan/hudi/scenarios/archived", ["timeline-active", "row-groups-1"]),
        ("hudi-rs", "scan/hudi/scenarios/metadata-table", [
            "metadata-table-off", "metadata-table-cells", "metadata-table-records",
            "metadata-table-compacted", "metadata-table-logs", "row-groups-1",
        ]),
    ],
)  # fmt: skip
def test_other_readers_find_the_same_rows(reader: str, pattern: str, forms: list[str]) -> None:
    """A foreign reader that is right of tables as they stand is right of them in a form."""
    names = set(forms)
    foreign = resolve("scan", reader)
    right = []
    for case in _cases(pattern):
        try:
            check_form(case, foreign, {"form": ""})
        except Exception:  # noqa: S112 - what it fails anyway tells nothing of forms
            continue
        right.append(case)
    assert _shown(names, right, foreign) == names


@pytest.mark.parametrize(
    ("reader", "form"),
    [
        (FirstRowGroupAlone, "row-groups-empty"),
        (TakesColumnsByPlace, "columns-reversed"),
        (BelievesArrowsSchema, "hint-large"),
        (IgnoresEscapes, "log-paths"),
    ],
)
def test_a_wrong_reader_is_found_by_a_form_alone(reader: type[PlainDelta], form: str) -> None:
    """It is right of the table as it stands, and in the form it is told."""
    [case] = _cases(_SIMPLE)
    check_form(case, reader(), {"form": ""})
    with pytest.raises((Mismatch, OSError)):
        check_form(case, reader(), {"form": form})
    check_form(case, PlainDelta(), {"form": form})


def test_the_pass_names_the_form_in_each_verdict() -> None:
    """The id of a varied case ends with the form; a form without a place makes no verdict."""
    name = f"{PlainDelta.__module__}:FirstRowGroupAlone"
    forms = ("row-groups-empty", "lists-two-levels", "plain")
    patterns = [f"{_SIMPLE}#{form}" for form in forms]
    outcomes = list(Run("scan", [name], patterns=patterns).extra_pass("forms"))
    assert [(one.case, one.outcome) for one in outcomes] == [
        (f"{_SIMPLE}#row-groups-empty", "fail"),
        (f"{_SIMPLE}#plain", "pass"),
    ]


@pytest.mark.parametrize(
    "case", ["scan/hive/writers/parquet-mr/keys/all-rows", "scan/paimon/core/old-times/newest"]
)
def test_what_pyarrow_does_not_read_alike_is_not_written_again(case: str) -> None:
    """Maps whose keys could be null, and times counted back from midnight, stay as they are."""
    assert _shown({*_FORMS, "files-split"}, _cases(case), resolve("scan", "auto")) == set()


def test_sizes_are_mended_with_the_files() -> None:
    """A reader that finds footers by the sizes that the log tells finds them in each form."""
    names = set(_FORMS) - {name for name in _FORMS if name.startswith("hint")}
    assert len(_shown(names, _cases(_SIMPLE), TakesSizesOnTrust())) > 20


def test_each_format_has_forms_of_its_own() -> None:
    """Every format's tables take forms beyond those of data files, each with a name of its own."""
    for format_ in {case.table.format.name: case.table.format for case in _cases("scan/")}.values():
        names = [form.name for form in format_.known_forms()]
        assert len(set(names)) == len(names)
        assert set(names) - set(_FORMS)


def test_a_sample_of_all_tables_is_read_alike_in_all_forms() -> None:
    """Our own reader finds the rows of the case whatever the form, wherever a hash points to."""
    reader = resolve("scan", "auto")
    sample = [c for c in varied(_cases("scan/")) if zlib.crc32(c.id.encode()) % _SHARE == 0]
    asked = 0
    for case in sample:
        with suppress(NotOffered):
            check_form(case, reader, {"form": case.form})
            asked += 1
    assert asked > 25


def test_what_a_form_leaves_is_what_the_case_reads() -> None:
    """A varied case's table is unpacked in its form, for whoever keeps it to look at."""
    [case] = [c for c in varied(_cases(_SIMPLE)) if c.form == "log-commits"]
    with unpacked(case) as request:
        assert not list(Path(request.table).glob("_delta_log/*.checkpoint.*"))


def test_a_form_is_asked_for_the_newest_and_one_more() -> None:
    """Of a table with many questions each form gets two, and others than the form before."""
    asked = _cases("scan/delta/vectors/several/")
    newest = [case for case in asked if case.request == CommitRequest()]
    found = varied(asked)
    forms = {case.form for case in found}
    assert len(asked) > 3
    assert len(newest) == 1
    assert len(found) == 2 * len(forms)
    assert len({case.id.partition("#")[0] for case in found}) > 3
