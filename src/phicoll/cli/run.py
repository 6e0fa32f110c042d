"""``phicoll run``: measure or simulate a sweep."""

from __future__ import annotations

import argparse
import sys

from phicoll.cli.options import Knobs, add_executor, add_option, add_progress, option_names
from phicoll.cli.output import add_json, put, put_json
from phicoll.errors import ArgumentError
from phicoll.foundations.exit_codes import BROKEN, INTERRUPTED
from phicoll.measuring import sweep
from phicoll.measuring.options import OPTIONS
from phicoll.registry import CALLS
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

EXAMPLES = """algorithms are separated by commas, their parameters by colons:
  phicoll run barrier --algorithm dissemination:ways=3,static-tournament:ways=4:notify=local,std-barrier \\
      --ranks 2,4,8 --mode threads,processes --oversubscribe -o r.jsonl
  phicoll run barrier --algorithm all --machine xeon-phi-5110p --ranks 8..232:8 -o simulated.jsonl
  phicoll run allreduce --algorithm auto --sizes 8,4K,1M --mode processes -o allreduce.jsonl
sets: all, references, paper-000, paper-001, paper-002, paper-004"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("operation", help=", ".join(CALLS))
    knobs = Knobs(parser)
    for argument, option in OPTIONS.items():
        add_option(knobs if argument in KNOBS else parser, argument, option)
    add_executor(parser, "measure on each host there, or simulate on all of them (docs/clusters.md)")
    add_progress(knobs)
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.resume and arguments.save is None:
        raise ArgumentError("resume", "no file", "-o with the file to continue")
    with option_names(NAMES):
        results = measure(arguments)
    if arguments.json:
        put_json(results.compare().to_list())
    else:
        put(str(results.compare()))
    print(f"phicoll: {results.caption()}", file=sys.stderr)
    if results.interrupted:
        return INTERRUPTED
    return BROKEN if results.unverified else 0


def measure(arguments: argparse.Namespace) -> Results:
    options = {argument: getattr(arguments, argument) for argument in OPTIONS}
    return sweep(arguments.operation, executor=arguments.executor, progress=arguments.progress, **options)
