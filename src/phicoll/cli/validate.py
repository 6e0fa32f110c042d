"""``phicoll validate``: compares a simulated machine with its papers, or the models with runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from phicoll.cli.options import add_foreign, report_written
from phicoll.cli.output import add_json, put_found
from phicoll.errors import ArgumentError
from phicoll.foundations.files import check_writable
from phicoll.foundations.streams import say
from phicoll.papers.validation import MACHINES, Sensitivity, Validation, sensitivity, validate

if TYPE_CHECKING:
    from phicoll.papers.validation.predictions import ModelValidation

__all__ = ["add"]

MODELS = "models"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "machine",
        nargs="?",
        default=MACHINES[0],
        help=f"{', '.join(MACHINES)}, optionally followed by changes (default: {MACHINES[0]}); or {MODELS}",
    )
    parser.add_argument("--quick", action="store_true", help="few samples and seeds, no verdicts")
    parser.add_argument("--seeds", type=int, metavar="N", help="judge order over seeds 1 to N (default: 20)")
    parser.add_argument(
        "--guesses",
        action="store_true",
        help="halve and double each guessed parameter, and show how far held-out quantities move",
    )
    parser.add_argument(
        "--page", metavar="FILE", help="also write a page in Markdown, with its figures beside it"
    )
    parser.add_argument(
        "--host",
        metavar="FILE",
        help=f"{MODELS}: this host's machine file; two of the host's threads are measured too",
    )
    add_foreign(
        parser,
        "what to do with another machine's file: refuse it (the default), or use it with a warning",
    )
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    page = check_page(arguments.page) if arguments.page else None
    if arguments.guesses and (arguments.seeds is not None or arguments.machine == MODELS):
        raise ArgumentError("guesses", "--guesses", f"a machine other than {MODELS}, without --seeds")
    if arguments.machine == MODELS:
        return run_models(arguments, page)
    if arguments.host:
        raise ArgumentError("host", repr(arguments.host), f"phicoll validate {MODELS} --host FILE")
    if arguments.foreign:
        raise ArgumentError(
            "foreign", arguments.foreign, f"phicoll validate {MODELS} --host FILE --foreign use"
        )
    if arguments.guesses:
        show(sensitivity(arguments.machine, quick=arguments.quick), arguments.json, page)
        return 0
    found = validate(arguments.machine, quick=arguments.quick, seeds=arguments.seeds)
    show(found, arguments.json, page)
    if not found.good:
        bad = ", ".join(q.name for q in found.calibrated if q.verdict != "holds")
        say(f"calibrated and not within bounds: {bad}")
    return 0 if found.good else 1


def check_page(given: str) -> Path:
    """The path for a page, whose figures need Matplotlib."""
    path = check_writable(Path(given), "page")
    import phicoll.plots.canvas  # noqa: F401 (ends here without Matplotlib, and not minutes later)

    return path


def show(found: Sensitivity | Validation | ModelValidation, as_json: bool, page: Path | None) -> None:
    put_found(found, as_json)
    if page is not None:
        report_written(*found.page(page))


def run_models(arguments: argparse.Namespace, page: Path | None) -> int:
    from phicoll.papers.validation.predictions import validate_models

    if arguments.foreign and not arguments.host:
        raise ArgumentError("foreign", f"{arguments.foreign} without a machine file", "with --host FILE")
    foreign = arguments.foreign or "refuse"
    found = validate_models(
        quick=arguments.quick, seeds=arguments.seeds, host=arguments.host, foreign=foreign
    )
    show(found, arguments.json, page)
    return 0
