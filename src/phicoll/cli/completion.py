"""``phicoll completion``: a script by which a shell completes commands, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from phicoll.cli.output import put
from phicoll.explaining.one_sided import ACCESSES
from phicoll.foundations.extras import extra
from phicoll.registry import CALLS, PROGRAMS
from phicoll.registry.machines import machines

__all__ = ["add"]

USE = """bash:  phicoll completion bash > ~/.local/share/bash-completion/completions/phicoll
zsh:   phicoll completion zsh > "${fpath[1]}/_phicoll"
and start a new shell"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = USE
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    with extra("completion"):
        import shtab
    from phicoll.cli.commands import parser

    root = parser(whole=True)
    for action in actions_of(root):
        if action.metavar in ("FILE", "DIR"):
            action.complete = shtab.FILE if action.metavar == "FILE" else shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.dest == "operation":
            action.choices = [
                *CALLS,
                *PROGRAMS,
                *ACCESSES,
                *(["programs", "machines", "machine"] if action.metavar == "WHAT" else []),
            ]
        elif action.dest == "machine" and action.choices is None:
            action.choices = [machine.name for machine in machines()]
    put(shtab.complete(root, arguments.shell))
    return 0


def actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from actions_of(command)
