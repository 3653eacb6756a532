"""Forms that Arrow does not document: tried before they are used, and missed aloud."""

import decimal
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import substrait

from seamkit.files import expressions, promotion
from seamkit.files.expressions import named_values
from seamkit.files.footers import rewriting
from seamkit.files.pages import paged
from seamkit.files.parquet import ParquetReader
from seamkit.files.private_forms import SWITCH, ArrowWarning, PrivateForm
from seamkit.files.storage import Storage
from seamkit.scan.unit_scan import UnitScan
from seamkit.scan.units import DataFile, ReadPlan, ReadUnit

_FORMS: dict[str, tuple[ModuleType, str]] = {
    "conditions": (expressions, "CONDITIONS"),
    "decimals": (promotion, "DECIMALS"),
    "pages": (paged, "PAGES"),
}
_ROWS = 3000


def _form(name: str, monkeypatch: pytest.MonkeyPatch) -> PrivateForm:
    """A form that has not been tried yet."""
    module, word = _FORMS[name]
    known: PrivateForm = getattr(module, word)
    form = PrivateForm(known.name, known._loss, known._trial)
    monkeypatch.setattr(module, word, form)
    monkeypatch.setattr(expressions, "_LATEST", type(expressions._LATEST)(maxlen=4))
    return form


def _raise(*_: object, **__: object) -> Any:
    raise ValueError("another form")


