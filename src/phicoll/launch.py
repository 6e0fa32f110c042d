"""Programs as ranks: ``phicoll launch -n 4 script.py arguments``, or ``python -m phicoll.launch``.

Starts a program once for each rank: a script, a module (``-m name``), code (``-c code``) or any executable. In Python
``phicoll.COMM_WORLD`` (or ``phicoll.world()``) is the communicator of all; a C++ program calls
``phicoll::ProcessGroup::from_environment()``. Rank 0 has the launcher's standard input, the others an empty one; ranks
that are threads share it. Ranks' output is passed on line by line, with the rank in front.

The exit status is the largest of the ranks', or:

- 128 and the signal's number for a rank that was killed
- that of the rank that called :func:`phicoll.shmem.global_exit`
- 3 if none failed but the group broke
- 2 for bad input
"""

from __future__ import annotations

import os
import sys
from argparse import REMAINDER, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import phicoll._core as _core
from phicoll.comm.first_cause import ENDED, late
from phicoll.comm.group_options import (
    HEAP_LIMIT,
    MEMORY_LIMIT,
    MODES,
    MOST_BYTES,
    MOST_RANKS,
    GroupOptions,
    checked_placement,
    milliseconds,
    whole_number,
)
from phicoll.comm.program import Program
from phicoll.comm.rank_processes import (
    GRACE_S,
    RankProcesses,
    end_with_launcher,
    one_blas_thread,
    room_for_ranks,
)
from phicoll.comm.running import ThreadedRun
from phicoll.errors import ArgumentError, Error
from phicoll.foundations.arguments import Parser
from phicoll.foundations.exit_codes import BAD_INPUT, BROKEN, INTERRUPTED
from phicoll.foundations.programs import environment_before_python
from phicoll.foundations.streams import tell

__all__ = ["main"]

# The folders of packages that are called mpi4py and shmem4py.
AS_MPI4PY = str(Path(__file__).resolve().parent / "comm" / "as_mpi4py")
CALLED_GLOBAL_EXIT = "called shmem_global_exit"  # src/cpp/phicoll/shmem/setup.cpp
AS_SHMEM4PY = str(Path(__file__).resolve().parent / "shmem" / "as_shmem4py")


def parser(prog: str) -> Parser:
    made = Parser(prog=prog, description="Starts a program once for each rank of a group.")
    made.add_argument("-n", "-np", "--ranks", type=int, required=True, help=f"how many, 1 to {MOST_RANKS}")
    made.add_argument(
        "--mode", choices=MODES, default="processes", help="threads: a Python script, in one interpreter"
    )
    made.add_argument(
        "--placement", default="", help="compact, scatter, balanced or CPUs such as 0,2,4-7: pins ranks"
    )
    made.add_argument("--timeout", type=float, help="seconds that a single wait inside a collective may take")
    made.add_argument("--wait", default="adaptive", help="spin, pause, pause(n), yield, adaptive")
    made.add_argument(
        "--memory-limit", type=int, default=MEMORY_LIMIT, help="bytes of shared memory for collectives"
    )
    made.add_argument(
        "--heap-limit",
        type=int,
        default=HEAP_LIMIT,
        help="bytes of shared memory for arrays, sub-groups, messages",
    )
    made.add_argument(
        "--tuning", default="", help="a tuning table that auto asks, or none (default: PHICOLL_TUNING)"
    )
    made.add_argument(
        "--foreign",
        default="",
        choices=("refuse", "use"),
        help="what to do with another machine's table (default: PHICOLL_TUNING_FOREIGN, else refuse)",
    )
    made.add_argument(
        "--as-mpi4py", action="store_true", help="'from mpi4py import MPI' gives programs phicoll.MPI"
    )
    made.add_argument(
        "--as-shmem4py",
        action="store_true",
        help="'from shmem4py import shmem' gives programs phicoll.shmem, begun",
    )
    # What is left goes to the first of these three.
    made.add_argument("-m", dest="module", nargs=REMAINDER, help="a module, as python -m takes it")
    made.add_argument("-c", dest="code", nargs=REMAINDER, help="code, as python -c takes it")
    made.add_argument("program", nargs="?", help="a Python script, or any program")
    made.add_argument("arguments", nargs=REMAINDER, help="the program's own")
    return made


