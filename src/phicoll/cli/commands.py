"""The commands' names, and the parser of the command line."""

from __future__ import annotations

import argparse
import os
from typing import Any, NoReturn

from phicoll.errors import ResourceError
from phicoll.foundations.arguments import Parser
from phicoll.foundations.exit_codes import OK
from phicoll.foundations.laboratory import load

__all__ = ["COMMANDS", "parser"]

EPILOG = """exit codes: 0 done; 1 a resource was missing or refused; 2 bad input, nothing was started; 3 a group broke
or a subject was not verified; 4 slower than the baseline; 130 interrupted, what was measured is kept"""

# What `phicoll --help` says of each command. The module of that name has its arguments, but for those without one.
COMMANDS = {
    "doctor": "say what would spoil a measurement on this machine, and what to do about it",
    "list": "list algorithms with their parameters and the named sets, or simulated machines",
    "run": "measure a sweep over algorithms, ranks and modes",
    "compare": "compare the subjects of results files, or two runs",
    "plot": "draw a figure of results files",
    "count": "count rounds, chains, notifications, edges and lines exactly",
    "explain": "why a collective takes its time on a simulated machine: counters, critical path, trace",
    "profile": "run a program, and say what its collectives take and which rank the others wait for",
    "advise": "say what other algorithms would bring to a program's collectives, measured again in the program",
    "latency": "measure the cost of a cache line between every two cores",
    "characterize": "measure this machine, fit its model, write a machine file",
    "tune": "choose algorithms by measurement or model, and write a table that auto uses",
    "why": "say what chooses a call's algorithm: environment, table row or rule; parameters, model",
    "validate": "compare a simulated machine with its papers, or the models with runs: errors, verdicts",
    "claims": "show the verdict on each of the papers' statements, or judge them anew",
    "demo": "check this machine, compare all barriers on it, write a report",
    "launch": "start a program once for each rank of a group",
    "mpi": "run an MPI program with its collectives in phicoll, without changing it",
    "omp": "run an OpenMP program with its barriers in phicoll, without changing it",
    "pthread": "run a program with its pthread barriers in phicoll, without changing it",
    "compare-run": "run a program of MPI, OpenMP or pthread with phicoll and without, by turns: ratio, outputs",
    "completion": "print a script by which a shell completes these commands",
    "help": "print the help of a command, as its --help does",
}
# Commands whose module has another name than theirs.
MODULES = {"compare-run": "compare_run", "list": "listing", "omp": "threads", "pthread": "threads"}
# These commands parse their own arguments.
OWN_PARSERS = ("demo", "launch")


class Command(Parser):
    """A command's parser, which imports the command's module once it is needed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.module = ""

    def load(self) -> None:
        module, self.module = self.module, ""
        if module:
            load(module, self.prog).add(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # type: ignore[override]
        self.load()
        return super().parse_known_args(args, namespace)


class CMakeFolder(argparse.Action):
    """Prints the folder in which find_package(phicoll) finds this installation, and exits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, nargs=0, **options)

    def __call__(self, *_: Any) -> NoReturn:
        from phicoll.foundations.installed import installed

        config = installed("cmake", "phicoll-config.cmake")
        if config is None:
            raise ResourceError("phicoll-config.cmake is not in this package, which was built without it")
        print(os.path.dirname(config))  # noqa: PTH120
        raise SystemExit(OK)


class Version(argparse.Action):
    """``--version``, which loads the core that knows it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from phicoll import __version__

        print(f"phicoll {__version__}")
        parser.exit()


def parser(*, whole: bool = False) -> argparse.ArgumentParser:
    """The parser of the command line; ``whole``: with all that the commands take."""
    root = Parser(
        prog="phicoll",
        description="Collectives between the threads or processes of a machine: measure, simulate, model, tune.",
        epilog=EPILOG,
    )
    root.add_argument("--version", action=Version, nargs=0, help="show program's version number and exit")
    root.add_argument(
        "--cmakedir", action=CMakeFolder, help="print the folder for CMake's phicoll_DIR and exit"
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Command)
    for name, words in COMMANDS.items():
        command = commands.add_parser(name, help=words, add_help=name not in OWN_PARSERS)
        if name == "help":
            command.add_argument(
                "topic", nargs="?", metavar="COMMAND", help="the command", choices=list(COMMANDS)
            )
        elif name not in OWN_PARSERS:
            command.module = f"phicoll.cli.{MODULES.get(name, name)}"
        if whole:
            command.load()
    return root