def _close(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a release of Arrow could do: raise, or give something else."""
    fails = how == "raises"
    if name == "conditions":
        other: Any = expressions.Column("k")
        monkeypatch.setattr(expressions, "_parsed", _raise if fails else lambda _: other)
    elif name == "decimals":
        original, changed = promotion.decimals_of, {"d": pa.decimal128(20, 3)}
        if fails:
            monkeypatch.setattr(rewriting, "_changed", _raise)
        else:
            monkeypatch.setattr(promotion, "decimals_of", lambda b, _: original(b, changed))
    else:
        file = pa.BufferOutputStream()
        pq.write_table(pa.table({"number": pa.array([7] * 100)}), file)
        other = file.getvalue()
        monkeypatch.setattr(paged, "column_file", _raise if fails else lambda *_: other)


@pytest.fixture
def table(tmp_path: Path) -> pa.Table:
    """Keys in order, texts of a dictionary and decimals as bytes, in small pages of one file."""
    values = [decimal.Decimal(i).scaleb(-2) for i in range(_ROWS)]
    columns = {
        "k": pa.array(range(_ROWS)),
        "t": pa.array([f"text {i % 9}" for i in range(_ROWS)]),
        "d": pa.array(values, pa.decimal128(20, 2)),
    }
    table = pa.table(columns)
    how = {"data_page_size": 256, "write_batch_size": 64, "use_dictionary": ["t"]}
    pq.write_table(table, tmp_path / "a.parquet", write_page_index=True, **how)
    return table


def _scan(folder: Path, schema: pa.Schema, condition: pc.Expression) -> UnitScan:
    opened = partial(ParquetReader, Storage(str(folder)), "a.parquet")
    file = DataFile("a.parquet", (folder / "a.parquet").stat().st_size, opened)
    plan = ReadPlan("t", schema, [ReadUnit("a", [file])])
    return UnitScan(plan, schema.names, condition)


@pytest.mark.parametrize("name", _FORMS)
def test_this_arrow_has_every_form(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of Arrow that closes a way fails here, by name."""
    assert _form(name, monkeypatch).is_open


@pytest.mark.parametrize("how", ["raises", "gives something else"])
@pytest.mark.parametrize("name", _FORMS)
def test_a_closed_form_is_said_aloud_and_changes_no_row(
    name: str, how: str, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One warning says what is slower, and only one; rows are those of the file."""
    form = _form(name, monkeypatch)
    _close(name, how, monkeypatch)
    with pytest.warns(ArrowWarning, match=f"uses for {name} .*; rows stay right") as told:
        assert not form.is_open
    assert len(told) == 1
    condition = pc.field("k").isin([5, 1717]) & (pc.field("t") != "text 4")
    expected = table.filter(condition)
    assert expected.num_rows == 2
    assert _scan(tmp_path, table.schema, condition).to_table().equals(expected)
    assert not form.is_open


@pytest.mark.parametrize("name", _FORMS)
def test_a_form_that_is_switched_off_is_not_tried(
    name: str, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch names forms, with commas between them; nothing is said, and rows stay the same."""
    form = _form(name, monkeypatch)
    _close(name, "raises", monkeypatch)
    monkeypatch.setenv(SWITCH, f"others, {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not form.is_open
        condition = pc.field("k") == 1717
        found = _scan(tmp_path, table.schema, condition).to_table()
    assert found.equals(table.filter(condition))


def test_the_switches_decide_what_is_done(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open forms leave pages unread and name values; those that are off do not."""
    monkeypatch.setattr(promotion, "_BYTES_A_ROW", 1 << 30)
    condition = pc.field("k") == 1717
    footer = pq.read_metadata(tmp_path / "a.parquet")
    for switched, expected in (("", True), (",".join(_FORMS), False)):
        monkeypatch.setenv(SWITCH, switched)
        for name in _FORMS:
            _form(name, monkeypatch)
        scan = _scan(tmp_path, table.schema, condition)
        assert scan.to_table().num_rows == 1
        assert bool(scan.report().unread_pages) == expected
        assert bool(promotion.byte_decimals(footer)) == expected
        assert (named_values(condition, "k") == frozenset({1717})) == expected


def test_a_process_that_never_needs_a_form_does_not_try_it(table: pa.Table, tmp_path: Path) -> None:
    """A read without a filter takes no conditions apart and looks for no pages."""
    del table
    code = (
        "import sys, seamkit.files.private_forms as forms\n"
        "from seamkit.files.expressions import CONDITIONS\n"
        "from seamkit.files.pages.paged import PAGES\n"
        "from seamkit.files.parquet import ParquetReader\n"
        "from seamkit.files.storage import Storage\n"
        "reader = ParquetReader(Storage(sys.argv[1]), 'a.parquet')\n"
        "rows = sum(b.num_rows for b in reader.batches(reader.schema, 100, use_threads=False))\n"
        f"assert rows == {_ROWS}\n"
        "assert CONDITIONS._is_open is None and PAGES._is_open is None\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)


_NUMBER = pc.field("n") == 5
_MOMENT = pc.field("n") == pa.scalar(1, pa.timestamp("ns"))


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        (pa.uint8(), _NUMBER),
        (pa.uint64(), _NUMBER),
        (pa.decimal128(10, 2), _NUMBER),
        (pa.int32(), pc.field("n").cast(pa.int64()) == 5),
        (pa.timestamp("ns"), _MOMENT),
        (pa.decimal256(50, 2), pc.field("n") == pa.scalar(None, pa.decimal256(50, 2))),
        (pa.string(), pc.match_like(pc.field("n"), "a%")),
        (pa.string(), pc.utf8_upper(pc.field("n")) == "A"),
    ],
)
def test_the_documented_form_still_lacks_filters(kind: pa.DataType, condition: Any) -> None:
    """Substrait refuses these, of which our way knows the parts: look anew where it does not."""
    schema = pa.schema([("n", kind)])
    assert expressions.parts_of(condition) is not None
    with pytest.raises((pa.ArrowInvalid, pa.ArrowNotImplementedError)):
        substrait.serialize_expressions([condition], ["condition"], schema)


def test_the_documented_form_still_changes_lists_with_null() -> None:
    """A null among the values of `isin` meets a null; what comes back from Substrait does not."""
    rows = pa.table({"n": pa.array([1, None, 2], pa.int32())})
    condition = pc.field("n").isin(pa.array([1, None], pa.int32()))
    told = substrait.serialize_expressions([condition], ["condition"], rows.schema)
    back = substrait.deserialize_expressions(told).expressions["condition"]
    assert rows.filter(condition)["n"].to_pylist() == [1, None]
    assert rows.filter(back)["n"].to_pylist() == [1]


def test_the_documented_form_still_asks_for_types() -> None:
    """Without the types of the columns that it names, no filter becomes Substrait."""
    with pytest.raises(pa.ArrowInvalid, match="No match for FieldRef"):
        substrait.serialize_expressions([_NUMBER], ["condition"], pa.schema([]))
