"""The options of a sweep: the core's table, which feeds the command line, the checks and the documentation."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import phicoll._core as _core
from phicoll.comm.datatypes import dtype_of, type_name
from phicoll.comm.operators import OPERATORS, Op
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_text
from phicoll.registry import as_text

__all__ = [
    "OPTIONS",
    "Option",
    "Use",
    "as_values",
    "choices_of",
    "described",
    "native_default",
    "python_names",
    "simulated_default",
    "value_text",
]


@dataclass(frozen=True)
class Use:
    """How a sweep on this machine, or a simulated one, takes an option. ``default`` may be in words."""

    default: str
    value: str
    least: float
    most: float
    choices: list[str]


@dataclass(frozen=True)
class Option:
    """A row of the table: ``--name`` of ``phicoll run``, the argument ``python`` of :func:`phicoll.sweep`."""

    name: str
    letter: str
    python: str
    kind: str
    metavar: str
    scope: str
    native: Use | None
    simulated: Use | None
    help: str

    @property
    def default(self) -> str:
        """In words: the default, and that of a simulated sweep if it differs."""
        here, there = self.native and self.native.default, self.simulated and self.simulated.default
        return f"{here}; simulated: {there}" if here and there and here != there else here or there or ""

    @property
    def where(self) -> str:
        """Which kind of sweep has the option, in words; empty for both."""
        return "simulated only" if self.native is None else "not simulated" if self.simulated is None else ""

    @property
    def meaning(self) -> str:
        return f"{self.where}: {self.help}" if self.where else self.help


def rows() -> Iterator[Option]:
    for row in _core.sweep_options():
        uses = {name: None if row[name] is None else Use(**row[name]) for name in ("native", "simulated")}
        yield Option(**{**row, **uses})


#: Every option that :func:`phicoll.sweep` takes, by its argument's name.
OPTIONS: dict[str, Option] = {option.python: option for option in rows() if option.python}


def choices_of(argument: str) -> list[str]:
    """The values that an argument may have in a sweep on this machine."""
    use = OPTIONS[argument].native
    assert use is not None
    return use.choices


def native_default(argument: str) -> str:
    """The default of an argument in a sweep on this machine."""
    use = OPTIONS[argument].native
    assert use is not None
    return use.value


def simulated_default(argument: str) -> str:
    """The default of an argument in a simulated sweep."""
    use = OPTIONS[argument].simulated
    assert use is not None
    return use.value


def as_values(given: Mapping[str, Any]) -> dict[str, str]:
    """Arguments of :func:`phicoll.sweep` as the core takes them: texts, by the options' names."""
    values: dict[str, str] = {}
    for argument, value in given.items():
        option = OPTIONS[argument]
        if option.kind == "flag":
            if value:
                values[option.name] = ""
        elif value is not None:
            text = TEXTS.get(argument, value_text)(value)
            values[option.name] = check_text(argument, text)
    return values


def value_text(value: Any) -> str:
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
    elif isinstance(value, Iterable) and not isinstance(value, os.PathLike):
        parts = [str(part).strip() for part in value]
    else:
        return str(value)
    return ",".join(part for part in parts if part)


def type_text(value: Any) -> str:
    """The core's name of an element type, given by that name, as a ``Datatype`` or as what ``numpy.dtype`` takes."""
    if isinstance(value, str):
        return value
    dtype = dtype_of(value, "type")
    name = type_name(dtype)
    if name is None or name not in _core.known_types:
        raise ArgumentError("type", str(dtype), ", ".join(_core.known_types))
    return name


def op_text(value: Any) -> str:
    """The core's name of an operator, given by that name or as an ``Op``."""
    if isinstance(value, Op):
        if OPERATORS.get(value.name) is not value:
            raise ArgumentError("op", repr(value), "an operator of MPI, such as phicoll.SUM")
        return value.name.lower()
    return value_text(value)


#: How arguments that are more than texts and numbers become text.
TEXTS: dict[str, Callable[[Any], str]] = {"algorithm": as_text, "type": type_text, "op": op_text}


@contextmanager
def python_names() -> Iterator[None]:
    """Rename options in the core's errors to their names in Python."""
    try:
        yield
    except ArgumentError as error:
        names = {option.name: argument for argument, option in OPTIONS.items()}

        def as_argument(found: re.Match[str]) -> str:
            argument = names.get(found[1], "")
            flag = argument and OPTIONS[argument].kind == "flag"
            return f"{argument}=True" if flag else argument or found[0]

        got, allowed = (re.sub(r"--([a-z][a-z-]*)", as_argument, text) for text in (error.got, error.allowed))
        raise ArgumentError(names.get(error.argument, error.argument), got, allowed) from None


def described() -> str:
    """The options for a docstring, a paragraph each."""
    found = []
    for argument, option in OPTIONS.items():
        text = f"{option.meaning[0].upper()}{option.meaning[1:]}."
        if option.default:
            text += f" Default: {option.default}."
        found.append(f"{argument}:\n{textwrap.indent(textwrap.fill(text, 110), ' ' * 4)}")
    return "\n".join(found)
