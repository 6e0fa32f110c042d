"""``phicoll list``: which algorithms there are."""

from __future__ import annotations

import argparse
import textwrap

from phicoll.cli.output import add_json, put, put_json
from phicoll.registry import Algorithm, algorithm_sets, algorithms

__all__ = ["add"]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("list", help="algorithms with their parameters, and named sets")
    parser.add_argument("operation", nargs="?", default="barrier", help="barrier")
    parser.add_argument("--origin", choices=("paper", "phicoll", "reference"), help="only these")
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    found = [a for a in algorithms(arguments.operation) if arguments.origin in (None, a.origin)]
    if arguments.json:
        put_json([algorithm.to_dict() for algorithm in found])
    else:
        put("\n".join(describe(algorithm) for algorithm in found))
        put(f"\nsets: {', '.join(algorithm_sets(arguments.operation))}")
    return 0


def describe(algorithm: Algorithm) -> str:
    lines = [f"{algorithm.name}  ({algorithm.origin}; {algorithm.source})"]
    lines += textwrap.wrap(algorithm.summary, 100, initial_indent="    ", subsequent_indent="    ")
    for p in algorithm.parameters:
        if p.name == "wait":
            continue
        lines += textwrap.wrap(
            f":{p.name}={p.default}  ({p.range}) {p.meaning}",
            100,
            initial_indent="    ",
            subsequent_indent="        ",
        )
    return "\n".join(lines)
