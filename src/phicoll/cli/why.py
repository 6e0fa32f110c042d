"""``phicoll why``: the algorithm that a communicator chooses for a call, and why."""

from __future__ import annotations

import argparse

from phicoll.cli.option_names import option_names
from phicoll.cli.options import add_model, add_reduction
from phicoll.cli.output import add_json, put_found
from phicoll.comm.group_options import MEMORY_LIMIT
from phicoll.registry import CALLS

__all__ = ["add"]

#: Arguments of why() that have another name on the command line.
NAMES = {
    "operator": "op",
    "commutative": "not-commutative",
    "memory_limit": "memory-limit",
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operation",
        help=", ".join(CALLS),
    )
    parser.add_argument("-n", "--ranks", default="2", metavar="N", help="number of ranks (default: 2)")
    parser.add_argument(
        "--size",
        metavar="64K",
        help="bytes of the message or a block; the mean if blocks differ (default: 4K)",
    )
    parser.add_argument("--mode", metavar="M", help="threads or processes (default: processes)")
    parser.add_argument(
        "--machine",
        metavar="M",
        help="a simulated machine: a name or a machine file, optionally with changes",
    )
    add_model(
        parser,
        "what to do with a table or a --model file that was not measured on this host: refuse it, or use it (default: "
        "refuse; for a table PHICOLL_TUNING_FOREIGN)",
    )
    parser.add_argument(
        "--placement",
        default="",
        metavar="P",
        help="compact, scatter, balanced or CPUs such as 0,2,4-7 (default: not pinned; with --machine: balanced)",
    )
    add_reduction(parser)
    parser.add_argument(
        "--not-commutative", action="store_true", help="the operator is user-defined and not commutative"
    )
    parser.add_argument(
        "--memory-limit", default=str(MEMORY_LIMIT), metavar="N", help="bytes of shared memory for the group"
    )
    parser.add_argument(
        "--tuning", metavar="FILE", help="a tuning table, or none (default: PHICOLL_TUNING, docs/tuning.md)"
    )
    add_json(parser)
    parser.set_defaults(function=run, type="float32", op="sum")


def run(arguments: argparse.Namespace) -> int:
    from phicoll.models.tuning import why

    with option_names(NAMES, switches=("not-commutative",)):
        found = why(
            arguments.operation,
            arguments.ranks,
            arguments.size,
            mode=arguments.mode,
            machine=arguments.machine,
            model=arguments.model,
            placement=arguments.placement,
            tuning=arguments.tuning,
            foreign=arguments.foreign or "",
            type=arguments.type,
            op=arguments.op,
            commutative=not arguments.not_commutative,
            memory_limit=arguments.memory_limit,
        )
    put_found(found, arguments.json)
    return 0
