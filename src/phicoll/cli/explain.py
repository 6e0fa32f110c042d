"""``phicoll explain``: why a collective takes its time on a simulated machine."""

from __future__ import annotations

import argparse
from pathlib import Path

from phicoll.cli.options import Knobs, add_reduction, add_simulated_option, check_figure, report_written
from phicoll.cli.output import add_json, put, put_json
from phicoll.explaining.explanation import explain
from phicoll.foundations.files import check_writable

__all__ = ["add"]

#: Options that a simulated sweep has too, with its defaults.
SHARED = ("buffers", "placement", "wait", "seed")
SHARED_KNOBS = ("warm_up", "skew_ns")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operation", nargs="?", default="barrier", help="barrier, broadcast, allreduce ... (default: barrier)"
    )
    parser.add_argument(
        "--algorithm",
        metavar="A",
        help="one algorithm with its parameters (default: hybrid-dissemination; where data moves: auto)",
    )
    parser.add_argument("--size", metavar="4K", help="bytes of the message or a block (default: 4K)")
    add_reduction(parser)
    parser.add_argument(
        "--machine",
        default="xeon-phi-5110p",
        metavar="M",
        help="a name or a machine file, optionally with changes such as :directory.service=0 (default: xeon-phi-5110p)",
    )
    parser.add_argument(
        "-n", "--ranks", type=int, metavar="N", help="number of ranks (default: all contexts)"
    )
    parser.add_argument(
        "--definition",
        default="loop",
        metavar="D",
        help="loop: calls back to back; window: each call from rest (default: loop)",
    )
    parser.add_argument("--calls", type=int, default=20, metavar="N", help="calls to simulate (default: 20)")
    knobs = Knobs(parser)
    knobs.add_argument(
        "--call", type=int, metavar="K", help="the call to explain, from 0 (default: the one of median time)"
    )
    for argument in SHARED:
        add_simulated_option(parser, argument)
    for argument in SHARED_KNOBS:
        add_simulated_option(knobs, argument)
    knobs.add_argument(
        "--links", type=int, default=60, metavar="N", help="links of the path to print (default: 60)"
    )
    knobs.add_argument(
        "--memory-limit",
        type=int,
        default=768 << 20,
        metavar="BYTES",
        help="bytes that the record of the explained call may take (default: 805306368)",
    )
    parser.add_argument("--trace", metavar="FILE", help="write a timeline of the call, for ui.perfetto.dev")
    knobs.add_argument(
        "--all-calls", action="store_true", help="write all calls to the timeline, including the warm-up"
    )
    parser.add_argument("--figure", metavar="FILE", help="draw the critical path: .png, .svg, .pdf or .html")
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    figure = None if arguments.figure is None else check_figure(arguments.figure, "figure")
    if arguments.trace:
        check_writable(Path(arguments.trace), "trace")
    found = explain(
        arguments.operation,
        arguments.algorithm,
        arguments.machine,
        ranks=arguments.ranks,
        definition=arguments.definition,
        calls=arguments.calls,
        call=arguments.call,
        size=arguments.size,
        type=arguments.type,
        op=arguments.op,
        most_links=arguments.links,
        memory_limit=arguments.memory_limit,
        **{argument: getattr(arguments, argument) for argument in SHARED + SHARED_KNOBS},
    )
    if arguments.json:
        put_json(found.data)
    else:
        put(str(found))
    if arguments.trace:
        written = found.save_trace(arguments.trace, all_calls=arguments.all_calls)
        size = written.stat().st_size / 1e6
        report_written(f"{written}, {size:.1f} MB; ui.perfetto.dev opens it")
    if figure is not None:
        from phicoll.plots.canvas import save_figure

        save_figure(found.plot(), figure)  # type: ignore[arg-type]
        report_written(figure)
    return 0
