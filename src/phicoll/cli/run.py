"""``phicoll run``: measure or simulate a sweep."""

from __future__ import annotations

import argparse
import sys

from phicoll.cli.options import add_progress, add_reduction, option_names
from phicoll.cli.output import add_json, put, put_json
from phicoll.errors import ArgumentError
from phicoll.foundations.exit_codes import BROKEN, INTERRUPTED
from phicoll.measuring import sweep
from phicoll.registry import CALLS
from phicoll.results import Results

__all__ = ["add"]

#: Arguments of sweep() that are called otherwise on the command line.
NAMES = {
    "save": "output",
    "sizes": "size",
    "budget_s": "budget",
    "target_width": "target-width",
    "lock_wait_s": "lock-wait",
    "window_calls": "window-calls",
    "delay_ns": "delay-ns",
    "imbalance_ns": "imbalance-ns",
    "warm_up": "warm-up",
    "skew_ns": "skew-ns",
}

EXAMPLES = """algorithms are separated by commas, their parameters by colons:
  phicoll run barrier --algorithm dissemination:ways=3,static-tournament:ways=4:notify=local,std-barrier \\
      --ranks 2,4,8 --mode threads,processes --oversubscribe -o r.jsonl
  phicoll run barrier --algorithm all --machine xeon-phi-5110p --ranks 8..232:8 -o simulated.jsonl
  phicoll run allreduce --algorithm auto --size 8,4K,1M --mode processes -o allreduce.jsonl
sets: all, references, paper-000, paper-001, paper-002, paper-004"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "run",
        help="measure a sweep over algorithms, ranks and modes",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("operation", help=", ".join(CALLS))
    parser.add_argument(
        "--algorithm",
        metavar="LIST",
        help="what to measure (default: all,references; with --machine: all)",
    )
    parser.add_argument(
        "--ranks", default="2", metavar="LIST", help="rank counts such as 2,4,8..32:8 (default: 2)"
    )
    parser.add_argument(
        "--machine",
        metavar="M",
        help="simulate M instead of measuring here: a name (phicoll list machines) or a machine file, perhaps with "
        "changes such as xeon-phi-5110p:ring.hop=0",
    )
    parser.add_argument(
        "--size", metavar="LIST", help="bytes of the count argument (default: 8,4K,1M); not for barriers"
    )
    parser.add_argument(
        "--buffers",
        metavar="LIST",
        help="fresh (written by their owner before each call), reused, heap (fresh, in the group's shared heap), or "
        "several (default: fresh)",
    )
    add_reduction(parser)
    parser.add_argument("--mode", metavar="LIST", help="threads, processes or both (default: threads)")
    parser.add_argument(
        "--definition",
        metavar="LIST",
        help="of run time: loop, window or both (default: both; with --machine: loop; with --start evicted: window)",
    )
    parser.add_argument("--launches", metavar="N", help="new threads or processes this often (default: 12)")
    parser.add_argument(
        "--rounds", metavar="N", help="rounds in each launch (default: 8); simulated: seeds (default: 1)"
    )
    parser.add_argument("--calls", metavar="N", help="calls in a loop sample (default: as the clock needs)")
    parser.add_argument("--window-calls", metavar="N", help="calls in a window sample (default: 32)")
    parser.add_argument("--budget", metavar="S", help="seconds that the whole sweep may take")
    parser.add_argument(
        "--target-width", metavar="F", help="stop when intervals are this narrow, relative to the median"
    )
    parser.add_argument(
        "--placement",
        help="compact, scatter, balanced or a list of CPUs (default: compact; with --machine: balanced)",
    )
    parser.add_argument("--oversubscribe", action="store_true", help="allow more ranks than CPUs")
    parser.add_argument("--delay-ns", metavar="NS", help="delay between barriers")
    parser.add_argument("--imbalance-ns", metavar="NS", help="largest random delay of one rank")
    parser.add_argument(
        "--start",
        help="warm, or evicted: the algorithm's flags and slots are in memory alone before each call, measured by "
        "--definition window alone (default: warm)",
    )
    parser.add_argument(
        "--wait",
        metavar="POLICY",
        help="spin, pause, pause(n), yield or adaptive (the default; with --machine: pause(1))",
    )
    parser.add_argument(
        "--seed", metavar="N", help="seeds places, orders and delays (default: drawn; with --machine: 1)"
    )
    parser.add_argument(
        "--lock-wait",
        metavar="S",
        help="how long to wait for CPUs that another measurement uses (default: 30)",
    )
    parser.add_argument("--episodes", metavar="N", help="with --machine: episodes of a sample (default: 20)")
    parser.add_argument("--warm-up", metavar="N", help="with --machine: episodes before them (default: 2)")
    parser.add_argument(
        "--skew-ns", metavar="NS", help="with --machine: ranks start within this time (default: 1000)"
    )
    parser.add_argument(
        "--jobs", metavar="N", help="with --machine: points simulated at the same time (default: the CPUs)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where every record goes as it is measured (JSON Lines)"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the run in FILE")
    add_progress(parser)
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.resume and arguments.output is None:
        raise ArgumentError("resume", "no file", "-o with the file to go on with")
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
    return sweep(
        arguments.operation,
        algorithm=arguments.algorithm,
        ranks=arguments.ranks,
        sizes=arguments.size,
        buffers=arguments.buffers,
        type=arguments.type,
        op=arguments.op,
        mode=arguments.mode,
        definition=arguments.definition,
        launches=arguments.launches,
        rounds=arguments.rounds,
        calls=arguments.calls,
        window_calls=arguments.window_calls,
        budget_s=arguments.budget,
        target_width=arguments.target_width,
        placement=arguments.placement,
        machine=arguments.machine,
        episodes=arguments.episodes,
        warm_up=arguments.warm_up,
        skew_ns=arguments.skew_ns,
        jobs=arguments.jobs,
        oversubscribe=arguments.oversubscribe,
        delay_ns=arguments.delay_ns,
        imbalance_ns=arguments.imbalance_ns,
        start=arguments.start,
        wait=arguments.wait,
        seed=arguments.seed,
        lock_wait_s=arguments.lock_wait,
        save=arguments.output,
        resume=arguments.resume,
        progress=arguments.progress,
    )
