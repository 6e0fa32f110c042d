"""``phicoll plot``: figures of results files."""

from __future__ import annotations

import argparse
from functools import reduce
from operator import add as join

from phicoll.cli.options import Knobs, check_figure, report_written
from phicoll.results import load

__all__ = ["add"]

KINDS = ("auto", "comparison", "ranks", "sizes", "probes", "distributions")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="results files; several are read as one")
    parser.add_argument(
        "--figure",
        required=True,
        metavar="FILE",
        help="the file: .png, .svg, .pdf, or .html, which answers the mouse",
    )
    parser.add_argument("--kind", default="auto", choices=KINDS, help="what to show (default: auto)")
    parser.add_argument(
        "--unit",
        choices=("lines", "switches", "ns", "us", "cycles", "GB/s", "ratio"),
        help="unit of the axis (default: lines or switches; simulated: us; sizes: us, GB/s or the ratio to the best)",
    )
    knobs = Knobs(parser)
    knobs.add_argument("--label", choices=("remote", "same-core"), help="rounds to show (default: remote)")
    parser.add_argument(
        "--most",
        type=int,
        metavar="N",
        help="show only the N fastest algorithms; over ranks or sizes, these in colour (default: 6)",
    )
    knobs.add_argument("--title", metavar="TEXT", help="title of the figure")
    knobs.add_argument(
        "--figsize", metavar="W,H", help="width and height of the figure in inches (default: by its panels)"
    )
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    figure = check_figure(arguments.figure)
    results = reduce(join, [load(path) for path in arguments.files])
    options = {name: getattr(arguments, name) for name in ("unit", "label", "most", "title")}
    if arguments.figsize is not None:
        options["figsize"] = arguments.figsize.split(",")
    from phicoll.plots.canvas import save_figure

    save_figure(results.plot(arguments.kind, **options), figure)
    report_written(figure)
    return 0
