"""Where the package has what CMake installed in it: programs, libraries, headers."""

from __future__ import annotations

import os
import sys
from os.path import dirname

__all__ = ["installed"]


def installed(*parts: str) -> str | None:
    """The path of a file of the package, such as ``installed("bin", "oshrun")``; None where it was built without it.

    It lies beside the extension, which of an editable installation is in another folder than the package's text. The
    extension need not be loaded.
    """
    package = sys.modules["phicoll"].__path__
    specs = (finder.find_spec("phicoll._core", package) for finder in sys.meta_path)  # as importlib.util does
    core = next((spec.origin for spec in specs if spec and spec.origin), __file__)
    for folder in (dirname(core), dirname(dirname(__file__))):
        found = os.path.join(folder, *parts)
        if os.path.isfile(found):
            return found
    return None
