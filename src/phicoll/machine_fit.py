"""A simulated machine fitted from this host: its topology, and the kernels measured on it (docs/machines.md)."""

from __future__ import annotations

import os
from pathlib import Path

from phicoll import _core
from phicoll.errors import ArgumentError
from phicoll.machine import Machine, load_machine, path_text
from phicoll.storage import check_writable

__all__ = ["fit_machine", "fitted_text"]


def fit_machine(
    path: str | os.PathLike[str],
    name: str = "host",
    *,
    launches: int = 7,
    samples: int = 60,
    budget_s: float = 20,
    seed: int = 1,
    lock_wait_s: float = 30,
) -> Machine:
    """Measure this host, write a machine file of protocol ``table``, and load it.

    Parameters
    ----------
    path:
        Where the file goes; an existing one is replaced once the measurement is done.
    name:
        What the machine is called in results.
    launches, samples:
        New threads this often for each kernel, and how much each of them measures.
    budget_s:
        Once so many seconds have passed, what is left is launched once only.
    seed:
        Of the addresses.
    lock_wait_s:
        How long to wait for CPUs that another measurement uses.

    Returns
    -------
    Machine
        ``kind`` of a parameter is ``calibrated`` where it was measured here, ``guessed`` where two CPUs, or these,
        cannot show it; ``source`` has the measurement with the range over launches.

    Raises
    ------
    ArgumentError
        A path that cannot be written, a name that no machine can have or that a shipped one has.
    ResourceError
        A CPU is in use by another measurement.
    """
    target = check_writable(Path(path))
    text = fitted_text(name, launches, samples, budget_s, seed, lock_wait_s)
    target.write_text(text, encoding="utf-8")
    return load_machine(path_text(target))


def fitted_text(
    name: str, launches: int, samples: int, budget_s: float, seed: int, lock_wait_s: float
) -> str:
    """The file's text alone; arguments as :func:`fit_machine` has them."""
    for argument, value, most in (("launches", launches, 1000), ("samples", samples, 100000)):
        if not 1 <= value <= most:
            raise ArgumentError(argument, repr(value), f"1 to {most}")
    if not 0 <= seed < 1 << 53:
        raise ArgumentError("seed", repr(seed), "0 to 2^53 - 1")
    if not budget_s >= 0:
        raise ArgumentError("budget", repr(budget_s), "seconds, 0 or more")
    return str(_core.fit_host_machine(name, launches, samples, budget_s, seed, lock_wait_s))
