"""``phicoll claims``: the papers' statements, their verdicts, and what these rest on."""

from __future__ import annotations

import argparse
from pathlib import Path

from phicoll.cli.options import report_written
from phicoll.cli.output import add_json, put_found
from phicoll.errors import ArgumentError
from phicoll.foundations.files import check_writable, write_text
from phicoll.papers.claims import report
from phicoll.papers.claims.page import page as html_page
from phicoll.papers.claims.rows import numbers_of

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--paper", metavar="004", help="only this paper's: its number, or its name as docs/papers.md has it"
    )
    parser.add_argument(
        "--number", metavar="004-36", help="only this statement, with all that is known of it"
    )
    parser.add_argument("--html", metavar="FILE", help="also write a page that a browser sorts and filters")
    parser.add_argument(
        "--judge",
        action="store_true",
        help="judge them anew: some minutes on two cores for all, seconds to minutes for one",
    )
    parser.add_argument(
        "--seeds", type=int, metavar="N", help="with --judge: orders over seeds 1 to N (default: 20)"
    )
    add_json(parser)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    page = check_writable(Path(arguments.html), "html") if arguments.html else None
    if arguments.judge:
        from phicoll.papers.verdicts import judge

        found = judge(numbers_of(arguments.paper, arguments.number), seeds=arguments.seeds).report
    elif arguments.seeds is not None:
        raise ArgumentError("seeds", str(arguments.seeds), "with --judge")
    else:
        found = report(arguments.paper, arguments.number)
    put_found(found, arguments.json)
    if page is not None:
        write_text(page, html_page(found))
        report_written(page)
    return 0
