"""The command ``phicoll``: data on stdout, words on stderr, exit codes that a script can use (docs/cli.md)."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from phicoll import __version__
from phicoll.cli import (
    characterize,
    compare,
    completion,
    count,
    doctor,
    explain,
    latency,
    listing,
    plot,
    run,
    tune,
    validate,
    why,
)
from phicoll.cli.options import option_names
from phicoll.errors import (
    ArgumentError,
    BrokenGroupError,
    Error,
    PhicollWarning,
    ResourceError,
    VerificationError,
)
from phicoll.foundations.arguments import Parser
from phicoll.foundations.exit_codes import BAD_INPUT, BROKEN, FAILED, INTERRUPTED, OK

__all__ = ["main"]

EPILOG = """exit codes: 0 done; 1 a resource was missing or refused; 2 bad input, nothing was started; 3 a group broke
or a subject was not verified; 4 slower than the baseline; 130 interrupted, what was measured is kept"""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    root = Parser(
        prog="phicoll",
        description="Collectives between the threads or processes of a machine: measure, simulate, model, tune.",
        epilog=EPILOG,
    )
    root.add_argument("--version", action="version", version=f"phicoll {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (
        doctor,
        listing,
        run,
        compare,
        plot,
        count,
        explain,
        latency,
        characterize,
        tune,
        why,
        validate,
    ):
        module.add(commands)
    demo = commands.add_parser(
        "demo", help="check this machine, compare all barriers on it, write a report", add_help=False
    )
    demo.set_defaults(function=None)
    launch = commands.add_parser(
        "launch", help="start a program once for each rank of a group", add_help=False
    )
    launch.set_defaults(function=None)
    completion.add(commands, root)
    manual = commands.add_parser("help", help="print the help of a command, as its --help does")
    manual.add_argument(
        "topic", nargs="?", metavar="COMMAND", help="the command", choices=list(commands.choices)
    )
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        warnings.simplefilter("always", PhicollWarning)
        try:
            return dispatch(words)
        except ArgumentError as error:
            return complain(error, BAD_INPUT)
        except (BrokenGroupError, VerificationError) as error:
            return complain(error, BROKEN)
        except Error as error:
            return complain(error, FAILED)
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:  # the reader of the output has exited, as head does
            drop_output()
            return OK
        except OSError as error:  # a full disk, say
            drop_output()
            name = f"{error.filename}: " if error.filename else ""
            return complain(ResourceError(f"{name}{error.strerror or error}"), FAILED)
        except MemoryError:
            return complain(ResourceError("not enough memory"), FAILED)


def drop_output() -> None:
    """Nothing can be written to stdout any more: the interpreter does not try again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dispatch(words: list[str]) -> int:
    if words[:1] == ["help"]:
        parser().parse_args(words)  # refuses what is no command
        words = [*words[1:], "--help"]
    if words[:1] == ["demo"]:
        from phicoll.report import demo

        return int(demo.main(words[1:]) or 0)
    if words[:1] == ["launch"]:
        from phicoll import launch

        return launch.main(words[1:], prog="phicoll launch")
    arguments = parser().parse_args(words)
    with option_names({}):
        return int(arguments.function(arguments))


def say(text: str) -> None:
    print(f"phicoll: {text}", file=sys.stderr, flush=True)


def complain(error: Error, code: int) -> int:
    say(str(error))
    if error.results is not None:
        say(f"{len(error.results)} samples measured before the error are kept")
    return code


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    say(str(message))


if __name__ == "__main__":
    sys.exit(main())
