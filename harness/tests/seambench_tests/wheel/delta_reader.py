"""A reader as a user may write it: Delta tables, from the JSON files of their log alone.

It knows no checkpoints, so a table whose first commits are gone comes back in part.
"""

import json
import sys
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

request = json.loads(sys.stdin.readline())
table = Path(request["table"])
paths: dict[str, None] = {}
for commit in sorted(table.glob("_delta_log/*.json")):
    for line in commit.read_text().splitlines():
        action = json.loads(line)
        if "add" in action:
            paths[action["add"]["path"]] = None
        if "remove" in action:
            paths.pop(action["remove"]["path"], None)
rows = pa.concat_tables(
    [pq.ParquetFile(table / unquote(path)).read() for path in paths], promote_options="default"
)
if request.get("columns") is not None:
    rows = rows.select(request["columns"])
with pa.ipc.new_stream(sys.stdout.buffer, rows.schema) as out:
    out.write_table(rows, max_chunksize=request.get("batch_size"))
