"""Communicators: MPI's collectives with mpi4py's interface, between threads or processes of one machine.

:class:`Comm` has the operations; :mod:`phicoll.comm.buffers` describes their buffers, :mod:`phicoll.comm.datatypes`
their element types, :mod:`phicoll.comm.operators` their operators.
"""

from __future__ import annotations

from typing import Any

from phicoll.comm.buffers import IN_PLACE
from phicoll.comm.communicator import COMM_NULL, Comm
from phicoll.comm.datatypes import DATATYPES, Datatype
from phicoll.comm.messages import ANY_SOURCE, ANY_TAG, PROC_NULL, REQUEST_NULL, UNDEFINED, Request, Status
from phicoll.comm.operators import OPERATORS, Op
from phicoll.comm.world import COMM_SELF, world

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "COMM_NULL",
    "COMM_SELF",
    "COMM_WORLD",
    "IN_PLACE",
    "UNDEFINED",
    "Comm",
    "Datatype",
    "Op",
    "PROC_NULL",
    "REQUEST_NULL",
    "Request",
    "Status",
    "world",
    *DATATYPES,
    *OPERATORS,
]

globals().update(DATATYPES)
globals().update(OPERATORS)


def __getattr__(name: str) -> Any:
    if name == "COMM_WORLD":  # each thread has its own, so it is not stored here
        return world()
    raise AttributeError(f"module 'phicoll.comm' has no attribute {name!r}")
