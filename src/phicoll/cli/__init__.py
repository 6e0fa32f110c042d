"""The command ``phicoll``: data on stdout, words on stderr, exit codes that a script can use (docs/cli.md)."""

from __future__ import annotations

import os
import sys
import warnings

from phicoll.errors import (
    ArgumentError,
    BrokenGroupError,
    Error,
    PhicollWarning,
    ResourceError,
    VerificationError,
)
from phicoll.foundations.exit_codes import BAD_INPUT, BROKEN, FAILED, INTERRUPTED, OK
from phicoll.foundations.streams import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["main"]

#: The commands that become a program, which is to start soon, and those of their options that are read here; true: with
#: a value.
BECOMING: dict[str, dict[str, bool]] = {"omp": {}, "pthread": {}, "mpi": {"mpicc": True}}


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
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def dispatch(words: list[str]) -> int:
    if (plain := plainly(words)) is not None:
        command, options = plain
        from phicoll.foundations.programs import become

        if words[0] == "mpi":
            from phicoll.preload import mpi

            served = mpi.served(command, **options)
        else:
            from phicoll.preload import threads

            served = threads.served(words[0], command, **options)
        become(served[0][0], *served)
    from phicoll.cli.commands import parser
    from phicoll.foundations.laboratory import load

    if words[:1] == ["help"]:
        parser().parse_args(words)  # refuses unknown commands
        words = [*words[1:], "--help"]
    if words[:1] == ["demo"]:
        demo = load("phicoll.report.demo", "phicoll demo")
        return int(demo.main(words[1:]) or 0)
    if words[:1] == ["launch"]:
        from phicoll import launch

        return launch.main(words[1:], prog="phicoll launch")
    refuse_operation(words)
    arguments = parser().parse_args(words)
    from phicoll.cli.option_names import option_names

    with option_names({}):
        return int(arguments.function(arguments))


def plainly(words: list[str]) -> tuple[list[str], dict[str, Any]] | None:
    """The program that a command of ``BECOMING`` becomes and its options, or None where argparse has to read them.

    So much is read without argparse, which takes as long to load as all else: options by their whole names, then a
    program.
    """
    known = BECOMING.get(words[0]) if words else None
    options: dict[str, Any] = {}
    at = 1
    while known is not None and at < len(words):
        word = words[at]
        if word == "--" or not word.startswith("-"):
            command = words[at + (word == "--") :]
            return (command, options) if command else None
        takes_value = known.get(word[2:]) if word.startswith("--") else None
        if takes_value is None:
            return None
        if takes_value and (at + 1 == len(words) or words[at + 1].startswith("-")):
            return None
        options[word[2:]] = words[at + 1] if takes_value else True
        at += 2 if takes_value else 1
    return None


def refuse_operation(words: list[str]) -> None:
    """Refuse an operation, or almost one, where a command belongs: `phicoll barrier` names `phicoll run barrier`."""
    from phicoll.cli.commands import COMMANDS
    from phicoll.foundations.laboratory import load
    from phicoll.foundations.nearest import nearest

    if not words or words[0].startswith("-") or words[0] in COMMANDS or nearest(words[0], COMMANDS):
        return
    registry = load("phicoll.registry", f"phicoll {words[0]}")
    if found := nearest(words[0], registry.CALLS):
        names = ", ".join(f"run {name}" for name in found)
        raise ArgumentError("command", repr(words[0]), f"nearest: {names}; all: {', '.join(COMMANDS)}")


def complain(error: Error, code: int) -> int:
    say(str(error))
    if error.results is not None:
        say(f"{len(error.results)} samples measured before the error are kept")
    return code


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    say(str(message))


if __name__ == "__main__":
    sys.exit(main())
