"""A fifth seam as an outside package would bring it: something adds two whole numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seambase.errors import RefusedError
from seambench.contracts.common import Kind
from seambench.contracts.data_files import CaseFile, case_files, read_case_file
from seambench.contracts.outcomes import Mismatch
from seambench.contracts.seam import Case, Seam

ROOT = Path(__file__).parent / "toy"


@dataclass(frozen=True, kw_only=True)
class _File(CaseFile):
    """The keys of a case file."""

    left: int
    right: int
    sum: int | None = None
    refused: Sequence[str] = ()


@dataclass(frozen=True)
class _AdderCase(Case):
    file: _File

    @property
    def needs(self) -> Sequence[str]:
        return [*(["negative"] if min(self.file.left, self.file.right) < 0 else []), "positive"]

    @property
    def refused(self) -> Sequence[str]:
        return self.file.refused


class _AdderSeam(Seam):
    name = "adder"
    title = "two whole numbers become one"
    method = "add"
    words: Mapping[str, str] = {"positive": "numbers from 0", "negative": "numbers below 0"}

    def cases(
        self,
        root: Path,
        golden: Path | None,  # noqa: ARG002 - it has none
        begins: Sequence[str],
    ) -> Sequence[Case]:
        files = case_files(root, "adder", begins)
        read = [(id_, read_case_file(_File, file)) for id_, file in files]
        return [_AdderCase(id_, file.level, file.requirement, file) for id_, file in read]

    def check(self, case: _AdderCase, implementation: Any) -> None:
        found = implementation.add(case.file.left, case.file.right)
        if found != case.file.sum:
            raise Mismatch(f"{case.file.sum} expected, {found} came")

    def attempt(self, case: _AdderCase, implementation: Any) -> None:
        implementation.add(case.file.left, case.file.right)


SEAM = _AdderSeam()


class Adder:
    """Adds, up to 1,000."""

    name = "adder"
    version = "1.0"
    kind: Kind = "reference"
    capabilities: Mapping[str, bool] = {"positive": True}

    def add(self, left: int, right: int) -> int:
        """The sum."""
        if left + right > 1000:
            raise RefusedError(f"{left} and {right} are more than 1,000")
        return left + right


class ForgetsToCarry(Adder):
    """Adds digits."""

    name = "forgets"
    kind: Kind = "peer"

    def add(self, left: int, right: int) -> int:
        """The last digit of the sum, before those of the first number."""
        return super().add(left - left % 10, (left + right) % 10)