def program(given: Namespace) -> Program:
    """The program that the command line names."""
    for kind in ("module", "code"):
        words = getattr(given, kind)
        if words is not None:
            if not words:
                raise ArgumentError(kind, "none", f"{kind} after -{kind[0]}")
            return Program(kind, words[0], words[1:])
    if given.program is None:
        raise ArgumentError("program", "none", "a script, any program, -m and a module, or -c and code")
    return Program("program", given.program, given.arguments)


def main(words: Sequence[str] | None = None, prog: str = "python -m phicoll.launch") -> int:
    """Start a program's ranks and wait for them; the exit status."""
    try:
        given = parser(prog).parse_args(words)
        options = GroupOptions(
            whole_number("ranks", given.ranks, 1, MOST_RANKS),
            checked_placement(given.placement, given.ranks),
            whole_number("memory_limit", given.memory_limit, 1, MOST_BYTES),
            whole_number("heap_limit", given.heap_limit, 0, MOST_BYTES),
            milliseconds(given.timeout),
            _core.parse_wait(given.wait),
            given.tuning,
            given.foreign,
        )
        start = launch_threads if given.mode == "threads" else launch_processes
        path = [AS_MPI4PY] * given.as_mpi4py + [AS_SHMEM4PY] * given.as_shmem4py
        return start(options, program(given), path)
    except KeyboardInterrupt as interrupt:
        say_notes(interrupt)
        return INTERRUPTED
    except ArgumentError as error:
        say(str(error))
        return BAD_INPUT
    except Error as error:
        say(str(error))
        say_notes(error)
        return BROKEN


def say(text: str) -> None:
    tell(f"phicoll.launch: {text}")


def say_notes(error: BaseException) -> None:
    """What an exception says beside its message, such as which ranks did not end in time."""
    for text in getattr(error, "__notes__", ()):
        say(text)


def exit_status(status: int) -> int:
    """A process's status as a shell reports it: 128 and the signal's number for one that was killed."""
    return 128 - status if status < 0 else status


def launch_processes(options: GroupOptions, program: Program, path: list[str]) -> int:
    command = program.command()
    environment = {**environment_before_python(), "PHICOLL_WAIT": options.wait}
    if path:
        before = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([*path, *([before] if before else [])])
    environment.setdefault("PYTHONUNBUFFERED", "1")
    one_blas_thread(environment)
    with room_for_ranks(options.ranks) as watched:
        processes = RankProcesses(
            options,
            lambda rank: (command, ()),
            environment,
            prepare=end_with_launcher(),
            stdin=None,
            watched=watched,
        )
        processes.wait(GRACE_S)
    if processes.broken is not None:
        rank, reason = processes.broken
        if reason.startswith(CALLED_GLOBAL_EXIT) and rank >= 0:  # an end that a rank asked for
            return exit_status(processes.statuses[rank])
        say(f"group broken by rank {rank}: {reason}")
    for rank in processes.overdue:
        say(late(rank, ENDED))
    worst = max(map(exit_status, processes.statuses.values()))
    return worst or (BROKEN if processes.broken is not None else 0)


def launch_threads(options: GroupOptions, program: Program, path: list[str]) -> int:
    sys.path[:0] = path
    code, variables = program.loaded()

    def script(comm: Any) -> int:
        try:
            exec(code, dict(variables))
        except SystemExit as error:
            if error.code not in (None, 0):
                raise
        return 0

    try:
        ThreadedRun(script, (), options).results()
    except Error:
        raise
    except Exception as error:
        say(str(error.__cause__))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
