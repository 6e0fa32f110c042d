"""mpi4py's names for what phicoll has: ``from phicoll import MPI`` in place of ``from mpi4py import MPI``.

A program of collectives and messages runs after this change, with its ranks started by ``python -m phicoll.launch -n 4
script.py`` or :func:`phicoll.run`. With ``--as-mpi4py`` the launcher gives this module to unchanged programs too. What
there is, and what not, is in docs/comm.md.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from typing import Any

import phicoll._core as _core
import phicoll.comm as _comm
from phicoll.comm import *  # noqa: F403
from phicoll.comm.derived import COMM_TYPE_SHARED, TAG_UB
from phicoll.comm.groups import CONGRUENT, GROUP_EMPTY, GROUP_NULL, IDENT, SIMILAR, UNEQUAL, Group
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
    "Prequest",
    "Query_thread",
    "Wtick",
    "Wtime",
    *_comm.__all__,
]

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
    """Nothing: a rank has begun when it runs."""


def Init_thread(required: int = THREAD_MULTIPLE) -> int:
    """Return what threads may do: see :func:`Query_thread`."""
    return Query_thread()


def Finalize() -> None:
    """Nothing: a rank leaves its group when it ends."""


def Is_initialized() -> bool:
    """True: a rank has begun when it runs."""
    return True


def Is_finalized() -> bool:
    """Whether the interpreter is ending."""
    return sys.is_finalizing()


def Query_thread() -> int:
    """``THREAD_SERIALIZED``: any thread may call, one at a time on each communicator."""
    return THREAD_SERIALIZED


def Is_thread_main() -> bool:
    """Whether this is the main thread."""
    return threading.current_thread() is threading.main_thread()


def Wtime() -> float:
    """Seconds since some time in the past, the same clock on all ranks."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def Wtick() -> float:
    """The resolution of :func:`Wtime` in seconds."""
    return time.clock_getres(time.CLOCK_MONOTONIC)


def Get_processor_name() -> str:
    """The machine's name."""
    return socket.gethostname()


def Get_version() -> tuple[int, int]:
    """The version of MPI whose names these are."""
    return VERSION, SUBVERSION


def Get_library_version() -> str:
    """phicoll and its version."""
    return f"phicoll {_core.__version__}"


_attached: list[Any] = []


def Attach_buffer(buf: Any) -> None:
    """Keep ``buf`` for :func:`Detach_buffer`; ``Bsend`` has memory of its own."""
    _attached[:] = [buf]


def Detach_buffer() -> Any:
    """Return what :func:`Attach_buffer` was given."""
    return _attached.pop() if _attached else None


def Alloc_mem(size: int, info: Any = None) -> bytearray:
    """Memory of this rank alone. ``Comm.empty`` gives memory that all ranks share."""
    return bytearray(size)


def Free_mem(mem: Any) -> None:
    """Nothing: memory is freed with the last reference to it."""


def Abort(errorcode: int = 1) -> None:
    """End all ranks of the program."""
    _comm.world().Abort(errorcode)
