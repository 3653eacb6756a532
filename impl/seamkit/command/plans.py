"""Plans as files: `seamkit plan` writes them, `seamkit scan --unit` reads what they say."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from seambase.command.terminal import plain_text
from seambase.errors import InputError, UsageError
from seambase.wording import counted
from seambase.written import whole_file
from seamkit.command.tables import READING, planned_scan, storage_options

if TYPE_CHECKING:
    from seamkit.scan.scan import Scan

_MOST_BYTES = 1 << 30


def plan(given: argparse.Namespace) -> int:
    """Plan a read, and write the plan, whole or not at all."""
    from seamkit.ranges.plan_file import scan_to_json

    text = scan_to_json(planned_scan(given))
    try:
        with whole_file(Path(given.output)) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {given.output}: not writable ({error.strerror})") from error
    count = counted(len(json.loads(text)["units"]), "unit")
    sys.stderr.write(plain_text(f"a plan of {count} written to {given.output}") + "\n")
    return 0


def scan_of_plan(given: argparse.Namespace) -> Scan:
    """What the plan of `--unit` says, or the units of it that `--index` names."""
    from seamkit.ranges.plan_file import scan_from_json

    if given.table is not None:
        raise UsageError("a plan says which table is read: name none with --unit")
    for name in (*READING, "allow", "limit"):
        if getattr(given, name) not in (None, False, []):
            raise UsageError(f"--{name.replace('_', '-')} means nothing with --unit")
    file = Path(given.unit)
    try:
        size = file.stat().st_size
        if size > _MOST_BYTES:
            raise InputError(f"{file}: {size} bytes, more than a plan may have")
        text = file.read_bytes()
    except OSError as error:
        raise UsageError(f"--unit {file}: not readable ({error.strerror})") from error
    return scan_from_json(
        text, storage_options(given) or None, units=given.index or None, where=str(file)
    )
