"""The ranks of an MPI communicator as a group of phicoll's."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
from typing import Any

import phicoll._core as _core
from phicoll.comm.group_options import HEAP_LIMIT, MEMORY_LIMIT
from phicoll.errors import ArgumentError

__all__ = ["attach", "leave"]

ALLOWED = "an intracommunicator of mpi4py, all of whose ranks are on this machine"


def attach(comm: Any) -> Any:
    """The core's communicator of the ranks of ``comm``, in their order. All ranks refuse alike."""
    names = ("Get_rank", "Get_size", "Is_inter", "allgather")
    if not all(callable(getattr(comm, name, None)) for name in names):
        raise ArgumentError("comm", repr(comm), ALLOWED)
    if not comm:
        raise ArgumentError("comm", "a null communicator, or one that was freed", ALLOWED)
    if comm.Is_inter():
        raise ArgumentError("comm", "an intercommunicator", ALLOWED)
    told = comm.allgather((machine(), os.urandom(8).hex()))
    machines = len({where for where, _ in told})
    if machines > 1:
        raise ArgumentError("comm", f"ranks on {machines} machines", ALLOWED)
    core = _core.attach(f"mpi-{told[0][1]}", comm.Get_size(), comm.Get_rank(), MEMORY_LIMIT, HEAP_LIMIT)
    attached.append(core)
    leave_at_exit()
    return core


attached: list[Any] = []  # what attach() has made and leave() not ended


def leave(core: Any) -> bool:
    """End what attach() made; False if it did not make this one."""
    for place, one in enumerate(attached):
        if one is core:
            core.close()
            del attached[place]
            return True
    return False


@functools.cache
def leave_at_exit() -> None:
    atexit.register(leave_all)


def leave_all() -> None:
    while attached:
        with contextlib.suppress(Exception):  # one that is in use: the others end all the same
            attached.pop().leave()


def machine() -> tuple[str, ...]:
    """The same for processes that can meet: of one boot of a system, in the same name spaces."""
    from pathlib import Path  # here alone: each start of a rank imports this module

    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        spaces = [str(Path("/proc/self/ns", space).readlink()) for space in ("net", "pid")]
    except OSError:
        return (os.uname().nodename,)
    return (os.uname().nodename, boot, *spaces)
