"""``phicoll tune``: a table of the best algorithms for this machine or a simulated one."""

from __future__ import annotations

import argparse
from typing import Any

from phicoll.cli.option_names import option_names
from phicoll.cli.options import Knobs, add_executor, add_model, add_progress
from phicoll.cli.output import add_json, put, put_found
from phicoll.errors import ArgumentError
from phicoll.foundations.exit_codes import INTERRUPTED
from phicoll.registry import OPERATIONS

__all__ = ["add"]

EXAMPLES = """  phicoll tune allreduce,broadcast --ranks 2,8 --budget 180 -o here.tuning
  PHICOLL_TUNING=here.tuning python program.py
  phicoll tune barrier,allreduce --machine xeon-phi-5110p --ranks 16 --sizes 8,4K -o phi.tuning
  phicoll tune --by model --model here.json -o here.tuning
  phicoll tune --quick"""

#: Arguments of tune() that have another name on the command line.
NAMES = {"save": "output", "model_foreign": "foreign", "budget_s": "budget"}


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "operations", nargs="?", help=f"some of {', '.join(OPERATIONS)} (default: all of them)"
    )
    parser.add_argument(
        "-n",
        "--ranks",
        metavar="LIST",
        help="rank counts (default: powers of two up to the number of CPUs, and twice that number)",
    )
    parser.add_argument("--sizes", metavar="LIST", help="bytes of the count argument (default: 8,4K,64K,1M)")
    parser.add_argument("--mode", metavar="LIST", help="threads, processes or both (default: processes)")
    parser.add_argument(
        "--by",
        default="measure",
        metavar="HOW",
        help="measure, model, or model-then-measure: measure the three that the model ranks best (default: measure)",
    )
    parser.add_argument("--budget", metavar="S", help="seconds that measuring may take (default: 600)")
    parser.add_argument(
        "--machine", metavar="M", help="tune for a simulated machine, in simulation: a name or a machine file"
    )
    add_model(
        parser,
        "what to do with a --model file that was not measured on this host: refuse it (the default), or use it with a "
        "warning",
    )
    parser.add_argument(
        "--algorithm",
        metavar="LIST",
        help="algorithms to try, for one operation (default: phicoll's own choice)",
    )
    knobs = Knobs(parser)
    knobs.add_argument("--placement", help="where ranks run (default: compact; with --machine: balanced)")
    knobs.add_argument(
        "--definition", default="loop", metavar="D", help="what is timed: loop or window (default: loop)"
    )
    knobs.add_argument(
        "--launches", metavar="N", help="launches of each point (default: 2 to 12, as time allows)"
    )
    knobs.add_argument(
        "--rounds", metavar="N", help="rounds in each launch (default: 8); simulated: seeds (default: 12)"
    )
    knobs.add_argument("--seed", metavar="N", help="seed (default: random; with --machine: 1)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the table to write; its rows for other groups are kept"
    )
    parser.add_argument("--resume", action="store_true", help="continue from the decisions saved beside FILE")
    add_executor(parser, "simulate there (with --machine)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="measure the host's numbers alone, a tenth of a second, and keep them for this kind of host",
    )
    add_progress(knobs)
    add_json(parser)
    usual = vars(parser.parse_args([]))
    parser.set_defaults(function=lambda arguments: run(arguments, usual))


def run(arguments: argparse.Namespace, usual: dict[str, Any]) -> int:
    """``usual``: every argument's default."""
    from phicoll.models.tuning import tune, tune_quick

    if arguments.quick:
        for name, default in usual.items():
            if name not in ("quick", "json", "progress") and getattr(arguments, name) != default:
                raise ArgumentError(
                    "quick", f"with {name}", "alone: it measures the host's numbers and no table"
                )
        put_found(tune_quick(), arguments.json)
        return 0
    if arguments.foreign is not None and arguments.model is None:
        raise ArgumentError("foreign", f"{arguments.foreign} without a model", "with --model FILE")
    with option_names(NAMES):
        found = tune(
            arguments.operations,
            ranks=arguments.ranks,
            sizes=arguments.sizes,
            mode=arguments.mode,
            by=arguments.by,
            budget_s=arguments.budget,
            machine=arguments.machine,
            model=arguments.model,
            model_foreign=arguments.foreign or "refuse",
            algorithm=arguments.algorithm,
            placement=arguments.placement,
            definition=arguments.definition,
            launches=arguments.launches,
            rounds=arguments.rounds,
            seed=arguments.seed,
            executor=arguments.executor,
            save=arguments.output,
            resume=arguments.resume,
            progress=arguments.progress,
        )
    put_found(found, arguments.json)
    if arguments.output is None and not arguments.json:
        put(found.text)
    return INTERRUPTED if found.interrupted else 0
