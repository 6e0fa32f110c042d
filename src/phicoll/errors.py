"""What phicoll raises.

Bad input is an :class:`ArgumentError` that names the argument, what it got and what is allowed, raised before
anything is started. Everything else that phicoll raises on purpose is another subclass of :class:`Error`.
"""

from __future__ import annotations

import builtins
from typing import Any

__all__ = [
    "ArgumentError",
    "BrokenGroupError",
    "Error",
    "FitError",
    "PhicollWarning",
    "ResourceError",
    "ResultsFileError",
    "TimeoutError",
    "VerificationError",
]


class Error(Exception):
    """Base of every error that phicoll raises."""

    #: What had been measured before the error (:class:`phicoll.Results`), or ``None``. Nothing measured is lost.
    results: Any = None


class ArgumentError(Error, ValueError):
    """Bad input, found before anything was started.

    Parameters
    ----------
    argument:
        The argument's name as the caller knows it.
    got:
        What it was, as text.
    allowed:
        What is allowed, as text.
    """

    def __init__(self, argument: str, got: str, allowed: str) -> None:
        super().__init__(f"{argument}: got {got}; allowed: {allowed}")
        self.argument = argument
        self.got = got
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[ArgumentError], tuple[str, str, str]]:
        return type(self), (self.argument, self.got, self.allowed)


class FitError(Error, ValueError):
    """Data that cannot determine what was to be fitted; ``parameter`` names it, ``reason`` says why."""

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"{parameter} cannot be determined: {reason}")
        self.parameter = parameter
        self.reason = reason

    def __reduce__(self) -> tuple[type[FitError], tuple[str, str]]:
        return type(self), (self.parameter, self.reason)


class ResultsFileError(ArgumentError):
    """A results file that is missing, not ours, of a newer schema, or without one whole line."""


class ResourceError(Error, OSError):
    """The machine says no: not enough memory, a name in use, a refused system call, a missing program."""


class BrokenGroupError(Error, RuntimeError):
    """A rank died, left or never came; ``rank`` is the first cause, -1 where it is unknown."""

    def __init__(self, message: str, rank: int = -1) -> None:
        super().__init__(message)
        self.rank = rank


class TimeoutError(Error, builtins.TimeoutError):
    """A single wait inside a collective took longer than the group's ``timeout``; the group is broken."""


class VerificationError(Error, RuntimeError):
    """A subject did not keep the operation's promise; none of its timings count."""


class PhicollWarning(UserWarning):
    """Something that a reader of the numbers has to know, such as a truncated results file."""
