"""``phicoll omp`` and ``phicoll pthread``: a program with its threads' barriers in phicoll."""

from __future__ import annotations

import argparse

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--barrier", metavar="ALGORITHM", help="the barrier, such as hybrid-dissemination (default: auto)"
    )
    parser.add_argument(
        "--report", action="store_true", help="after the run: the table of phicoll profile, on stderr"
    )
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- ./program", help="what to run")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    from phicoll.cli.profile import run_served
    from phicoll.foundations.programs import given
    from phicoll.preload import threads

    kind = arguments.command
    served = threads.served(kind, given(arguments.program), barrier=arguments.barrier)
    return run_served(kind, served, report=arguments.report)
