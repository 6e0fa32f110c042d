"""An argument parser that reports errors as the rest of phicoll does: the argument, what it got, what is allowed."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from phicoll.errors import ArgumentError
from phicoll.foundations.nearest import near, nearest

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`ArgumentError` where argparse prints its usage and exits."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            raise self.unknown(rest[0], getattr(found, "command", None))
        return found

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        self.first = words[0] if words else ""
        return super().parse_known_args(args, namespace)

    def unknown(self, word: str, command: str | None) -> ArgumentError:
        """The error for a word that neither this parser nor that of ``command`` takes."""
        page = f"{self.prog} {command}" if command else self.prog
        commands = next((a.choices for a in self._actions if a.dest == "command" and a.choices), {})
        options = [
            name
            for action in (commands[command] if isinstance(commands, dict) and command else self)._actions
            for name in [*action.option_strings, *getattr(action, "settings", ())]
        ]
        bare_names = {name.removeprefix("--set ").lstrip("-"): name for name in options}
        found = [bare_names[name] for name in nearest(word.partition("=")[0].lstrip("-"), bare_names)]
        words = f"nearest: {', '.join(found)}; all: " if found else ""
        return ArgumentError("arguments", repr(word), f"{words}what {page} --help lists")

    def error(self, message: str) -> NoReturn:
        raise self.refusal(message)

    def refusal(self, message: str) -> ArgumentError:
        """Convert a message of argparse to an error; one of unknown form is quoted whole."""
        if found := re.fullmatch(r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)", message):
            allowed = [word.strip(" '") for word in found[3].split(",")]
            return ArgumentError(bare(found[1]), found[2], near(found[2].strip("'"), allowed))
        if found := re.fullmatch(r"argument (.+?): invalid (\w+) value: (.+)", message):
            kind = {"int": "a whole number", "float": "a number"}.get(found[2], found[2])
            return ArgumentError(bare(found[1]), found[3], kind)
        if found := re.fullmatch(r"argument (.+?): expected (.+)", message):
            return ArgumentError(bare(found[1]), "no value", found[2].replace(" argument", ""))
        if found := re.fullmatch(r"the following arguments are required: (.+)", message):
            if self.first.startswith("-") and not self.known(self.first):  # argparse looks for these last
                return self.unknown(self.first, None)
            first = found[1].split(", ")[0]
            return ArgumentError(
                bare(first), "none", ", ".join(self.choices(first)) or f"{first}, see {self.prog} --help"
            )
        return ArgumentError("arguments", message, f"what {self.prog} --help lists")

    def known(self, word: str) -> bool:
        """Whether a word is an option, or the beginning of one, perhaps with its value."""
        name = word.partition("=")[0]
        options = [option for action in self._actions for option in action.option_strings]
        return word[:2] in options or any(option.startswith(name) for option in options)

    def choices(self, name: str) -> list[str]:
        """The choices of an argument; empty if it has none."""
        for action in self._actions:
            if name in (action.metavar, action.dest) and action.choices is not None:
                return list(action.choices)
        return []


def bare(name: str) -> str:
    """An option's name as error messages give it: ``output`` for ``-o/--output``."""
    return name.rsplit("/", 1)[-1].lstrip("-").lower()
