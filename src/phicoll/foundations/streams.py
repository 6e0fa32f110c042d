"""The standard streams, any of which a process may lack."""

from __future__ import annotations

import sys

__all__ = ["flush_output", "is_control", "printable", "put", "say", "tell"]


def is_control(character: str) -> bool:
    """Whether a terminal obeys it instead of showing it: all control characters but ends of lines and tabs.

    So are halves of surrogate pairs, which are bytes that are not UTF-8.
    """
    return (
        (character < " " and character not in "\n\t")
        or "\x7f" <= character <= "\x9f"
        or "\ud800" <= character <= "\udfff"
    )


def printable(text: object, *, one_line: bool = False) -> str:
    """A text as a terminal may get it: with a question mark in place of each control character.

    ``one_line``: also of ends of lines and tabs, as in a table's cell.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    shown = "".join("?" if is_control(one) else one for one in shown)
    return shown.replace("\n", "?").replace("\t", "?") if one_line else shown


def put(text: str, end: str = "\n") -> None:
    """Print data on stdout: whatever file they are from, a terminal shows them. An OSError names stdout."""
    try:
        print(printable(text), end=end, flush=True)  # nothing where stdout was closed at the start
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from error


def tell(text: str, end: str = "\n") -> None:
    """Print on stderr, if there is one: ``print(file=None)`` would print on stdout, among the data."""
    if sys.stderr is not None:
        print(printable(text), end=end, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Tell something that is not a result, as ``phicoll: text``."""
    tell(f"phicoll: {text}")


def flush_output() -> None:
    """Write what stdout and stderr still hold, before the process ends in its own way."""
    import contextlib

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, closed, or on a full disk
            stream.flush()
