"""Words on stderr."""

from __future__ import annotations

import sys

__all__ = ["tell"]


def tell(text: str, end: str = "\n") -> None:
    """Print on stderr, if there is one: ``print(file=None)`` would print on stdout, among the data."""
    if sys.stderr is not None:
        print(text, end=end, file=sys.stderr, flush=True)
