"""`seamkit page` and `seamkit inspect` over golden files and tables."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seambase.command.terminal import parse_options
from seambench.formats.golden import load_origin
from seambench.seams.serde.vectors import load_golden
from seambench_suites.cases import ROOT
from seamkit.command import main
from seamkit_tests.samples.golden_tables import unpack

PAGES = ROOT / "golden" / "presto"
ROWS = ROOT / "golden" / "unsaferow"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Any:
    """Run a command in this process: exit code, output, errors."""

    def command(*arguments: str) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capfd.readouterr()
        return ended.value.code, said.out, said.err

    return command


def test_pages_are_explained_without_a_schema(run: Any) -> None:
    """Every byte of the documentation's example is named with its offset and what it says."""
    code, out, _ = run("inspect", str(PAGES / "row_doc_example.bin"), "--json")
    fields = [json.loads(line) for line in out.splitlines()]
    covered = [at for f in fields for at in range(f["offset"], f["offset"] + f["length"])]
    offsets = next(field for field in fields if field["what"] == "offsets")
    assert code == 0
    assert sorted(covered) == list(range((PAGES / "row_doc_example.bin").stat().st_size))
    assert offsets["value"] == [0, 1, 1, 2, 3, 3, 4, 4, 4, 5, 5]


@pytest.mark.parametrize("file", sorted(ROWS.glob("*.json"))[::6], ids=lambda file: file.stem)
def test_rows_are_explained(run: Any, file: Path) -> None:
    """Every field of golden rows is found, at offsets that lie in the file."""
    framing = load_golden(file).request.options["framing"]
    data = file.with_suffix(".bin")
    code, out, err = run(
        *("inspect", str(data), "--json", "--format", "unsaferow", "--schema", str(file)),
        *("--option", f"framing={framing}"),
    )
    fields = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert all(field["offset"] + field["length"] <= data.stat().st_size for field in fields)


def test_numbers_that_json_lacks_are_texts(run: Any, tmp_path: Path) -> None:
    """JSON has no NaN and no infinities: values of rows and records of a log have them as texts."""
    logs = unpack("hudi/edges/v9", tmp_path).rglob(".*.log.*")
    asked = [[str(log)] for log in logs if log.suffix != ".crc"]
    rows, form = ROWS / "atomic_double.json", ("--format", "unsaferow", "--option", "framing=be32")
    asked.append([str(rows.with_suffix(".bin")), "--schema", str(rows), *form])
    for words in asked:
        code, out, _ = run("inspect", *words, "--json")
        for line in out.splitlines():
            json.loads(line, parse_constant=pytest.fail)
        assert code == 0
        assert '"NaN"' in out


@pytest.mark.parametrize(
    ("cut", "said"),
    [(10, "at byte 0, header of page 0"), (60, "at byte 9, payload: the header says")],
)
def test_broken_pages_show_where_they_break(run: Any, tmp_path: Path, cut: int, said: str) -> None:
    """What could be read is told, then where the page breaks and why, with exit code 2."""
    file = tmp_path / "cut.bin"
    file.write_bytes((PAGES / "bigint_16_rows.bin").read_bytes()[:cut])
    code, out, err = run("inspect", str(file))
    assert code == 2
    assert said in err
    assert ("number of rows" in out) == (cut > 20)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"root:x:0:0:root:/root:/bin/bash\n", "at byte 4, codec marker: encrypted pages are not"),
        (b'{"commitInfo":{"timestamp":1}}\n', "broken at byte 4, codec marker: 109 has bits"),
    ],
)
def test_what_is_no_page_says_what_it_was_taken_for(
    run: Any, tmp_path: Path, text: bytes, said: str
) -> None:
    """A file of any other kind is named, with the format that was tried where none was stated."""
    file = tmp_path / "passwd"
    file.write_bytes(text)
    code, out, err = run("inspect", str(file))
    stated = run("inspect", str(file), "--format", "presto")
    assert code == stated[0] == 2
    assert f"{file}: {said}" in err
    assert "taken for pages of Presto: --format" in err
    assert "taken for" not in stated[2]
    assert "codec marker" in out


