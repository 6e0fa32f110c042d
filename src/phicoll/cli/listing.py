"""``phicoll list``: the algorithms, the simulated machines and the rules of ``auto``."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import asdict

from phicoll.cli.output import add_json, put, put_json
from phicoll.errors import ArgumentError
from phicoll.registry import PROGRAMS, Algorithm, algorithm_sets, algorithms
from phicoll.registry.algorithms import check_operation
from phicoll.registry.machines import load_machine, machines

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "operation",
        nargs="?",
        default="barrier",
        metavar="WHAT",
        help="an operation, programs, machines, machine NAME, or rules [OPERATION]",
    )
    parser.add_argument(
        "name",
        nargs="?",
        help="after machine: a shipped machine or a file, optionally with changes; after rules: an operation",
    )
    parser.add_argument(
        "--origin", choices=("paper", "phicoll", "reference"), help="list only algorithms of this origin"
    )
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.operation in ("machine", "machines"):
        return list_machines(arguments)
    if arguments.operation == "rules":
        return list_rules(arguments)
    if arguments.name is not None:
        raise ArgumentError("list", f"{arguments.name!r} after {arguments.operation!r}", "one thing to list")
    if arguments.operation == "programs":
        return list_programs(arguments)
    found = [a for a in algorithms(arguments.operation) if arguments.origin in (None, a.origin)]
    if arguments.json:
        put_json([algorithm.to_dict() for algorithm in found])
    else:
        put("\n".join(describe(algorithm) for algorithm in found))
        put(f"\nsets: {', '.join(algorithm_sets(arguments.operation))}")
    return 0


def list_machines(arguments: argparse.Namespace) -> int:
    if arguments.origin is not None:
        raise ArgumentError("origin", repr(arguments.origin), "nothing: machines have none")
    if arguments.operation == "machine":
        if arguments.name is None:
            raise ArgumentError("machine", "none", "a name or file after it")
        machine = load_machine(arguments.name)
        if arguments.json:
            put_json(machine.to_dict())
        else:
            put(str(machine))
        return 0
    if arguments.name is not None:
        raise ArgumentError("list", f"{arguments.name!r} after 'machines'", "one thing to list")
    if arguments.json:
        put_json([{k: v for k, v in m.to_dict().items() if k != "parameters"} for m in machines()])
    else:
        put(
            "\n".join(
                f"{m.name:<22} {m.cores:>3} cores, {m.contexts:>3} contexts  {m.summary}" for m in machines()
            )
        )
    return 0


def list_programs(arguments: argparse.Namespace) -> int:
    if arguments.origin is not None:
        raise ArgumentError("origin", repr(arguments.origin), "nothing: programs have none")
    if arguments.json:
        put_json([asdict(program) for program in PROGRAMS.values()])
        return 0
    for program in PROGRAMS.values():
        put(f"{program.name}  ({program.operation}; {program.source})\n    {program.summary}")
        put("\n".join(f"    {letter}  {size}" for letter, size in program.classes.items()))
        for way, meaning in program.ways.items():
            put(f"    --way {way}  {meaning}")
    return 0


def list_rules(arguments: argparse.Namespace) -> int:
    """What ``auto`` takes where no table says anything, a row each with its line and reason."""
    if arguments.origin is not None:
        raise ArgumentError("origin", repr(arguments.origin), "nothing: rules have none")
    from phicoll.models.tuning import default_rules

    operation = None if arguments.name is None else check_operation(arguments.name)
    rules = [row for row in default_rules().rows if operation in (None, row.operation)]
    if arguments.json:
        put_json([asdict(row) for row in rules])
    else:
        put("\n".join(f"{row.line:>4}  {row}" for row in rules))
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
