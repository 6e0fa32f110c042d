"""``phicoll mpi``: an MPI program with its collectives in phicoll."""

from __future__ import annotations

import argparse

from phicoll.errors import ArgumentError
from phicoll.foundations.exit_codes import OK

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--build", action="store_true", help="only build the library for the MPI, and print its path"
    )
    parser.add_argument(
        "--mpicc",
        metavar="PATH",
        help="the MPI's compiler (default: the one beside the launcher, MPICC, the PATH's)",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="after the run: phicoll profile's table on stderr, with the reasons for calls that passed through",
    )
    parser.add_argument(
        "launcher", nargs=argparse.REMAINDER, metavar="-- mpiexec -n 2 ./program", help="what to run"
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    from phicoll.cli.profile import run_served
    from phicoll.foundations.programs import given
    from phicoll.preload import mpi

    command = given(arguments.launcher)
    if not arguments.build:
        return run_served("mpi", mpi.served(command, mpicc=arguments.mpicc), report=arguments.report)
    if command:
        raise ArgumentError(
            "build", f"a command beside it, {command[0]!r}", "--build alone, or the command alone"
        )
    print(mpi.build(mpi.find_mpi(arguments.mpicc)))
    return OK
