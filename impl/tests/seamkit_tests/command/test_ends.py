"""How the command ends, as a process of its own: signals, pipes, full disks, odd names."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from seambase.command.ending import _termination_as_interrupt
from seambench_tests.samples.ends import (
    check_a_full_disk_is_one_line,
    check_a_name_that_is_no_utf8_is_refused,
    check_nothing_heavy_is_imported,
    check_the_version_is_a_line,
)


def command(*arguments: object, fake: str = "") -> list[str]:
    """The command as a process; with a fake it finds that in place of any table."""
    module = ("seamkit_tests.command.fakes", fake) if fake else ("seamkit",)
    return [sys.executable, "-m", *module, *map(str, arguments)]


def table_of(path: Path, columns: dict[str, object]) -> Path:
    """A Delta table."""
    import deltalake

    deltalake.write_deltalake(str(path), pa.table(columns))
    return path


def test_help_and_refusals_import_nothing_heavy() -> None:
    """Help, and a scan that is refused at once, load no Arrow, DuckDB or Spark."""
    program = (
        "import sys; from seamkit.command import main\n"
        "codes = []\n"
        "for words in (['--help'], ['scan', '--help'], ['scan', 'x', '-o', 'y.xls']):\n"
        "    try: main(words)\n"
        "    except SystemExit as error: codes.append(error.code or 0)\n"
        "heavy = {'pyarrow', 'numpy', 'duckdb', 'pyspark', 'rich', 'typer'} & set(sys.modules)\n"
        "sys.exit(f'{codes} {heavy}' if heavy or codes != [0, 0, 2] else 0)"
    )
    assert "scan" in check_nothing_heavy_is_imported(program)


def test_a_stream_goes_to_standard_output(tmp_path: Path) -> None:
    """`--output -` writes an Arrow stream and nothing else to standard output."""
    folder = table_of(tmp_path / "t", {"id": [1, 2, 3]})
    done = subprocess.run(
        command("scan", folder, "--output", "-"), capture_output=True, check=True, timeout=600
    )
    assert pa.ipc.open_stream(done.stdout).read_all()["id"].to_pylist() == [1, 2, 3]


def test_output_that_nobody_takes_is_exit_code_1() -> None:
    """When the pipe is closed on us, the command ends without a word, but not with success."""
    with subprocess.Popen(
        command("scan", "t", "--output", "-", fake="endless"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        said = process.stderr.read().decode()
    assert process.returncode == 1
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


@pytest.mark.parametrize(
    ("words", "closed", "code", "said"),
    [
        (("--help",), ">&-", 1, "seamkit: standard output: Bad file descriptor\n"),
        (("scan", "t"), ">&-", 1, "t (units: native 1)\nseamkit: standard output: Bad file d"),
        (("scan", "t", "-o", "-"), ">&-", 1, "seamkit: standard output: Bad file descriptor\n"),
        (("scan", "t", "-o", "t.csv"), ">&-", 0, "2 rows written to t.csv"),
        (("scan", "t", "-o", "t.csv"), ">&- 2>&-", 0, ""),
        (("scan", "nosuch"), "2>&-", 2, ""),
    ],
)
def test_a_stream_that_is_closed_is_one_that_takes_nothing(
    tmp_path: Path, words: tuple[str, ...], closed: str, code: int, said: str
) -> None:
    """What cannot be printed is one line and exit code 1; who prints nothing ends with 0."""
    table_of(tmp_path / "t", {"id": [1, 2]})
    line = f"exec {shlex.join(command(*words))} {closed}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr


def _hear_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing_half_written(tmp_path: Path, signal_: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and a terminal that closes are exit code 130, told in a line."""
    with subprocess.Popen(
        command("scan", "t", "-o", tmp_path / "out.arrow", fake="endless"),
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"SEAMKIT_DEBUG": ""},
        # A shell that starts the tests in the background has both ignored.
        preexec_fn=_hear_signals,
    ) as process:
        assert process.stderr is not None
        assert "reading" in process.stderr.readline()
        process.send_signal(signal_)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "seamkit: interrupted" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_was_begun_by_nohup_goes_on() -> None:
    """Where a closing terminal is to be passed over, it is; all is as before in the end."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    for ignored in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGHUP, ignored)
        try:
            with _termination_as_interrupt():
                assert (signal.getsignal(signal.SIGHUP) is ignored) == (ignored is signal.SIG_IGN)
            assert signal.getsignal(signal.SIGHUP) is ignored
            assert signal.getsignal(signal.SIGTERM) is before[signal.SIGTERM]
        finally:
            signal.signal(signal.SIGHUP, before[signal.SIGHUP])


def test_a_file_without_room_is_told(tmp_path: Path) -> None:
    """A file that the system lets grow no further is one sentence, and leaves nothing behind."""
    folder, target = table_of(tmp_path / "t", {"id": [1]}), tmp_path / "out.csv"
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command("scan", folder, "-o", target)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode in (1, 2), done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_folder_that_takes_no_file_is_told(tmp_path: Path) -> None:
    """A read-only folder is one sentence and exit code 2."""
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    table = table_of(tmp_path / "t", {"id": [1]})
    done = subprocess.run(
        command("scan", table, "-o", folder / "out.csv"),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["scan", "{}", "-o", "-"], ["scan", "{}"]]
)
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, arguments: list[str]) -> None:
    """A full disk behind standard output is exit code 1 and a sentence, no traceback."""
    folder = table_of(tmp_path / "t", {"id": [1]})
    check_a_full_disk_is_one_line(command(*(argument.format(folder) for argument in arguments)))


def test_a_name_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """Arrow holds texts only: such a name is exit code 2 and one sentence."""
    check_a_name_that_is_no_utf8_is_refused(command("scan"), tmp_path)


def test_values_and_names_of_a_table_command_no_terminal(tmp_path: Path) -> None:
    """Escape characters in a value or in a column's name do not reach standard output."""
    folder = table_of(tmp_path / "t", {"a\x1b]0;b": pa.array(["x\x1b[31m"])})
    done = subprocess.run(command("scan", folder), capture_output=True, check=True, timeout=600)
    assert b"\x1b" not in done.stdout + done.stderr
    assert b"x\\x1b[31m" in done.stdout


def test_the_version_is_the_distribution_s() -> None:
    """`seamkit --version` prints one line."""
    check_the_version_is_a_line(command(), "seamkit")
