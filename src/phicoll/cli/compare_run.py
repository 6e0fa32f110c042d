"""``phicoll compare-run``: a program with phicoll and without, by turns."""

from __future__ import annotations

import argparse

from phicoll.cli.output import add_json, put_found
from phicoll.foundations.exit_codes import BROKEN, INTERRUPTED, OK, REGRESSED
from phicoll.foundations.programs import given
from phicoll.measuring.compared_runs import compare_run
from phicoll.preload.kinds import LINKED_WITH
from phicoll.results.compare.regression import check_threshold

__all__ = ["add", "add_turns"]


def add_turns(parser: argparse.ArgumentParser) -> None:
    """Add what is said of a program's runs by turns."""
    parser.add_argument(
        "--rounds", type=int, default=10, metavar="N", help="how often each is run (default: 10)"
    )
    parser.add_argument(
        "--ignore", metavar="PATTERN", help="a regular expression: what it matches may differ in the outputs"
    )
    parser.add_argument(
        "--time",
        dest="own_time",
        metavar="PATTERN",
        help="a regular expression whose group is the time that the program prints (default: the whole run's)",
    )


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="kind",
        choices=tuple(LINKED_WITH),
        help="what serves the program (default: what it shows)",
    )
    add_turns(parser)
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="RATIO",
        help="exit code 4 if the ratio's whole interval lies above this (default: never)",
    )
    add_json(parser)
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- ./program", help="what to run")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    threshold = None if arguments.threshold is None else check_threshold(arguments.threshold)
    found = compare_run(
        given(arguments.program),
        arguments.kind,
        rounds=arguments.rounds,
        ignore=arguments.ignore,
        own_time=arguments.own_time,
    )
    put_found(found, arguments.json)
    if found.interrupted:
        return INTERRUPTED
    if found.difference:
        return BROKEN
    slower = threshold is not None and found.ratio is not None and found.ratio.low > threshold
    return REGRESSED if slower else OK
