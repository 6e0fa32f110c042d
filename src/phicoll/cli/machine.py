"""``phicoll machine fit``: a simulated machine from this host's measurements."""

from __future__ import annotations

import argparse
import sys

from phicoll.cli.output import put
from phicoll.errors import ArgumentError
from phicoll.machine_fit import fit_machine, fitted_text

__all__ = ["add"]

EPILOG = """example:
  phicoll machine fit -o mine.json --name mine
  phicoll list machine ./mine.json"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "machine",
        help="fit a simulated machine to this host",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("fit",), help="fit: measure this host, write a machine file")
    parser.add_argument(
        "--name", default="host", help="what the machine is called in results (default: host)"
    )
    parser.add_argument("--launches", type=int, default=7, metavar="N", help="of each kernel (default: 7)")
    parser.add_argument("--samples", type=int, default=60, metavar="N", help="in a launch (default: 60)")
    parser.add_argument(
        "--budget", type=float, default=20, metavar="S", help="seconds, then one launch each (default: 20)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the addresses (default: 1)")
    parser.add_argument(
        "--lock-wait",
        type=float,
        default=30,
        metavar="S",
        help="seconds to wait for CPUs in use (default: 30)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="the machine file (default: standard output)")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    measuring = (arguments.launches, arguments.samples, arguments.budget, arguments.seed, arguments.lock_wait)
    if arguments.output is None:
        put(fitted_text(arguments.name, *measuring))
        return 0
    names = ("launches", "samples", "budget_s", "seed", "lock_wait_s")
    try:
        machine = fit_machine(arguments.output, arguments.name, **dict(zip(names, measuring, strict=True)))
    except ArgumentError as error:
        if error.argument == "path":
            raise ArgumentError("output", error.got, error.allowed) from error
        raise
    put("\n".join(str(entry) for entry in machine.entries if entry.kind == "calibrated"))
    print(f"phicoll: wrote {arguments.output}", file=sys.stderr)
    return 0
