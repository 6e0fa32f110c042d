"""``phicoll latency``: the cost of a line between every two cores, as a table and a heat map."""

from __future__ import annotations

import argparse

from phicoll.cli.options import PICTURES, Knobs, check_figure, report_written
from phicoll.cli.output import add_json, put_found
from phicoll.errors import ArgumentError
from phicoll.explaining.latency import LINES, MOST_CPUS, latency_matrix

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--machine", metavar="M", help="simulate M instead of measuring here: a name or a file"
    )
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        help="CPUs such as 0,2,8-11, or contexts of M (default: all allowed CPUs; of M, one context per core)",
    )
    parser.add_argument(
        "--samples", type=int, metavar="N", help="samples for each pair (default: 200; with --machine: 20)"
    )
    parser.add_argument(
        "--state", default="M", help="state of the line that is sent: M, E, S, F, I (default: M)"
    )
    knobs = Knobs(parser)
    knobs.add_argument("--receive", default="M", help="state of the line that it is copied to (default: M)")
    knobs.add_argument(
        "--lines",
        default="fresh",
        choices=LINES,
        help="fresh: each pair has lines of its own; repeated: all share the same (default: fresh)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the lines' addresses (default: 1)"
    )
    knobs.add_argument(
        "--jobs", type=int, metavar="N", help="with --machine: pairs simulated at the same time"
    )
    parser.add_argument("--figure", metavar="FILE", help="draw a heat map: .png, .svg or .pdf")
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    figure = None if arguments.figure is None else check_figure(arguments.figure, formats=PICTURES)
    found = latency_matrix(
        arguments.machine,
        None if arguments.cpus is None else parse_cpus(arguments.cpus),
        arguments.samples,
        state=arguments.state,
        receive=arguments.receive,
        lines=arguments.lines,
        seed=arguments.seed,
        jobs=arguments.jobs,
    )
    put_found(found, arguments.json)
    if figure is not None:
        from phicoll.plots.canvas import save_figure

        save_figure(found.plot(), figure)  # type: ignore[arg-type]
        report_written(figure)
    return 0


def parse_cpus(text: str) -> list[int]:
    """``0,2,8-11`` as a list."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ArgumentError("cpus", repr(text), "a list such as 0,2,8-11")
        numbers = range(int(first), int(last if dash else first) + 1)
        if len(numbers) > MOST_CPUS:
            raise ArgumentError("cpus", repr(text), f"at most {MOST_CPUS} CPUs")
        found += numbers
    return found
