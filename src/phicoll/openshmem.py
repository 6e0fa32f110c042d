"""``oshcc``, ``oshc++`` and ``oshrun`` as console scripts: each becomes the program in the package's ``bin/``."""

from __future__ import annotations

import sys
from pathlib import Path

import phicoll._core as _core
from phicoll.foundations import programs

__all__ = ["become", "oshcc", "oshcxx", "oshrun"]


def become(name: str) -> None:
    """Replace this process by the package's program ``name``, with the same arguments."""
    core = getattr(_core, "__file__", None) or __file__
    for folder in (Path(core).parent, Path(__file__).parent):
        program = folder / "bin" / name
        if program.is_file():
            words = [str(program), *sys.argv[1:]]
            programs.become(words[0], words, programs.environment_before_python())
    sys.exit(f"{name} is not in this package, which was built without it")


def oshcc() -> None:
    become("oshcc")


def oshcxx() -> None:
    become("oshc++")


def oshrun() -> None:
    become("oshrun")
