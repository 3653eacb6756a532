"""Scans of small Hudi tables, written by Spark and Hudi (`make_history_table.py`), and of files."""

from __future__ import annotations

import atexit
import decimal
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .kernels import Kernel, feature

#: Of `hudi-ratios` by per cent: how many upserts count, and the remainders that they updated.
_UPDATED = {"5": (1, 1), "20": (2, 4), "50": (3, 10)}


class _Scan(Kernel):
    """Scans that `_open` opens, drained `loops` times; each has `_rows` rows."""

    loops = 1
    _open: Callable[[], Any]
    _rows: int

    def run(self) -> None:
        """Drain all columns."""
        for _ in range(self.loops):
            rows = sum(batch.num_rows for batch in self._open().to_reader())
            if rows != self._rows:
                raise AssertionError(f"{rows} rows read")

    def _amount(self) -> int:
        """What a scan's amounts add up to, in cents."""
        table = pa.Table.from_batches(self._open().to_reader())
        cents: int = round(pc.sum(table.column("amount")).as_py() * 100)
        return cents


class HudiScan(_Scan):
    """A Hudi table of 40,000 rows in 2 slices with logs, written by Spark, read 5 times.

    `native` reads the base files alone, `merge` folds in the logs: 8,000 updates, 400 deletes.
    """

    loops = 5
    base_rows, deletes = 40_000, 400

    def __init__(self, path: str) -> None:
        hudi = feature("seamkit.tables.hudi.table", "HudiTable")
        query = "read-optimized" if path == "native" else "snapshot"
        table = hudi.HudiTable(str(unpacked("hudi-small")))
        # One thread: what a scan costs, whatever the machine does besides.
        self._open = lambda: table.scan(query=query, threads=1)
        self._rows = self.base_rows - (self.deletes if path == "merge" else 0)
        if (cents := self._amount()) != self._expected_cents(path):
            raise AssertionError(f"the cents that the {path} path read add up to {cents}")

    def _expected_cents(self, path: str) -> int:
        """The sum by the table's own recipe (see `make_history_table.py` beside the archive)."""
        merged = path == "merge"
        return sum(
            _cents(k, updated=merged and k % 5 == 0)
            for k in range(self.base_rows)
            if not (merged and k % 100 == 1)
        )


class RatioScan(_Scan):
    """A Hudi table of 20,000 rows in 2 slices, read twice as of its first, second or third upsert.

    As of these 5, 20 and 50 % of its rows are updated in logs.
    """

    loops, rows = 2, 20_000

    def __init__(self, ratio: str) -> None:
        hudi = feature("seamkit.tables.hudi.table", "HudiTable")
        folder = unpacked("hudi-ratios")
        upserts, _ = _UPDATED[ratio]
        requested = sorted(
            path.name.partition("_")[0]
            for path in (folder / ".hoodie" / "timeline").glob("*_*.deltacommit")
        )
        as_of, table = requested[upserts - 1], hudi.HudiTable(str(folder))
        self._open = lambda: table.scan(as_of=as_of, threads=1)
        self._rows = self.rows
        if (cents := self._amount()) != self.cents(ratio):
            raise AssertionError(f"the cents as of the upsert {upserts} add up to {cents}")

    @classmethod
    def cents(cls, ratio: str) -> int:
        """The sum of all amounts, by the table's own recipe."""
        _, remainders = _UPDATED[ratio]
        return sum(_cents(k, updated=k % 20 < remainders) for k in range(cls.rows))


class ConnectorScan(_Scan):
    """Two columns of a merged Hudi table of 20,000 rows through the connector, row by row."""

    _rows = 20_000

    def __init__(self) -> None:
        readers = feature("seambench_impl.scan", "ConnectorReader")
        requests = feature("seambench.contracts.scan", "ScanRequest")
        request = requests.ScanRequest(
            table=str(unpacked("hudi-ratios")), columns=("k", "amount"), threads=1
        )
        self._open = lambda: readers.ConnectorReader().open(request)
        if self._amount() != RatioScan.cents("50"):
            raise AssertionError("the amounts that came through the connector are not the table's")


