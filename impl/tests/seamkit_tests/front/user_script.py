"""What a user writes: type checkers are content with all of it."""

import datetime as dt
from pathlib import Path

import seamkit


def read(folder: Path) -> int:
    """Tables of unknown and of known formats, scans, states and files."""
    table = seamkit.open_table(folder, {"key": "k"}, allow=["s3://other"])
    scan = table.scan(["id"], filter="price > 1", query="incremental", begin=3, threads=2)
    scan = table.scan(as_of=dt.date(2026, 11, 1), strict=True, changes_alone=True)
    rows = scan.filter([("price", ">", 1)]).select("id", "price").select(["id"]).limit(5)
    count: int = rows.count_rows() + sum(batch.num_rows for batch in rows)
    delta = seamkit.DeltaTable(folder)
    delta.scan(query="cdc", begin=1, end=2, batch_rows=10).to_arrow()
    newest: int = delta.version
    hudi = seamkit.HudiTable(folder, listing="files")
    hudi.scan(query="read-optimized", path="merge", positions=True).to_pandas()
    seamkit.open_table("~/table", format="paimon", branch="b")
    paimon = seamkit.PaimonTable("~/table", branch="b")
    paimon.scan(query="incremental", mode="diff", row_kinds=True).to_polars()
    seamkit.IcebergTable("iceberg://c/n.t").scan(as_of="main").lazy()
    seamkit.HiveTable(folder, columns={"a": "int"}).scan(memory_limit_bytes=None)
    seamkit.scan_table(folder, ["id"], query="snapshot").head(3)
    for state in table.history(limit=3):
        made: dt.datetime | None = state.time
        count += made is not None and state.kind == "tag"
    sizes: list[int] = [file.size_bytes for file in table.files()]
    table.to_pandas(["id"], filter="id = 1")
    names: list[str] = table.columns
    return count + newest + len(sizes) + len(names)
