"""The standard streams, any of which a process may lack."""

from __future__ import annotations

import contextlib
import sys

__all__ = ["flush_output", "say", "tell"]


def tell(text: str, end: str = "\n") -> None:
    """Print on stderr, if there is one: ``print(file=None)`` would print on stdout, among the data."""
    if sys.stderr is not None:
        print(text, end=end, file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Tell something that is not a result, as ``phicoll: text``."""
    tell(f"phicoll: {text}")


def flush_output() -> None:
    """Write what stdout and stderr still hold, before the process ends in its own way."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # None, closed, or on a full disk
            stream.flush()
