"""``phicoll doctor``: what would spoil a measurement here, and what to do about it."""

from __future__ import annotations

import argparse

from phicoll.cli.output import add_json, put, put_json
from phicoll.measuring.doctor import doctor

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-probe",
        action="store_true",
        help="skip the 2 s measurement of the clock, line cost and same-core rounds",
    )
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    diagnosis = doctor(probe=not arguments.no_probe)
    if arguments.json:
        put_json(diagnosis.to_dict())
    else:
        put(str(diagnosis))
    return 0
