"""``phicoll profile``: what a program's collectives take, and who waits for whom."""

from __future__ import annotations

import argparse
import os
import signal

from phicoll.cli.options import report_written
from phicoll.cli.output import add_json, put_found
from phicoll.errors import ArgumentError
from phicoll.explaining.profile import EVERY, VARIABLE, profile
from phicoll.foundations.files import check_writable
from phicoll.foundations.programs import given, started
from phicoll.preload.mpi import only_watched

__all__ = ["add"]

EXAMPLES = """a program of phicoll's, or of an MPI or OpenMP with its collectives in phicoll:
  phicoll profile -- python program.py
  phicoll profile -o page.html -- phicoll mpi -- mpiexec -n 2 ./program

the same program with its collectives in its MPI:
  phicoll profile --only -- mpiexec -n 2 ./program"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("-o", "--output", metavar="FILE", help="write the table as an HTML page, too")
    parser.add_argument("--trace", metavar="FILE", help="write a timeline of the calls, for ui.perfetto.dev")
    parser.add_argument(
        "--only", action="store_true", help="watch an MPI program's collectives, which stay with the MPI"
    )
    add_json(parser)
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- command", help="what to run")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    command = given(arguments.program)
    if not command:
        raise ArgumentError("command", "none", "a program and its arguments after --")
    page = None if arguments.output is None else check_writable(arguments.output, "output")
    trace = None if arguments.trace is None else check_writable(arguments.trace, "trace")
    # Before the run, as it may compile, which is no time of the program's.
    words, environment = only_watched(command) if arguments.only else (command, None)
    with profile(every=trace is not None) as found:
        if environment is not None:
            environment |= {name: os.environ[name] for name in (VARIABLE, EVERY) if name in os.environ}
        try:
            process = started(words, env=environment)
        except OSError as error:
            raise ArgumentError(
                "command", repr(command[0]), f"a program that runs ({error.strerror})"
            ) from error
        # Ctrl-C reaches the program, too; what it has done until then is the profile.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    put_found(found, arguments.json)
    if page is not None:
        report_written(str(found.page(page)))
    if trace is not None:
        report_written(f"{found.trace(trace)}; ui.perfetto.dev opens it")
    return code if code >= 0 else 128 - code