def _cents(key: int, *, updated: bool) -> int:
    """The amount of a row; an update adds one."""
    return key * 7919 % 100_000 + (100 if updated else 0)


@lru_cache
def unpacked(name: str) -> Path:
    """A table, unpacked for this process."""
    archive = Path(__file__).parents[1] / "golden" / name / "table.zip"
    folder = Path(tempfile.mkdtemp(prefix="seambench-history-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return folder


_FORM_ROWS = 400_000
#: What each way by an undocumented form of Arrow brings: the same read with it and without it.
_FORMS = {
    "conditions": ("seamkit.files.expressions", "CONDITIONS"),
    "decimals": ("seamkit.files.promotion", "DECIMALS"),
    "pages": ("seamkit.files.pages.paged", "PAGES"),
}


class FormRead(_Scan):
    """A read, 5 times by one thread, with a form or without it.

    All of Parquet files of 400,000 rows. `conditions`: one key of many in no order, in 20 row
    groups with Bloom filters. `decimals`: a column that is stored as bytes. `pages`: one key of
    many in order, in one row group, in pages of 1,000 rows.
    """

    loops = 5

    def __init__(self, name: str, used: str) -> None:
        module, word = _FORMS[name]
        self._form = getattr(feature(module, word), word)
        self._switch = feature("seamkit.files.private_forms", "SWITCH").SWITCH
        self._switched = "" if used == "with" else name
        self._open = _scans(name)
        self._rows = _FORM_ROWS if name == "decimals" else 1
        self.prepare()
        self.run()

    def prepare(self) -> None:
        """Turn the switch; the form is tried here."""
        os.environ[self._switch] = self._switched
        self._form.forget()
        if self._form.is_open != (not self._switched):
            raise AssertionError(f"the form {self._form.name} is not as the switch says")

    def put_back(self) -> None:
        """Turn the switch back, for whoever reads in this process later."""
        os.environ.pop(self._switch, None)
        self._form.forget()


def _scans(name: str) -> Callable[[], Any]:
    units = feature("seamkit.scan.units", "DataFile", "ReadPlan", "ReadUnit")
    scans = feature("seamkit.scan.unit_scan", "UnitScan")
    options = feature("seamkit.scan.arguments", "ScanOptions").ScanOptions(threads=1)
    storage = feature("seamkit.files.storage", "Storage").Storage(
        str(_folder(name == "conditions"))
    )
    opened = partial(feature("seamkit.files.parquet", "ParquetReader").ParquetReader, storage)
    file = units.DataFile("a.parquet", _FORM_ROWS, partial(opened, "a.parquet"))
    schema = pq.read_schema(_folder(name == "conditions") / "a.parquet")
    plan = units.ReadPlan("kernel", schema, [units.ReadUnit("a", [file])])
    columns = ["amount"] if name == "decimals" else schema.names
    conditions = {"conditions": pc.field("mixed") == 77_777, "pages": pc.field("k") == 77_777}
    condition = conditions.get(name)
    return lambda: scans.UnitScan(plan, columns, condition, options)


@lru_cache(maxsize=2)
def _folder(filtered: bool) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="seambench-forms-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    amounts = [decimal.Decimal(k * 7919 % 1_000_003).scaleb(-2) for k in range(_FORM_ROWS)]
    columns = {
        "k": pa.array(range(_FORM_ROWS)),
        "mixed": pa.array([k * 7919 % _FORM_ROWS for k in range(_FORM_ROWS)]),
        "amount": pa.array(amounts, pa.decimal128(20, 2)),
        "note": pa.array([f"note of row {k}" for k in range(_FORM_ROWS)]),
    }
    pq.write_table(
        pa.table(columns),
        folder / "a.parquet",
        row_group_size=_FORM_ROWS // 20 if filtered else _FORM_ROWS,
        max_rows_per_page=1000,
        write_page_index=not filtered,
        bloom_filter_options={"mixed": {"ndv": _FORM_ROWS // 20}} if filtered else None,
    )
    return folder
