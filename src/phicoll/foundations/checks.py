"""Checks of single arguments: the value that the core takes, or an :class:`ArgumentError` that names the argument."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from phicoll.errors import ArgumentError
from phicoll.foundations.nearest import near

__all__ = [
    "argument_names",
    "as_list",
    "check_flag",
    "check_items",
    "check_number",
    "check_text",
    "check_whole",
    "check_wholes",
]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def argument_names(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a public function: an argument that it does not have is an :class:`ArgumentError` with the nearest.

    The traceback of bad input ends here: the caller's line and the text say all.
    """
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        __tracebackhide__ = True  # for pytest and IPython
        for name in kwargs:
            if name not in names:
                raise ArgumentError("argument", repr(name), near(name, names))
        try:
            return function(*args, **kwargs)
        except ArgumentError as error:
            raise error.with_traceback(None)  # noqa: B904 - it is the same error

    return checked


def check_text(argument: str, value: Any, allowed: str = "a text") -> str:
    """A text that the core can take: in Unicode without lone surrogates, which stand for bytes that are not UTF-8."""
    if not isinstance(value, str):
        raise ArgumentError(argument, repr(value), allowed)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ArgumentError(argument, ascii(value), f"{allowed}, in UTF-8") from None
    return value


def check_items(argument: str, value: Any, allowed: str) -> list[Any]:
    """The items of a list or another iterable, but not of a text."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ArgumentError(argument, repr(value), allowed)
    return list(value)


def check_flag(argument: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(argument, repr(value), "True or False")
    return value


def check_whole(argument: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number, given as one or as text."""
    allowed = f"a whole number from {least}" + (f" to {most}" if most is not None else " on")
    try:
        number = int(value) if isinstance(value, str) else value.__index__()
    except (ValueError, AttributeError, TypeError):
        raise ArgumentError(argument, repr(value), allowed) from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise ArgumentError(argument, repr(value), allowed)
    return int(number)


def as_list(value: Any) -> list[Any]:
    """The values of an argument that is given as one, as several, or as a text such as ``1,2``.

    Empty parts stay, for the caller to refuse; a blank text has none.
    """
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return list(value) if isinstance(value, Iterable) else [value]


def check_wholes(argument: str, value: Any, least: int, most: int) -> list[int]:
    """Whole numbers, as as_list() takes them, each once."""
    found = list(dict.fromkeys(check_whole(argument, part, least, most) for part in as_list(value)))
    if not found:
        raise ArgumentError(argument, "none", f"whole numbers from {least} to {most}")
    return found


def check_number(argument: str, value: Any, above: float | None = None, most: float = math.inf) -> float:
    """A finite number, given as one or as text."""
    allowed = "a number above 0" if above is not None else "a number, 0 or above"
    if most < math.inf:
        allowed = f"{allowed}, at most {most:g}"
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        raise ArgumentError(argument, repr(value), allowed) from None
    if not 0 <= number < math.inf or number > most or (above is not None and number <= above):
        raise ArgumentError(argument, repr(value), allowed)
    return number
