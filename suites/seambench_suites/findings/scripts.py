"""The scripts of findings, run as their readers run them: with what pip installs alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seambase.errors import UnavailableError
from seambench.conformance.load import find_case
from seambench.contracts.findings import Finding
from seambench.contracts.registry import find_seam
from seambench.formats.golden import pack

_SECONDS = 600
#: As a shell and as Python tell them.
_SIGNALS = {-11: "SIGSEGV", 139: "SIGSEGV", -6: "SIGABRT", 134: "SIGABRT"}


@dataclass(frozen=True)
class Ran:
    """What came of a script."""

    printed: str
    ended: str  # in words, where it did not end well; empty where it did
    killed: bool = False  # whether a signal ended it, which no caller can catch

    def shows(self, finding: Finding) -> bool:
        """Whether this is the defect: other text than the right one, or no error to catch."""
        if finding.right:
            return self.printed != finding.right.strip()
        return bool(self.printed) or not self.ended or self.killed


def packed(finding: Finding) -> bytes:
    """The table of a finding's case as a ZIP file, the same bytes each time."""
    with tempfile.TemporaryDirectory(prefix="seambench-findings-") as folder:
        find_seam(finding.seam).keep(find_case(finding.case), Path(folder))
        table, file = Path(folder, "table"), Path(folder, "table.zip")
        pack(table, file, side_files=True)
        return file.read_bytes()


def run_script(finding: Finding, release: str) -> Ran:
    """Run a finding's script with one release of its peer, in an environment of its own."""
    from uv import find_uv_bin  # not where nobody runs a script

    command = [find_uv_bin(), "run", "--quiet", "--no-project", "--isolated"]
    command += ["--python", sys.executable]
    for requirement in finding.requires:
        command += ["--with", requirement.replace("{version}", release)]
    made = subprocess.run(
        [*command, "python", "-c", ""], capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise UnavailableError(f"{finding.name} with {release}: {made.stderr.strip()}")
    unpacked = [Path(one) for one in re.findall(r'extractall\("([^"]+)"\)', finding.script)]
    for place in unpacked:
        if place.is_symlink() and not place.exists():  # of a reader that died in the case
            place.unlink()
    with tempfile.TemporaryDirectory(prefix="seambench-findings-") as folder:
        if finding.attaches:
            Path(folder, f"{finding.name}.zip").write_bytes(packed(finding))
        script = Path(folder, "script.py")
        script.write_text(finding.script.replace("{version}", release), encoding="utf-8")
        try:
            done = subprocess.run(
                [*command, "python", str(script)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ran("", f"no end within {_SECONDS} s")
        finally:
            for place in unpacked:
                shutil.rmtree(place, ignore_errors=True)
    # Ivy and JVMs talk on standard output as well.
    lines = [line for line in done.stdout.splitlines() if not line.startswith((":: ", "# WARN"))]
    killed = _SIGNALS.get(done.returncode, "")
    said = [line for line in done.stderr.strip().splitlines() if line.strip()] or ["no word"]
    ended = f"{killed}: {said[-1]}" if killed else said[-1]
    return Ran("\n".join(lines).strip(), ended if done.returncode else "", bool(killed))


def not_as_stated(finding: Finding) -> Iterator[str]:
    """Releases in which the script does not do what the finding says of them."""
    stated = {finding.since: True, finding.until: True, finding.before: False, finding.after: False}
    for release, shows in stated.items():
        if release and run_script(finding, release).shows(finding) != shows:
            yield f"{finding.name}: the script {'shows' if not shows else 'hides'} it in {release}"
