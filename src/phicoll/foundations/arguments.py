"""An argument parser that reports errors as the rest of phicoll does: the argument, what it got, what is allowed."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import Any, NoReturn

from phicoll.errors import ArgumentError

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """An argument parser that raises :class:`ArgumentError` where argparse prints its usage and exits."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            page = " ".join([self.prog, *filter(None, [getattr(found, "command", None)])])
            raise ArgumentError("arguments", repr(rest[0]), f"what {page} --help lists")
        return found

    def error(self, message: str) -> NoReturn:
        raise self.refusal(message)

    def refusal(self, message: str) -> ArgumentError:
        """Convert a message of argparse to an error; one of unknown form is quoted whole."""
        if found := re.fullmatch(r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)", message):
            allowed = re.findall(r"[\w-]+", found[3])
            return ArgumentError(bare(found[1]), found[2], near(found[2].strip("'"), allowed))
        if found := re.fullmatch(r"argument (.+?): invalid (\w+) value: (.+)", message):
            kind = {"int": "a whole number", "float": "a number"}.get(found[2], found[2])
            return ArgumentError(bare(found[1]), found[3], kind)
        if found := re.fullmatch(r"argument (.+?): expected (.+)", message):
            return ArgumentError(bare(found[1]), "no value", found[2].replace(" argument", ""))
        if found := re.fullmatch(r"the following arguments are required: (.+)", message):
            first = found[1].split(", ")[0]
            return ArgumentError(
                bare(first), "none", ", ".join(self.choices(first)) or f"{first}, see {self.prog} --help"
            )
        return ArgumentError("arguments", message, f"what {self.prog} --help lists")

    def choices(self, name: str) -> list[str]:
        """The choices of an argument; empty if it has none."""
        for action in self._actions:
            if name in (action.metavar, action.dest) and action.choices is not None:
                return list(action.choices)
        return []


def bare(name: str) -> str:
    """An option's name as error messages give it: ``output`` for ``-o/--output``."""
    return name.rsplit("/", 1)[-1].lstrip("-").lower()


def near(word: str, allowed: list[str]) -> str:
    """The allowed words as text, those nearest to ``word`` first."""
    nearest = difflib.get_close_matches(word, allowed, n=2)
    return (f"nearest: {', '.join(nearest)}; all: " if nearest else "") + ", ".join(allowed)
