"""Running OpenMP programs and programs with pthread barriers on libraries that take their barriers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from phicoll.errors import ArgumentError, ResourceError
from phicoll.preload.programs import become, native_folder, preloadable_programs, with_preload

__all__ = ["KINDS", "Kind", "run"]


class Kind(NamedTuple):
    """A kind of program: its name in messages, and what running one takes."""

    name: str  # the command's, and the library's
    example: str

    def variable(self, what: str) -> str:
        return f"PHICOLL_{self.name.upper()}_{what}"


KINDS = {
    "omp": Kind("omp", "an OpenMP program and its arguments: ./program"),
    "pthread": Kind("pthread", "a program with pthread barriers and its arguments: ./program"),
}


def run(kind: Kind, command: Sequence[str], *, barrier: str | None = None, report: bool = False) -> int:
    """Become ``command`` with the kind's library preloaded.

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
        library = f"{native_folder()}/libphicoll-{kind.name}.so"
        if not os.path.isfile(library):
            raise ResourceError(
                f"libphicoll-{kind.name}.so is not in this package, which was built without it"
            )
        preloadable_programs(command[:1])
        environment = with_preload(environment, library)
        environment[kind.variable("PROCESS")] = str(os.getpid())
        if barrier is not None:
            environment[kind.variable("BARRIER")] = barrier
        if report:
            environment[kind.variable("REPORT")] = "1"
        return command, environment

    return become(kind.name, command, kind.example, prepared)
