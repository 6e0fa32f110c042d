"""The names that :mod:`phicoll.comm` offers."""

from __future__ import annotations

from phicoll.comm.buffers import IN_PLACE
from phicoll.comm.communicator import COMM_NULL, Comm
from phicoll.comm.datatypes import DATATYPES, Datatype
from phicoll.comm.messages import PROC_NULL
from phicoll.comm.operators import OPERATORS, Op
from phicoll.comm.requests import ANY_SOURCE, ANY_TAG, REQUEST_NULL, UNDEFINED, Prequest, Request, Status
from phicoll.comm.worlds import COMM_SELF, world

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "COMM_NULL",
    "COMM_SELF",
    "COMM_WORLD",  # noqa: F822 - phicoll.comm finds it anew each time
    "IN_PLACE",
    "UNDEFINED",
    "Comm",
    "Datatype",
    "Op",
    "PROC_NULL",
    "Prequest",
    "REQUEST_NULL",
    "Request",
    "Status",
    "world",
    *DATATYPES,
    *OPERATORS,
]

globals().update(DATATYPES)
globals().update(OPERATORS)
