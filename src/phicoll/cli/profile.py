"""``phicoll profile``: what a program's collectives take, and who waits for whom."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Sequence

from phicoll.cli.options import report_written
from phicoll.cli.output import add_json, put_found
from phicoll.errors import ArgumentError
from phicoll.explaining.profile import EVERY, VARIABLE, Profile, profile
from phicoll.foundations.files import check_writable
from phicoll.foundations.programs import become, given, started
from phicoll.foundations.streams import say, tell
from phicoll.preload.mpi import only_watched

__all__ = ["add", "run_served"]

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
    found, code = watch(words, environment, every=trace is not None)
    put_found(found, arguments.json)
    if page is not None:
        report_written(str(found.page(page)))
    if trace is not None:
        report_written(f"{found.trace(trace)}; ui.perfetto.dev opens it")
    return code


def watch(
    words: Sequence[str], environment: dict[str, str] | None = None, *, every: bool = False
) -> tuple[Profile, int]:
    """Run a program to its end; what it did, and its exit code, as a shell tells it."""
    with profile(every=every) as found:
        if environment is not None:
            environment |= {name: os.environ[name] for name in (VARIABLE, EVERY) if name in os.environ}
        try:
            process = started(words, env=environment)
        except OSError as error:
            raise ArgumentError(
                "command", repr(words[0]), f"a program that runs ({error.strerror})"
            ) from error
        # Ctrl-C reaches the program, too; what it has done until then is the profile.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    return found, code if code >= 0 else 128 - code


def run_served(kind: str, served: tuple[Sequence[str], dict[str, str]], *, report: bool) -> int:
    """Become a program that phicoll serves; or run it, and tell its profile on stderr."""
    if report and os.environ.get(VARIABLE):
        say(f"{kind}: --report is left out: a profile is being made already, and has the same table")
        report = False
    words, environment = served
    if not report:
        become(words[0], words, environment)
    environment[f"PHICOLL_{kind.upper()}_PROCESS"] = str(
        -os.getpid()
    )  # a child, which speaks for the command
    found, code = watch(words, environment)
    tell(str(found))
    return code
