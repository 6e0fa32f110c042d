"""Where the package has what CMake installed in it: programs, libraries, headers."""

from __future__ import annotations

import os
from importlib.util import find_spec
from os.path import dirname

__all__ = ["installed"]


def installed(*parts: str) -> str | None:
    """The path of a file of the package, such as ``installed("bin", "oshrun")``; None where it was built without it.

    It lies beside the extension, which of an editable installation is in another folder than the package's text. The
    extension need not be loaded.
    """
    core = find_spec("phicoll._core")
    for folder in (dirname(core.origin if core and core.origin else __file__), dirname(dirname(__file__))):
        found = os.path.join(folder, *parts)
        if os.path.isfile(found):
            return found
    return None
