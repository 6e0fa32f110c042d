"""Running OpenMP programs and programs with pthread barriers on libraries that take their barriers."""

from __future__ import annotations

import os

from phicoll.errors import ArgumentError, ResourceError
from phicoll.preload.programs import native_folder, preloadable_programs, ready, with_preload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KINDS", "preloaded", "served"]

#: The kinds of programs, which are the commands' and the libraries' names, with an example of what is run.
KINDS = {
    "omp": "an OpenMP program and its arguments: ./program",
    "pthread": "a program with pthread barriers and its arguments: ./program",
}


def served(
    kind: str, command: Sequence[str], *, barrier: str | None = None
) -> tuple[Sequence[str], dict[str, str]]:
    """The words and the environment that run ``command`` with the kind's library preloaded.

    If that is impossible, a line on stderr says why, and the command runs as it is.

    Raises
    ------
    ArgumentError
        There is no command, no such program, or no such barrier.
    """
    if barrier is not None:
        from phicoll import _core
        from phicoll.foundations.nearest import near

        name = barrier.partition(":")[0]
        known = _core.algorithm_names("barrier")
        if name not in known:
            raise ArgumentError("barrier", repr(barrier), f"one algorithm; {near(name, known)}")
        _core.check_algorithm("barrier", barrier)

    def prepared(environment: dict[str, str]) -> tuple[Sequence[str], dict[str, str]]:
        words, environment = preloaded(kind, command, environment)
        variable = f"PHICOLL_{kind.upper()}"
        environment[f"{variable}_PROCESS"] = str(os.getpid())
        if barrier is not None:
            environment[f"{variable}_BARRIER"] = barrier
        return words, environment

    return ready(kind, command, KINDS[kind], prepared)


def preloaded(
    kind: str, command: Sequence[str], environment: dict[str, str]
) -> tuple[Sequence[str], dict[str, str]]:
    """The words and the environment that run ``command`` with the kind's library, made from ``environment``.

    Raises
    ------
    ResourceError
        That is impossible.
    """
    library = f"{native_folder()}/libphicoll-{kind}.so"
    if not os.path.isfile(library):
        raise ResourceError(f"libphicoll-{kind}.so is not in this package, which was built without it")
    preloadable_programs(command[:1])
    return command, with_preload(environment, library)