def test_a_folder_that_is_no_table_is_named_once(run: Any, tmp_path: Path) -> None:
    """Who looks for a table names the folder, and nothing in it is broken."""
    code, out, err = run("inspect", f"{tmp_path}/")
    assert (code, out) == (2, "")
    assert err.startswith(f"seamkit: {tmp_path} is empty, or is not there")


@pytest.mark.parametrize(
    ("page", "schema", "said"),
    [
        ("bigint_16_rows", "c varchar", "at byte 25, encoding: varchar needs VARIABLE_WIDTH"),
        ("array_real", "c array(bigint)", "encoding: bigint needs LONG_ARRAY, this is 'INT_ARRAY'"),
        ("boolean_64_rows", "c bigint", "has nulls: BYTE_ARRAY of a bigint has 54 values"),
    ],
)
def test_pages_of_another_schema_show_where_they_part(
    run: Any, page: str, schema: str, said: str
) -> None:
    """With a schema, an encoding that its type does not have is where the page breaks."""
    code, out, err = run("inspect", str(PAGES / f"{page}.bin"), "--schema", schema)
    assert code == 2
    assert said in err
    assert "number of columns" in out
    assert out.startswith("  offset  bytes  what, and its value\n       0      ")


def test_rows_need_a_schema(run: Any) -> None:
    """Rows say nothing of their fields, so that a schema must be given."""
    code, _, err = run("inspect", str(ROWS / "map_int_bigint.bin"), "--format", "unsaferow")
    assert code == 2
    assert "--schema is needed" in err


def test_pages_are_decoded_and_encoded_again(run: Any, tmp_path: Path) -> None:
    """A page goes into a file of Arrow, and from there into the same bytes."""
    name = PAGES / "row_three_levels.json"
    name = name if name.exists() else PAGES / "bigint_some_nulls.json"
    arrow, again = tmp_path / "rows.arrow", tmp_path / "again.bin"
    data = str(name.with_suffix(".bin"))
    first = run("page", "decode", data, "--schema", str(name), "-o", str(arrow))
    second = run("page", "encode", str(arrow), "--schema", str(name), "-o", str(again))
    assert (first[0], second[0]) == (0, 0), (first, second)
    assert again.read_bytes() == name.with_suffix(".bin").read_bytes()


def test_rows_of_a_parquet_file_are_its_own(run: Any, tmp_path: Path) -> None:
    """The name of its folder, though it reads as a partition, gives a page no column's values."""
    file, pages = tmp_path / "k=5" / "rows.parquet", [tmp_path / "1.bin", tmp_path / "2.bin"]
    file.parent.mkdir()
    for page, name in zip(pages, ("k", "v"), strict=True):
        pq.write_table(pa.table({name: pa.array([7], pa.int64())}), file)
        asked = ("page", "encode", str(file), "--schema", f"{name} bigint", "-o", str(page))
        assert run(*asked)[0] == 0
    code, _, err = run("page", "encode", str(file), "--schema", "k bigint", "-o", str(pages[0]))
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert (code, "k" in err) == (2, True)


def test_decoded_pages_are_shown(run: Any) -> None:
    """Without a target the first rows are printed, nulls and text alike."""
    page = str(PAGES / "varchar_utf8.bin")
    code, _, err = run("page", "decode", page, "--schema", "a bigint, b varchar")
    assert code == 2
    assert f"{page}: page: the page has 1 columns, the schema 2 (at byte 21)" in err
    code, out, _ = run("page", "decode", page, "--schema", "b varchar")
    assert code == 0
    assert out.splitlines()[1:3] == ["ascii", "\u00e9"]
    assert out.splitlines()[-1] == "14 rows"


