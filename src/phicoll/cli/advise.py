"""``phicoll advise``: what other algorithms would bring to a program's calls."""

from __future__ import annotations

import argparse

from phicoll.cli.compare_run import add_turns
from phicoll.cli.option_names import option_names
from phicoll.cli.output import add_json, put_found
from phicoll.foundations.exit_codes import BROKEN, INTERRUPTED, OK
from phicoll.foundations.programs import given

__all__ = ["add"]

EXAMPLES = """  phicoll advise -o here.tuning -- python program.py
  phicoll advise --budget 120 -- phicoll mpi -- mpiexec -n 2 ./program"""

#: Arguments of advise() that have another name on the command line.
NAMES = {"save": "output", "budget_s": "budget"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the tuning table to write; its rows for other groups are kept"
    )
    parser.add_argument(
        "--budget",
        metavar="S",
        help="seconds that measuring the calls may take, without the program's own runs; behind an MPI's launcher: "
        "seconds that trying its algorithms may take (default: 60)",
    )
    add_turns(parser)
    add_json(parser)
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- command", help="what to run")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    from phicoll.models.tuning.advise import advise

    with option_names(NAMES):
        found = advise(
            given(arguments.program),
            budget_s=arguments.budget,
            rounds=arguments.rounds,
            ignore=arguments.ignore,
            own_time=arguments.own_time,
            save=arguments.output,
        )
    put_found(found, arguments.json)
    if found.interrupted:
        return INTERRUPTED
    return BROKEN if found.runs is not None and found.runs.difference else OK
