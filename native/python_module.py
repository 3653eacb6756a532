"""Write the C source of the Python module: `seam/seam.h`, as cffi reads declarations."""

import re
import sys
from pathlib import Path

from cffi import FFI

HEADERS = Path(__file__).parent / "include"
_ASIDE = re.compile(r"/\*.*?\*/|__attribute__\(\(.*?\)\)\)", re.DOTALL)
_BODY = re.compile(r"^static inline [^;]*?\{.*?^\}\n", re.DOTALL | re.MULTILINE)
_INCLUDE = re.compile(r'#include "(seam/\w+\.h)"')
_NUMBER = re.compile(r"#define (SEAM_\w+) [^\"]+")


def declarations(header: str, seen: set[str]) -> str:
    """What a header and those it includes declare, each once; the compiler works out the macros."""
    if header in seen:
        return ""
    seen.add(header)
    text = _ASIDE.sub("", (HEADERS / header).read_text()).replace("\\\n", "")
    lines = []
    for line in _BODY.sub("", text).splitlines():
        if include := _INCLUDE.match(line):
            lines.append(declarations(include[1], seen))
        elif number := _NUMBER.match(line):
            lines.append(f"#define {number[1]} ...")
        elif not line.startswith("#"):
            lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    module = FFI()
    module.cdef(declarations("seam/seam.h", set()))
    module.set_source("seamkit.core._seam", '#include "seam/seam.h"')
    module.emit_c_code(sys.argv[1])
