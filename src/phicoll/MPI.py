"""mpi4py's names for what phicoll offers: ``from phicoll import MPI`` replaces ``from mpi4py import MPI``.

A program of collectives and messages needs no other change; ``python -m phicoll.launch -n 4 script.py`` or
:func:`phicoll.run` starts its ranks. With ``--as-mpi4py`` the launcher runs unchanged programs too. docs/comm.md lists
what is offered and what is not.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from typing import Any

import phicoll._core as _core
import phicoll.comm as _comm
from phicoll.comm.derived import COMM_TYPE_SHARED, TAG_UB
from phicoll.comm.groups import CONGRUENT, GROUP_EMPTY, GROUP_NULL, IDENT, SIMILAR, UNEQUAL, Group
from phicoll.comm.matched import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from phicoll.comm.messages import Prequest
from phicoll.errors import Error as Exception

__all__ = [
    "BSEND_OVERHEAD",
    "COMM_TYPE_SHARED",
    "CONGRUENT",
    "GROUP_EMPTY",
    "GROUP_NULL",
    "IDENT",
    "INFO_NULL",
    "MAX_PROCESSOR_NAME",
    "MESSAGE_NO_PROC",
    "MESSAGE_NULL",
    "SIMILAR",
    "SUBVERSION",
    "SUCCESS",
    "TAG_UB",
    "THREAD_FUNNELED",
    "THREAD_MULTIPLE",
    "THREAD_SERIALIZED",
    "THREAD_SINGLE",
    "UNEQUAL",
    "VERSION",
    "Abort",
    "Alloc_mem",
    "Attach_buffer",
    "Detach_buffer",
    "Exception",
    "Finalize",
    "Free_mem",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Group",
    "Init",
    "Init_thread",
    "Intracomm",
    "Is_finalized",
    "Is_initialized",
    "Is_thread_main",
    "Message",
    "Prequest",
    "Query_thread",
    "Wtick",
    "Wtime",
    *_comm.__all__,
]

# All but the rank's own communicator, which __getattr__ finds each time.
globals().update({name: getattr(_comm, name) for name in _comm.__all__ if name != "COMM_WORLD"})
Intracomm = _comm.Comm

SUCCESS = 0
BSEND_OVERHEAD = 0
INFO_NULL = None
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
