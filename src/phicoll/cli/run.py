"""``phicoll run``: measure or simulate a sweep."""

from __future__ import annotations

import argparse

from phicoll.cli.option_names import option_names
from phicoll.cli.options import Knobs, add_executor, add_option, add_progress
from phicoll.cli.output import add_json, put, put_found, put_json
from phicoll.errors import ArgumentError
from phicoll.explaining.one_sided import ACCESSES, one_sided
from phicoll.foundations.exit_codes import BROKEN, INTERRUPTED
from phicoll.foundations.streams import say
from phicoll.measuring import sweep
from phicoll.measuring.options import OPTIONS
from phicoll.registry import CALLS, PROGRAMS
from phicoll.results import Results

__all__ = ["add"]

#: The options' names by those of sweep()'s arguments.
NAMES = {argument: option.name for argument, option in OPTIONS.items()}

#: Arguments that are seldom needed.
KNOBS = (
    "window_calls",
    "warm_up",
    "target_width",
    "delay_ns",
    "imbalance_ns",
    "skew_ns",
    "lock_wait_s",
    "jobs",
)

#: The options that an access takes.
TAKEN = ("sizes", "machine", "mode", "rounds", "placement", "oversubscribe", "wait", "seed")

EXAMPLES = """algorithms are separated by commas, their parameters by colons:
  phicoll run barrier --algorithm dissemination:ways=3,static-tournament:ways=4:notify=local,std-barrier \\
      --ranks 2,4,8 --mode threads,processes --oversubscribe -o r.jsonl
  phicoll run barrier --algorithm all --machine xeon-phi-5110p --ranks 8..232:8 -o simulated.jsonl
  phicoll run allreduce --algorithm auto --sizes 8,4K,1M --mode processes -o allreduce.jsonl
programs, whose run is timed with each barrier (docs/programs.md):
  phicoll run cg --class S,W --algorithm auto,libgomp --mode threads -o cg.jsonl
OpenSHMEM's accesses, by pairs of ranks (docs/kernels.md), with the cost of a library's call:
  phicoll run put --sizes 8,4K,64K --pairs 1,30 --call 0,200 --machine xeon-phi-se10p
sets: all, references, paper-000, paper-001, paper-002, paper-004"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "operation",
        help=f"{', '.join(CALLS)}; a program: {', '.join(PROGRAMS)}; or {', '.join(ACCESSES)}, perhaps with parameters",
    )
    knobs = Knobs(parser)
    for argument, option in OPTIONS.items():
        add_option(knobs if argument in KNOBS else parser, argument, option)
    parser.add_argument(
        "--pairs", metavar="LIST", help="of an access: numbers of pairs of ranks (default: 1)"
    )
    parser.add_argument(
        "--call", metavar="TICKS", help="of an access: what a call costs, 0 for loads and stores (default: 0)"
    )
    add_executor(parser, "measure on each host there, or simulate on all of them (docs/clusters.md)")
    add_progress(knobs)
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.operation.partition(":")[0] in ACCESSES:
        return run_access(arguments)
    for name in ("pairs", "call"):
        if getattr(arguments, name) is not None:
            raise ArgumentError(name, getattr(arguments, name), f"only with {', '.join(ACCESSES)}")
    if arguments.resume and arguments.save is None:
        raise ArgumentError("resume", "no file", "-o with the file to continue")
    with option_names(NAMES):
        results = measure(arguments)
    if arguments.json:
        put_json(results.compare().to_list())
    else:
        put(str(results.compare()))
    say(results.caption())
    if results.interrupted:
        return INTERRUPTED
    return BROKEN if results.unverified else 0


def measure(arguments: argparse.Namespace) -> Results:
    options = {argument: getattr(arguments, argument) for argument in OPTIONS}
    return sweep(arguments.operation, executor=arguments.executor, progress=arguments.progress, **options)


def run_access(arguments: argparse.Namespace) -> int:
    """An access of OpenSHMEM's between pairs of ranks, which takes a few of the options."""
    given = {name: getattr(arguments, name) for name in (*OPTIONS, "executor") if getattr(arguments, name)}
    taken = {name: given.pop(name) for name in TAKEN if name in given}
    for name, value in given.items():
        raise ArgumentError(
            name, repr(value), f"with {arguments.operation} only {', '.join(map(str, TAKEN))}, pairs, call"
        )
    for name in ("pairs", "call"):
        if getattr(arguments, name) is not None:
            taken[name] = getattr(arguments, name)
    if "placement" in taken:
        taken["where"] = taken.pop("placement")
    with option_names(NAMES | {"where": "placement", "access": "operation"}):
        put_found(one_sided(arguments.operation, **taken), arguments.json)
    return 0