def test_other_files_are_refused(run: Any, tmp_path: Path) -> None:
    """Files whose columns are not those of the schema are refused by name, before any writing."""
    file = tmp_path / "rows.arrow"
    batch = pa.record_batch({"a": ["x"]})
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    target = tmp_path / "out.bin"
    wrong = run("page", "encode", str(file), "--schema", "a bigint", "-o", str(target))
    missing = run("page", "encode", str(file), "--schema", "b bigint", "-o", str(target))
    assert (wrong[0], missing[0]) == (2, 2)
    assert "not those of the schema" in wrong[2]
    assert "b" in missing[2]
    assert not target.exists()


def test_options_are_json_where_they_can_be() -> None:
    """`checksum=true` is a boolean, `codec=lz4` text."""
    given = ["checksum=true", "codec=lz4", "size_limit=10"]
    assert parse_options(given) == {"checksum": True, "codec": "lz4", "size_limit": 10}


def test_tables_are_explained(run: Any, tmp_path: Path) -> None:
    """A table's folder shows its version, every instant with its state, and its slices' files."""
    folder = unpack("hudi/mor-v9-event", tmp_path)
    code, out, err = run("inspect", str(folder), "--json")
    told = [json.loads(line) for line in out.splitlines()]
    instants = load_origin(ROOT / "golden" / "hudi" / "mor-v9-event").instants
    assert (code, err) == (0, "")
    assert {what.split()[0] for what in (t["what"] for t in told)} >= set(instants)
    files = {t["value"] for t in told if t["what"] in ("base", "log")}
    assert files == {f.relative_to(folder).as_posix() for f in folder.glob("*.parquet")} | {
        f.relative_to(folder).as_posix() for f in folder.glob(".*.log.*")
    }


def test_parquet_files_are_explained(run: Any, tmp_path: Path) -> None:
    """A Parquet file shows its rows, its columns, and where the bytes of each row group lie."""
    file = min(unpack("hudi/mor-v9-event", tmp_path).glob("*.parquet"))
    code, out, err = run("inspect", str(file), "--json")
    told = {line["what"]: line for line in map(json.loads, out.splitlines())}
    assert (code, err) == (0, "")
    assert told["Parquet file"]["length"] == file.stat().st_size
    assert (told["row group 0"]["offset"], told["row group 0"]["value"]) == (4, "8 rows")
    assert told["ts"]["value"].startswith("INT64, ")
    file.write_bytes(file.read_bytes()[:-9])
    code, out, err = run("inspect", str(file))
    assert (code, out) == (2, "")
    assert "not readable as Parquet" in err


def test_logs_are_explained_up_to_the_broken_byte(run: Any, tmp_path: Path) -> None:
    """Blocks and records come with their offsets; a record that breaks is named with its place."""
    log = min(unpack("hudi/mor-v9-event", tmp_path).glob(".*.log.*"))
    code, out, err = run("inspect", str(log), "--json")
    told = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert told[0]["offset"] == 0
    record = next(t for t in told if t["what"] == "record")
    data = bytearray(log.read_bytes())
    data[record["offset"] + 3] += 1  # the length of the first record
    log.write_bytes(data)
    code, out, err = run("inspect", str(log), "--json")
    assert code == 2
    assert [json.loads(line) for line in out.splitlines()] == told[: told.index(record)]
    assert "record at byte 8 of the content" in err


@pytest.mark.parametrize(
    ("name", "table", "lines"),
    [
        ("delta", "vectors-several", ["Delta table  reader version 3, version 4", "k  int32"]),
        ("iceberg", "travel", ["branch main  snapshot", "Iceberg table"]),
        ("paimon", "pk-levels", ["Paimon table", "k  int32, of the key"]),
        ("hive", "text-partitions", ["Hive table"]),
    ],
)
def test_tables_of_other_formats_are_explained(
    run: Any, tmp_path: Path, name: str, table: str, lines: list[str]
) -> None:
    """Version and state, columns with the key, references, and a line for each unit."""
    code, out, err = run("inspect", str(unpack(f"{name}/{table}", tmp_path)))
    assert (code, err) == (0, "")
    assert [line for line in lines if line not in out] == []
    assert "native" in out or "merge" in out
    assert "  0  " not in out
