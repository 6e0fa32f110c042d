"""``oshcc``, ``oshc++`` and ``oshrun`` as console scripts: each becomes the program in the package's ``bin/``."""

from __future__ import annotations

import sys

from phicoll.foundations import programs
from phicoll.foundations.installed import installed

__all__ = ["become", "oshcc", "oshcxx", "oshrun"]


def become(name: str) -> None:
    """Replace this process by the package's program ``name``, with the same arguments."""
    program = installed("bin", name)
    if program is None:
        sys.exit(f"{name} is not in this package, which was built without it")
    words = [program, *sys.argv[1:]]
    programs.become(words[0], words, programs.environment_before_python())


def oshcc() -> None:
    become("oshcc")


def oshcxx() -> None:
    become("oshc++")


def oshrun() -> None:
    become("oshrun")
