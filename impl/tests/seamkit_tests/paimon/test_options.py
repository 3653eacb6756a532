"""Options of a table that contradict each other or its columns."""

import json
from pathlib import Path

import pytest

from seambase.errors import InputError
from seamkit.tables.paimon.table import PaimonTable
from seamkit_tests.samples.paimon_tables import unpack_paimon

LISTED = "partial-update.remove-record-on-sequence-group"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({LISTED: "h,x"}, "names 'x', by which no sequence group goes"),
        ({LISTED: "h,y"}, "no column 'y'"),
        ({"ignore-delete": "true"}, "and ignores deletes"),
        ({"partial-update.remove-record-on-delete": "true"}, "and remove-record-on-delete"),
        ({"partial-update.remove-record-on-sequence-groun": "h"}, "one letter away"),
    ],
    ids=str,
)
def test_removing_groups_that_paimon_would_not_create_are_errors(
    options: dict[str, str], reason: str, tmp_path: Path
) -> None:
    """Fields by which no group goes, and deletes that are to be ignored or to remove, too."""
    table = unpack_paimon("core-group-removed", tmp_path)
    file = table / "schema/schema-0"
    schema = json.loads(file.read_text(encoding="utf-8"))
    schema["options"] |= options
    file.write_text(json.dumps(schema), encoding="utf-8")

    with pytest.raises(InputError, match=reason):
        PaimonTable(str(table)).scan().to_table()
