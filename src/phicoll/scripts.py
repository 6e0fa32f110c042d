"""The console scripts, each of which becomes the program in the package's ``bin/``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from phicoll.errors import ResourceError
from phicoll.foundations import programs
from phicoll.foundations.installed import installed

__all__ = ["bench_environment", "named_bench", "oshcc", "oshcxx", "oshrun", "phicoll_bench"]


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


def named_bench() -> Path | None:
    """``$PHICOLL_BENCH``, or the one installed with the package, or None."""
    named = os.environ.get("PHICOLL_BENCH")
    if named:
        if not os.access(named, os.X_OK):
            raise ResourceError(
                f"PHICOLL_BENCH: got {named!r}; allowed: the path of a phicoll-bench that can run"
            )
        return Path(named)
    found = installed("bin", "phicoll-bench")
    return Path(found) if found else None


def phicoll_bench() -> None:
    try:
        program = named_bench()  # never one on the PATH: that may be this script
        if program is None:
            raise ResourceError("phicoll-bench is not in this package, which was built without it")
        if program.resolve() == Path(sys.argv[0]).resolve():
            raise ResourceError(
                f"PHICOLL_BENCH: got {str(program)!r}, this script; allowed: the program that it starts"
            )
    except ResourceError as error:
        sys.exit(f"phicoll-bench: {error}")
    programs.become(str(program), ["phicoll-bench", *sys.argv[1:]], bench_environment())


def bench_environment() -> dict[str, str]:
    """The environment, with Intel's OpenMP library named where it is installed beside this Python."""
    found = Path(sys.prefix) / "lib" / "libiomp5.so"
    if "PHICOLL_LIBIOMP5" in os.environ or not found.is_file():
        return dict(os.environ)
    return {**os.environ, "PHICOLL_LIBIOMP5": str(found)}
