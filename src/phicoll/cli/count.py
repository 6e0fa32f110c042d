"""``phicoll count``: what algorithms do, exactly, at any scale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from phicoll.cli.output import add_json, put, put_json
from phicoll.counting import PAPER_MACHINES, count
from phicoll.storage import check_writable

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "count", help="rounds, chains, notifications, edges and lines, counted exactly"
    )
    parser.add_argument(
        "operation", nargs="?", default="barrier", help="barrier, broadcast, allreduce ... (default: barrier)"
    )
    parser.add_argument("--algorithm", default="all", metavar="LIST", help="what to count (default: all)")
    parser.add_argument(
        "--machine",
        default=",".join(PAPER_MACHINES),
        metavar="LIST",
        help="cores x contexts (default: 60x4,61x4)",
    )
    parser.add_argument("--ranks", type=int, metavar="N", help="default: all contexts")
    parser.add_argument(
        "--placement", default="compact", help="compact, scatter or balanced (default: compact)"
    )
    parser.add_argument(
        "--size", metavar="4K", help="bytes of the message or a block, where data moves (default: 4K)"
    )
    parser.add_argument("--type", metavar="T", help="element type of reductions (default: float32)")
    parser.add_argument("--op", metavar="OP", help="operator of reductions (default: sum)")
    parser.add_argument("-o", "--output", metavar="FILE", help="a figure as well")
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    output = check_writable(Path(arguments.output), "output") if arguments.output else None
    counts = count(
        arguments.algorithm,
        arguments.machine.split(","),
        ranks=arguments.ranks,
        placement=arguments.placement,
        operation=arguments.operation,
        size=arguments.size,
        type=arguments.type,
        op=arguments.op,
    )
    if arguments.json:
        put_json(counts.rows)
    else:
        put(str(counts))
    if output is not None:
        counts.plot().savefig(output, dpi=150)
        print(f"phicoll: wrote {output}", file=sys.stderr)
    return 0
