"""Where the package has what CMake installed in it: programs, libraries, headers."""

from __future__ import annotations

from pathlib import Path

import phicoll._core as _core

__all__ = ["installed"]


def installed(*parts: str) -> Path | None:
    """The path of a file of the package, such as ``installed("bin", "oshrun")``; None where it was built without it.

    It lies beside the extension, which of an editable installation is in another folder than the package's text.
    """
    core = getattr(_core, "__file__", None) or __file__
    for folder in (Path(core).parent, Path(__file__).parent.parent):
        found = folder.joinpath(*parts)
        if found.is_file():
            return found
    return None
