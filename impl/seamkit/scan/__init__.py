"""Scanners: the native, the merge and the connector path, and the choice between them."""

import sys
from types import ModuleType
from typing import NoReturn


class _Package(ModuleType):
    """This package, which other libraries have a function for."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("seamkit.scan is a package: call seamkit.scan_table(path, ...)")


sys.modules[__name__].__class__ = _Package
