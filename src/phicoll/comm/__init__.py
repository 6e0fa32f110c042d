"""Communicators: MPI's collectives with mpi4py's interface, between threads or processes of one machine.

:class:`Comm` has the operations; :mod:`phicoll.comm.buffers` describes their buffers, :mod:`phicoll.comm.datatypes`
their element types, :mod:`phicoll.comm.operators` their operators.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phicoll.comm.offered import *  # noqa: F403
    from phicoll.comm.worlds import world

    COMM_WORLD = world()


def __getattr__(name: str) -> Any:
    # At the first use: starting ranks needs none of them, and NumPy, which they need, takes longer than that.
    offered = import_module("phicoll.comm.offered")
    if name == "COMM_WORLD":  # each thread has its own, so it is not stored here
        return offered.world()
    if not hasattr(offered, name):
        raise AttributeError(f"module 'phicoll.comm' has no attribute {name!r}")
    return getattr(offered, name)
