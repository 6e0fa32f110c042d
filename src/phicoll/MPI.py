"""mpi4py's names for what phicoll offers: ``from phicoll import MPI`` replaces ``from mpi4py import MPI``.

A program of collectives and messages needs no other change; ``python -m phicoll.launch -n 4 script.py`` or
:func:`phicoll.run` starts its ranks. With ``--as-mpi4py`` the launcher runs unchanged programs too. docs/comm.md lists
what is offered and what is not.
"""

from __future__ import annotations

import math
import socket
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import phicoll._core as _core
import phicoll.comm as _comm
import phicoll.comm.windows as _windows
from phicoll.comm.buffers import BOTTOM, block
from phicoll.comm.communicator import Intercomm
from phicoll.comm.derived import (
    APPNUM,
    COMM_TYPE_SHARED,
    HOST,
    IO,
    KEYVAL_INVALID,
    LASTUSEDCODE,
    TAG_UB,
    UNIVERSE_SIZE,
    WTIME_IS_GLOBAL,
)
from phicoll.comm.errhandlers import (
    ERRHANDLER_NULL,
    ERRORS_ABORT,
    ERRORS_ARE_FATAL,
    ERRORS_RETURN,
    Errhandler,
)
from phicoll.comm.groups import CONGRUENT, GROUP_EMPTY, GROUP_NULL, IDENT, SIMILAR, UNEQUAL, Group
from phicoll.comm.info import INFO_ENV, INFO_NULL, Info
from phicoll.comm.matched import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from phicoll.comm.operators import OP_NULL
from phicoll.comm.pickles import Pickle, pickle
from phicoll.comm.requests import Prequest
from phicoll.errors import ArgumentError, Error as Exception

__all__ = [
    "APPNUM",
    "BOTTOM",
    "BSEND_OVERHEAD",
    "COMM_TYPE_SHARED",
    "CONGRUENT",
    "ERRHANDLER_NULL",
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "GROUP_EMPTY",
    "GROUP_NULL",
    "HOST",
    "IDENT",
    "INFO_ENV",
    "INFO_NULL",
    "IO",
    "KEYVAL_INVALID",
    "LASTUSEDCODE",
    "MAX_PROCESSOR_NAME",
    "MESSAGE_NO_PROC",
    "MESSAGE_NULL",
    "OP_NULL",
    "SIMILAR",
    "SUBVERSION",
    "SUCCESS",
    "TAG_UB",
    "THREAD_FUNNELED",
    "THREAD_MULTIPLE",
    "THREAD_SERIALIZED",
    "THREAD_SINGLE",
    "UNEQUAL",
    "UNIVERSE_SIZE",
    "VERSION",
    "WTIME_IS_GLOBAL",
    "Abort",
    "Alloc_mem",
    "Attach_buffer",
    "Compute_dims",
    "Detach_buffer",
    "Errhandler",
    "Exception",
    "Finalize",
    "Free_mem",
    "Get_address",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Group",
    "Info",
    "Init",
    "Init_thread",
    "Intercomm",
    "Intracomm",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Message",
    "Pcontrol",
    "Pickle",
    "Prequest",
    "Query_thread",
    "Wtick",
    "Wtime",
    "pickle",
    *_comm.__all__,
    *_windows.__all__,
]

# All but the rank's own communicator, which __getattr__ finds each time.
globals().update({name: getattr(_comm, name) for name in _comm.__all__ if name != "COMM_WORLD"})
globals().update({name: getattr(_windows, name) for name in _windows.__all__})
Intracomm = _comm.Comm


SUCCESS = 0
BSEND_OVERHEAD = 0
VERSION, SUBVERSION = 4, 1
MAX_PROCESSOR_NAME = 256
THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)


def __getattr__(name: str) -> Any:
    if name == "COMM_WORLD":  # the running rank's own
        return _comm.world()
    raise AttributeError(
        f"module 'phicoll.MPI' has no attribute {name!r}; docs/comm.md lists what is offered"
    )


def Init() -> None:
    """Does nothing: a rank that runs is ready."""


def Init_thread(required: int = THREAD_MULTIPLE) -> int:
    """Return what threads may do: see :func:`Query_thread`."""
    return Query_thread()


def Finalize() -> None:
    """Does nothing: a rank leaves its group when it ends."""


def Is_initialized() -> bool:
    """True: a rank that runs is ready."""
    return True


def Is_finalized() -> bool:
    """Whether the interpreter is ending."""
    return sys.is_finalizing()


def Query_thread() -> int:
    """``THREAD_SERIALIZED``: any thread may make a call, but only one at a time on each communicator."""
    return THREAD_SERIALIZED


def Is_thread_main() -> bool:
    """Whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


def Wtime() -> float:
    """Seconds since some time in the past, by one clock for all ranks."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def Wtick() -> float:
    """The resolution of :func:`Wtime` in seconds."""
    return time.clock_getres(time.CLOCK_MONOTONIC)


def Get_processor_name() -> str:
    """The machine's name."""
    return socket.gethostname()


def Get_version() -> tuple[int, int]:
    """The version of MPI from which the names are taken."""
    return VERSION, SUBVERSION


def Get_library_version() -> str:
    """phicoll and its version."""
    return f"phicoll {_core.__version__}"


def Pcontrol(level: int) -> None:
    """Does nothing: there is no profiler to control."""


def Get_address(location: Any) -> int:
    """The address of a buffer's memory."""
    return block(location, "location", writable=False).address


def Compute_dims(nnodes: int, dims: int | Sequence[int]) -> list[int]:
    """Return a grid of ``nnodes`` ranks with extents as equal as can be, in descending order.

    Parameters
    ----------
    nnodes:
        How many ranks.
    dims:
        How many dimensions, or their extents, of which those that are 0 are computed.
    """
    given = [0] * dims if isinstance(dims, int) else [int(extent) for extent in dims]
    fixed = math.prod(extent for extent in given if extent)
    if nnodes < 1 or min(given, default=0) < 0 or nnodes % fixed or (0 not in given and nnodes != fixed):
        raise ArgumentError("dims", f"{given} for {nnodes}", "extents whose product divides the ranks")
    found = iter(equal_factors(nnodes // fixed, given.count(0)))
    return [extent or next(found) for extent in given]


def equal_factors(number: int, count: int) -> list[int]:
    """``count`` numbers with the product ``number``, the largest as small as can be, in descending order."""
    if count < 2:
        return [number] * count
    for largest in range(1, number + 1):
        if number % largest == 0 and largest**count >= number:
            rest = equal_factors(number // largest, count - 1)
            if rest[0] <= largest:
                return [largest, *rest]
    return [number] + [1] * (count - 1)


_attached: list[Any] = []


def Attach_buffer(buf: Any) -> None:
    """Keep ``buf`` for :func:`Detach_buffer`, without using it: ``Bsend`` takes memory of its own."""
    _attached[:] = [buf]


def Detach_buffer() -> Any:
    """Return what :func:`Attach_buffer` was given."""
    return _attached.pop() if _attached else None


def Alloc_mem(size: int, info: Any = None) -> bytearray:
    """Memory of this rank alone. ``Comm.empty`` gives memory that all ranks share."""
    return bytearray(size)


def Free_mem(mem: Any) -> None:
    """Does nothing: memory is freed with the last reference to it."""


def Abort(errorcode: int = 1) -> None:
    """As ``COMM_WORLD.Abort``."""
    _comm.world().Abort(errorcode)
