"""Errors that name the options of the command line."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager

from phicoll.errors import ArgumentError, ResultsFileError

__all__ = ["option_names"]


@contextmanager
def option_names(names: Mapping[str, str], switches: Container[str] = ()) -> Iterator[None]:
    """Rename arguments in the library's errors to their options on the command line. ``switches`` have no value."""

    def as_option(found: re.Match[str]) -> str:
        return f"--{names.get(found[1], found[1]).replace('_', '-')} {found[2] or ''}".rstrip()

    # Other arguments that the text names: definition='window', oversubscribe=True.
    def as_options(text: str) -> str:
        return re.sub(r"\b([a-z_]+)=(?:'([^']*)'|True\b)", as_option, text)

    try:
        yield
    except ResultsFileError:  # its argument is a file's name
        raise
    except ArgumentError as error:
        name = names.get(error.argument, error.argument)
        if name.islower():  # not a variable of the environment
            name = name.replace("_", "-")
        got = "a value" if name in switches else as_options(error.got)
        raise ArgumentError(name, got, as_options(error.allowed)) from error
