"""Tables in an S3 store that runs on this machine."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seambase.errors import InputError
from seamkit.command import main
from seamkit.tables.hudi.table import HudiTable
from seamkit_tests.samples.golden_tables import golden_table_names, unpack_table

pytestmark = pytest.mark.storage


@pytest.fixture
def options(object_store: dict[str, Any]) -> dict[str, Any]:
    """Storage options of a server with one bucket, `lake`."""
    return object_store


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize("name", [name for name in golden_table_names() if "/" not in name])
def test_a_table_has_the_same_rows_on_an_object_store(
    tmp_path: Path, options: dict[str, Any], name: str, scheme: str
) -> None:
    """Slices and rows are those of the local folder it was uploaded from."""
    import s3fs

    local = unpack_table(name, tmp_path)
    s3fs.S3FileSystem(**options).put(f"{local}/", f"lake/{name}/", recursive=True)
    here, there = HudiTable(str(local)), HudiTable(f"{scheme}://lake/{name}", options)
    assert here.slices() == there.slices()
    assert sorted(map(repr, here.scan().to_table().to_pylist())) == sorted(
        map(repr, there.scan().to_table().to_pylist())
    )


def test_a_bucket_that_is_missing_is_named(options: dict[str, Any]) -> None:
    """The error tells the address and what is wrong."""
    with pytest.raises(InputError, match="s3://nothing/table"):
        HudiTable("s3://nothing/table", options)


def test_a_denied_server_is_named(options: dict[str, Any]) -> None:
    """A server that nobody listens on is told with the object that was asked for."""
    wrong = {**options, "endpoint_url": "http://127.0.0.1:1"}
    with pytest.raises(InputError, match=r"s3://lake/t/\.hoodie"):
        HudiTable("s3://lake/t", wrong)


def test_the_command_line_takes_storage_options(
    tmp_path: Path, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each --storage-option NAME=VALUE reaches the file system; rows land in a local file."""
    import s3fs

    local = unpack_table("mor-v9-event", tmp_path / "table")
    s3fs.S3FileSystem(**options).put(f"{local}/", "lake/by-command/", recursive=True)
    told = [f"--storage-option={name}={value}" for name, value in options.items()]
    target = tmp_path / "rows.arrow"
    with pytest.raises(SystemExit) as ended:
        main(["scan", "s3://lake/by-command", "--query", "snapshot", "-o", str(target), *told])
    assert ended.value.code == 0
    assert capsys.readouterr().out == ""
    with pa.ipc.open_file(target) as rows:
        expected = HudiTable(str(local)).scan().to_table()
        assert sorted(map(repr, rows.read_all().to_pylist())) == sorted(
            map(repr, expected.to_pylist())
        )
