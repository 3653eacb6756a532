"""Forms of Hudi's timelines and metadata tables: each one tells a mistaken reader from ours."""

from collections.abc import Iterator
from typing import Any

import pytest

from seamkit.files.storage import Storage
from seamkit.tables.hudi.listing import hfile, metadata_table
from seamkit.tables.hudi.log.log import order_blocks
from seamkit.tables.hudi.timeline.archive import Archive
from seamkit_tests.samples.mistakes import Mistake, mistaken

_METADATA = "scan/hudi/scenarios/metadata-table@"


def _first_block_alone(patch: pytest.MonkeyPatch) -> None:
    """Takes an HFile for one block of data."""
    blocks = hfile._Reader.data_blocks

    def first(self: Any, trailer: Any) -> Iterator[tuple[int, bytes]]:
        yield next(blocks(self, trailer))

    patch.setattr(hfile._Reader, "data_blocks", first)


def _last_block_of_a_write(patch: pytest.MonkeyPatch) -> None:
    """Lets a later block of a write stand for those before."""

    def last(*args: Any) -> list[Any]:
        return list({block.instant: block for block in order_blocks(*args)}.values())

    patch.setattr(f"{metadata_table.__name__}.order_blocks", last)


def _bases_first(patch: pytest.MonkeyPatch) -> None:
    """Passes over slices of a metadata table that have no base file."""
    slices = metadata_table.MetadataTable.slices

    def with_base(self: Any, partition: str) -> list[Any]:
        return [one for one in slices(self, partition) if one.base is not None]

    patch.setattr(metadata_table.MetadataTable, "slices", with_base)


def _logs_alone(patch: pytest.MonkeyPatch) -> None:
    """Takes what base files of a metadata table hold for nothing."""

    def empty(content: Any, **more: Any) -> Any:
        found = hfile.read_hfile(content, **more)
        is_base = "block" not in more["file"]
        return hfile.HFile([], found.info) if is_base else found

    patch.setattr(f"{metadata_table.__name__}.read_hfile", empty)


def _no_archive(patch: pytest.MonkeyPatch) -> None:
    """Knows the active timeline alone."""
    patch.setattr(Archive, "_listed", lambda *_, **__: iter(()))
    patch.setattr(Archive, "_logged", lambda *_, **__: iter(()))


def _first_page_of_names(patch: pytest.MonkeyPatch) -> None:
    """Takes the first page of a listing for the whole."""
    listed = Storage.list

    def first(self: Any, path: str = "") -> Any:
        found = sorted(listed(self, path), key=lambda one: one.name)
        return found[:11] if path in (".hoodie", ".hoodie/timeline") else found

    patch.setattr(Storage, "list", first)


@pytest.mark.filterwarnings("ignore::seambase.scan.TableWarning")
@pytest.mark.parametrize(
    ("form", "mistake", "case"),
    [
        *(
            (form, mistake, f"{_METADATA}{version}/snapshot")
            for version in ("v6", "v9")
            for form, mistake in (
                ("metadata-table-cells", _first_block_alone),
                ("metadata-table-records", _last_block_of_a_write),
                ("metadata-table-logs", _bases_first),
                ("metadata-table-compacted", _logs_alone),
            )
        ),
        ("timeline-archived", _no_archive, "scan/hudi/scenarios/windows-kinds@v6/the-second"),
        ("timeline-archived", _no_archive, "scan/hudi/scenarios/windows-kinds@v9/the-second"),
        ("timeline-active", _first_page_of_names, "scan/hudi/scenarios/archived@v6/snapshot"),
        ("timeline-active", _first_page_of_names, "scan/hudi/scenarios/archived@v9/snapshot"),
    ],
)
def test_a_form_shows_a_reader_its_mistake(
    form: str, mistake: Mistake, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table as it stands does not show it, the form does; our reader is right of both."""
    mistaken(monkeypatch, mistake, case, form, "metadata" if "metadata" in form else "auto")
