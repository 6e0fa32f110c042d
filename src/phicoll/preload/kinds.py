"""Which of the libraries serves a program, and its command with that library preloaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from phicoll.errors import ArgumentError, ResourceError
from phicoll.foundations import programs
from phicoll.preload import mpi, threads
from phicoll.preload.programs import needed_libraries, preloadable_programs

__all__ = ["LINKED_WITH", "kind_of", "with_library"]

#: The kinds, with the libraries that a program of each is linked with. glibc has pthread barriers for all.
LINKED_WITH = {"mpi": r"libmpi", "omp": r"(libgomp|libomp|libiomp5)\.so", "pthread": None}
LAUNCHERS = r"(mpiexec|mpirun|orterun|prterun)\b"


def kind_of(command: Sequence[str]) -> str:
    """The kind of the program that ``command`` runs: by its launcher's name, its libraries, what it calls.

    Raises
    ------
    ArgumentError
        It is none that this shows: a script, say.
    ResourceError
        Nothing can be preloaded under it.
    """
    if re.match(LAUNCHERS, Path(command[0]).name):
        return "mpi"
    found = preloadable_programs(command)
    needed = needed_libraries(found)
    for kind, pattern in LINKED_WITH.items():
        if pattern is not None and any(re.match(pattern, name) for name in needed):
            return kind
    if any(b"pthread_barrier_wait" in Path(program).read_bytes() for program in found):
        return "pthread"
    words = ", ".join(LINKED_WITH)
    raise ArgumentError("with", f"none, and {command[0]} does not show its kind", f"one of {words}")


def with_library(
    command: Sequence[str], kind: str | None = None
) -> tuple[str, Sequence[str], dict[str, str]]:
    """The kind, and the words and the environment that run ``command`` with its library.

    Raises
    ------
    ArgumentError
        The command is no program, or phicoll itself, or of no kind that it shows.
    ResourceError
        The library cannot be built or preloaded, or is preloaded already.
    """
    if Path(command[0]).name == "phicoll":
        raise ArgumentError("command", repr(command[0]), "the program itself, which is run with and without")
    if programs.on_path(command[0]) is None:
        raise ArgumentError("command", repr(command[0]), "a program on the PATH, or its path")
    environment = programs.environment_before_python()
    if "libphicoll-" in environment.get("LD_PRELOAD", ""):
        raise ResourceError(f"LD_PRELOAD has {environment['LD_PRELOAD']} already: no run would be without it")
    kind = kind or kind_of(command)
    if kind == "mpi":
        return kind, *mpi.preloaded(command, environment)
    return kind, *threads.preloaded(kind, command, environment)
