"""Whether a machine file is this host's: comparison of processor, allowed CPUs and clock."""

from __future__ import annotations

import os
import warnings
from typing import Any

import phicoll._core as _core
from phicoll.errors import ArgumentError, PhicollWarning
from phicoll.models.constants.named_model import read_machine_file

__all__ = [
    "CLOCK_TOLERANCE",
    "FOREIGN",
    "check_foreign",
    "check_host",
    "difference_to_host",
    "host_object",
    "is_this_host",
]

#: Ways to treat another machine's file; tuning tables use the same words.
FOREIGN = ("refuse", "use")

#: Relative. A counter's measured rate varies a little from time to time; another machine's differs by more.
CLOCK_TOLERANCE = 0.02


def host_object(clock_mhz: int) -> dict[str, Any]:
    """This host, described like the ``host`` of a machine file."""
    return {
        "cpu": _core.facts()["cpu_model"] or "unknown",
        "allowed_cpus": _core.allowed_cpu_count(),
        "clock_mhz": clock_mhz,
    }


def difference_to_host(path: str | os.PathLike[str], clock_mhz: int | None = None) -> str | None:
    """A difference between the machine file at ``path`` and this host, in words; ``None`` if there is none.

    Raises
    ------
    ArgumentError
        A file that cannot be read or is not a machine file.
    """
    file = read_machine_file(path)
    host = file.get("host")
    if not isinstance(host, dict):
        return "it belongs to no host: it was simulated or written by hand"
    here = host_object(clock_mhz if clock_mhz is not None else _core.host_clock_mhz())
    for name, what in (("cpu", "processor"), ("allowed_cpus", "number of allowed CPUs")):
        if host.get(name) != here[name]:
            return f"its {what} is {host.get(name)!r}, here {here[name]!r}"
    theirs = host.get("clock_mhz")
    if (
        not isinstance(theirs, int | float)
        or abs(theirs - here["clock_mhz"]) > CLOCK_TOLERANCE * here["clock_mhz"]
    ):
        return f"its clock runs at {theirs} MHz, here at {here['clock_mhz']}"
    return None


def is_this_host(path: str | os.PathLike[str]) -> bool:
    """Whether the machine file at ``path`` was measured on this host with as many CPUs. Raises ArgumentError as
    :func:`difference_to_host` does."""
    return difference_to_host(path) is None


def check_foreign(foreign: str, argument: str = "foreign") -> None:
    """Raise ArgumentError for a word that is not in :data:`FOREIGN`."""
    if foreign not in FOREIGN:
        raise ArgumentError(argument, repr(foreign), ", ".join(FOREIGN))


def check_host(path: str | os.PathLike[str], foreign: str = "refuse", argument: str = "machine") -> None:
    """Refuse a machine file from another machine, or warn that it is used.

    Parameters
    ----------
    path:
        The file.
    foreign:
        What to do with another machine's file: ``"refuse"`` it, or ``"use"`` it with a warning.
    argument:
        The caller's name for the file, for the message.

    Raises
    ------
    ArgumentError
        The file is another machine's and that is refused, or it is not a machine file.
    """
    check_foreign(foreign)
    difference = difference_to_host(path)
    if difference is None:
        return
    if foreign == "refuse":
        raise ArgumentError(
            argument, f"{path}: {difference}", "a machine file of this host, or any with foreign=use"
        )
    warnings.warn(f"{path} is not this host's, but is used: {difference}", PhicollWarning, stacklevel=2)
