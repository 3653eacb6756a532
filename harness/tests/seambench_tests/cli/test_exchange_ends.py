"""`seambench exchange` ends with an answer: which way is ahead, by the rows of a chunk."""

from pathlib import Path

from seambench.cli.exchange import who_wins
from seambench.records.files import load_record
from seambench_tests.samples.report_records import exchange_record, write_record


def test_who_is_ahead_is_said_by_rows_a_chunk(tmp_path: Path) -> None:
    """Of ways that compete, the least median, and whoever's samples reach it."""
    made = exchange_record()
    [sentence] = who_wins([load_record(write_record(tmp_path, made))])
    assert sentence == (
        "shuffle, 2 workers, ahead by rows a chunk: "
        "from 64 on pass-through, before sockets presto by 2.00 x (2.00 to 2.00); "
        "from 512 on sockets presto, before pass-through by 2.00 x (2.00 to 2.00)."
    )
    # A way that is a hundred times as slow is ahead nowhere.
    for timing in made["timings"]:
        if "pass-through" in timing["case"]:
            timing["hot"] = [100 * one for one in timing["hot"]]
    [sentence] = who_wins([load_record(write_record(tmp_path, made))])
    assert sentence == (
        "shuffle, 2 workers, ahead by rows a chunk: "
        "from 64 on sockets presto, before pass-through by 50.00 x (50.00 to 50.00)."
    )
    # Samples that overlap are no difference.
    for timing in made["timings"]:
        timing["hot"] = [1e-3] * 3 + [5e-3] + [9e-3] * 3
    [sentence] = who_wins([load_record(write_record(tmp_path, made))])
    assert sentence.endswith("from 64 on pass-through or sockets presto.")


def test_one_way_alone_is_ahead_of_nobody(tmp_path: Path) -> None:
    """Nothing is concluded where nothing competes, and that is said; without times, nothing is."""
    made = exchange_record()
    made["timings"] = [one for one in made["timings"] if "pass-through" in one["case"]]
    assert list(who_wins([load_record(write_record(tmp_path, made))])) == [
        "shuffle, 2 workers: pass-through alone has times, so none is ahead."
    ]
    made["timings"] = [one for one in made["timings"] if "hot" not in one]
    assert list(who_wins([load_record(write_record(tmp_path, made))])) == []
