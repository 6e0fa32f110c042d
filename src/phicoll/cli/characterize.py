"""``phicoll characterize``: measure a machine, fit its model, write a machine file."""

from __future__ import annotations

import argparse

from phicoll.cli.option_names import option_names
from phicoll.cli.options import Knobs, report_written
from phicoll.cli.output import put
from phicoll.models.characterizing import characterize

__all__ = ["add"]

EPILOG = """examples:
  phicoll characterize -o here.json
  phicoll run barrier --machine ./here.json --ranks 2       # simulates this machine
  phicoll characterize --machine xeon-phi-5110p             # fits the model of a simulated machine"""

#: Arguments of characterize() that have another name on the command line.
NAMES = {"path": "output", "budget_s": "budget", "lock_wait_s": "lock-wait"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="measure until line costs are within 2 %%, at most a quarter of an hour (default: at most a minute)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the machine file to write")
    knobs = Knobs(parser)
    knobs.add_argument(
        "--samples", metavar="FILE", help="write raw samples to this file, as JSON Lines (docs/records.md)"
    )
    parser.add_argument(
        "--machine", metavar="M", help="characterize a simulated machine instead of this host"
    )
    parser.add_argument(
        "--name",
        help="the machine's name in results (default: host, or the simulated machine's name and -simulated)",
    )
    knobs.add_argument(
        "--family",
        default="xeon-phi-5110p",
        metavar="M",
        help="machine whose constants stand in, scaled and marked assumed, for those that cannot be measured here; "
        "none leaves them undetermined (default: xeon-phi-5110p)",
    )
    parser.add_argument(
        "--budget", type=float, metavar="S", help="seconds for the rounds (default: the mode's)"
    )
    knobs.add_argument(
        "--rounds", type=int, metavar="N", help="at most this many rounds (default: the mode's)"
    )
    knobs.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of addresses and orders (default: 1)"
    )
    knobs.add_argument(
        "--lock-wait",
        type=float,
        default=30,
        metavar="S",
        help="seconds to wait for CPUs in use (default: 30)",
    )
    parser.add_argument("--json", action="store_true", help="print the machine file instead of a table")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    with option_names(NAMES):
        found = characterize(
            "thorough" if arguments.thorough else "quick",
            arguments.output,
            samples=arguments.samples,
            machine=arguments.machine,
            name=arguments.name,
            family=None if arguments.family == "none" else arguments.family,
            seed=arguments.seed,
            budget_s=arguments.budget,
            rounds=arguments.rounds,
            lock_wait_s=arguments.lock_wait,
        )
    put(found.text if arguments.json else str(found))
    if arguments.output is not None:
        report_written(arguments.output)
    return 0
