"""``phicoll characterize``: measure a machine, fit its model, write a machine file."""

from __future__ import annotations

import argparse

from phicoll.cli.options import option_names, report_written
from phicoll.cli.output import put
from phicoll.models.characterizing import characterize

__all__ = ["add"]

EPILOG = """examples:
  phicoll characterize --quick -o here.json
  phicoll run barrier --machine ./here.json --ranks 2       # simulates this machine
  phicoll characterize --machine xeon-phi-5110p             # the model that a simulated machine shows"""

#: Arguments of characterize() that are called otherwise on the command line.
NAMES = {"path": "output", "budget_s": "budget", "lock_wait_s": "lock-wait"}


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "characterize",
        help="measure this machine, fit its model, write a machine file",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--quick", action="store_true", help="at most a minute on two cores (the default)")
    effort.add_argument(
        "--thorough",
        action="store_true",
        help="until line costs are within 2 %%, at most a quarter of an hour",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the machine file")
    parser.add_argument("--samples", metavar="FILE", help="raw samples, as JSON Lines (docs/records.md)")
    parser.add_argument("--machine", metavar="M", help="a simulated machine instead of this host")
    parser.add_argument(
        "--name",
        help="what the machine is called in results (default: host, or the simulated machine's name and -simulated)",
    )
    parser.add_argument(
        "--family",
        default="xeon-phi-5110p",
        metavar="M",
        help="where constants are taken from that this machine cannot show, scaled and marked assumed; none leaves "
        "them undetermined (default: xeon-phi-5110p)",
    )
    parser.add_argument(
        "--budget", type=float, metavar="S", help="seconds for the rounds, instead of the mode's"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds at most, instead of the mode's")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of addresses and orders (default: 1)"
    )
    parser.add_argument(
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
