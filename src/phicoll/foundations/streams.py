"""The standard streams, any of which a process may lack."""

from __future__ import annotations

import contextlib
import re
import sys

__all__ = ["flush_output", "printable", "put", "say", "tell"]

#: What a terminal obeys instead of showing it, all but ends of lines and tabs; halves of surrogate pairs, which are
#: bytes that are not UTF-8.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: object, *, one_line: bool = False) -> str:
    """A text as a terminal may get it: with a question mark in place of each control character.

    ``one_line``: also of ends of lines and tabs, as in a table's cell.
    """
    shown = CONTROL.sub("?", str(text))
    return shown.replace("\n", "?").replace("\t", "?") if one_line else shown


def put(text: str, end: str = "\n") -> None:
    """Print data on stdout: whatever file they are from, a terminal shows them."""
    print(printable(text), end=end, flush=True)  # nothing where stdout was closed at the start


def tell(text: str, end: str = "\n") -> None:
    """Print on stderr, if there is one: ``print(file=None)`` would print on stdout, among the data."""
    if sys.stderr is not None:
        print(printable(text), end=end, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Tell something that is not a result, as ``phicoll: text``."""
    tell(f"phicoll: {text}")


def flush_output() -> None:
    """Write what stdout and stderr still hold, before the process ends in its own way."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, closed, or on a full disk
            stream.flush()
