"""``phicoll compare``: medians, intervals and ratios of results files."""

from __future__ import annotations

import argparse
from functools import reduce
from operator import add as join

from phicoll.cli.output import add_json, put, put_json
from phicoll.errors import ArgumentError
from phicoll.foundations.exit_codes import REGRESSED
from phicoll.foundations.streams import say
from phicoll.results import Results, load
from phicoll.results.compare.baseline import baseline_text
from phicoll.results.compare.regression import THRESHOLD, check_threshold
from phicoll.results.compare.shown import MOST_ROWS

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="results files; several are read as one")
    parser.add_argument("--against", metavar="SPEC", help="compare with this algorithm instead of the best")
    parser.add_argument(
        "--summary",
        action="store_true",
        help="print paper 001's summary: geometric means over rank counts, and the oracle",
    )
    parser.add_argument(
        "--baseline", metavar="FILE", help="compare with an older run; exit code 4 if something became slower"
    )
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="RATIO",
        help=f"the time ratio above which a slowdown is a regression (default: {THRESHOLD:.2f})",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"all rows, also where a table has more than {MOST_ROWS}",
    )
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    check_together(arguments)
    results = reduce(join, [load(path) for path in arguments.files])
    if arguments.baseline is not None:
        return against_baseline(arguments, results)
    if arguments.summary:
        summaries = results.summary()
        if arguments.json:
            put_json([summary.to_dict() for summary in summaries])
        else:
            put("\n\n".join(map(str, summaries)))
        return 0
    comparison = results.compare(arguments.against)
    if arguments.json:
        put_json(comparison.to_list())
    else:
        put(comparison.to_text(arguments.all))
        say(results.caption())
    return 0


def check_together(arguments: argparse.Namespace) -> None:
    """Refuse options that have no effect beside the others."""
    if arguments.threshold is not None and arguments.baseline is None:
        raise ArgumentError(
            "threshold", f"{arguments.threshold:g} without --baseline", "with --baseline FILE"
        )
    if arguments.against is not None and (arguments.summary or arguments.baseline is not None):
        other = "--summary" if arguments.summary else "--baseline"
        raise ArgumentError("against", f"{arguments.against!r} with {other}", f"without {other}")
    if arguments.all and (arguments.summary or arguments.json):
        other = "--summary" if arguments.summary else "--json"
        raise ArgumentError("all", f"a value with {other}, which has all rows", f"without {other}")
    if arguments.summary and arguments.baseline is not None:
        raise ArgumentError("summary", "a value with --baseline", "one of --summary and --baseline")


def against_baseline(arguments: argparse.Namespace, results: Results) -> int:
    threshold = THRESHOLD if arguments.threshold is None else check_threshold(arguments.threshold)
    found = results.regressions(load(arguments.baseline), threshold)
    if arguments.json:
        put_json([one.to_dict() for one in found])
    else:
        put(baseline_text(found, arguments.all))
    return REGRESSED if any(one.regressed for one in found) else 0
