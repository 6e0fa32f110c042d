"""``phicoll count``: exact counts of what algorithms do, at any scale."""

from __future__ import annotations

import argparse

from phicoll.cli.options import add_reduction, check_figure, report_written
from phicoll.cli.output import add_json, put, put_json
from phicoll.explaining.counting import count

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operation", nargs="?", default="barrier", help="barrier, broadcast, allreduce ... (default: barrier)"
    )
    parser.add_argument(
        "--algorithm", default="all", metavar="LIST", help="algorithms to count (default: all)"
    )
    parser.add_argument(
        "--shape",
        metavar="LIST",
        help="cores x contexts of a core (default: 60x4,61x4)",
    )
    parser.add_argument(
        "--machine",
        metavar="M",
        help="the contexts of a simulated machine instead (a name or a file), and only what it can run",
    )
    parser.add_argument(
        "-n", "--ranks", type=int, metavar="N", help="number of ranks (default: all contexts)"
    )
    parser.add_argument(
        "--placement", default="compact", help="compact, scatter or balanced (default: compact)"
    )
    parser.add_argument(
        "--size",
        metavar="4K",
        help="bytes of the message or a block, where data moves (default: 4K, or what fits)",
    )
    add_reduction(parser)
    parser.add_argument("--figure", metavar="FILE", help="also write a figure: .png, .svg, .pdf or .html")
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    figure = None if arguments.figure is None else check_figure(arguments.figure)
    counts = count(
        arguments.operation,
        arguments.algorithm,
        None if arguments.shape is None else [part.strip() for part in arguments.shape.split(",")],
        machine=arguments.machine,
        ranks=arguments.ranks,
        placement=arguments.placement,
        size=arguments.size,
        type=arguments.type,
        op=arguments.op,
    )
    if arguments.json:
        put_json(counts.rows)
    else:
        put(str(counts))
    if figure is not None:
        from phicoll.plots.canvas import save_figure

        save_figure(counts.plot(), figure)
        report_written(figure)
    return 0
