"""Check that a file can be written before anything is measured."""

from __future__ import annotations

from pathlib import Path

from phicoll.errors import ArgumentError

__all__ = ["check_writable"]


def check_writable(path: str | Path, argument: str = "path") -> Path:
    """Check that ``path`` can be written and return it; no file is left behind and none is changed.

    Raises
    ------
    ArgumentError
        The folder does not exist, or the file can't be opened for writing.
    """
    path = Path(path)
    if path.is_dir():
        raise ArgumentError(argument, f"{str(path)!r}, a folder", "a file that can be written")
    if not path.parent.is_dir():
        raise ArgumentError(
            argument, repr(str(path)), f"a file in a folder that exists ({path.parent} does not)"
        )
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise ArgumentError(
            argument, repr(str(path)), f"a file that can be written ({error.strerror})"
        ) from error
    if not existed:
        path.unlink(missing_ok=True)
    return path
