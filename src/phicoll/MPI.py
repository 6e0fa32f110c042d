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
from phicoll.comm.datatypes import CODES, DATATYPE_NULL, MPI_TYPES, Datatype
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
from phicoll.comm.not_offered import explain
from phicoll.comm.operators import OP_NULL
from phicoll.comm.pickles import Pickle, pickle
from phicoll.comm.refused import (
    FILE_NULL,
    NO_FILES,
    NO_TOPOLOGY,
    SESSION_NULL,
    Cartcomm,
    Distgraphcomm,
    File,
    Graphcomm,
    Session,
    Topocomm,
    buffer,
)
from phicoll.comm.requests import Grequest, Request
from phicoll.comm.worlds import known_world
from phicoll.errors import ERROR_CLASSES, ArgumentError, Error as Exception

__all__ = [
    "APPNUM",
    "BOTTOM",
    "BSEND_OVERHEAD",
    "COMM_TYPE_SHARED",
    "CONGRUENT",
    "DATATYPE_NULL",
    "ERRHANDLER_NULL",
    "ERRORS_ABORT",
    "ERRORS_ARE_FATAL",
    "ERRORS_RETURN",
    "FILE_NULL",
    "GROUP_EMPTY",
    "GROUP_NULL",
    "HOST",
    "IDENT",
    "INFO_ENV",
    "INFO_NULL",
    "IO",
    "KEYVAL_INVALID",
    "LASTUSEDCODE",
    "MAX_DATAREP_STRING",
    "MAX_ERROR_STRING",
    "MAX_INFO_KEY",
    "MAX_INFO_VAL",
    "MAX_LIBRARY_VERSION_STRING",
    "MAX_OBJECT_NAME",
    "MAX_PORT_NAME",
    "MAX_PROCESSOR_NAME",
    "MAX_PSET_NAME_LEN",
    "MAX_STRINGTAG_LEN",
    "MESSAGE_NO_PROC",
    "MESSAGE_NULL",
    "MODE_NOCHECK",
    "MODE_NOPRECEDE",
    "MODE_NOPUT",
    "MODE_NOSTORE",
    "MODE_NOSUCCEED",
    "OP_NULL",
    "ORDER_C",
    "ORDER_F",
    "ORDER_FORTRAN",
    "ROOT",
    "SESSION_NULL",
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
    "Aint_add",
    "Aint_diff",
    "Alloc_mem",
    "Attach_buffer",
    "Cartcomm",
    "Compute_dims",
    "Detach_buffer",
    "Distgraphcomm",
    "Errhandler",
    "Exception",
    "File",
    "Finalize",
    "Flush_buffer",
    "Free_mem",
    "Get_abi_fortran_info",
    "Get_abi_info",
    "Get_abi_version",
    "Get_address",
    "Get_error_class",
    "Get_error_string",
    "Get_hw_resource_info",
    "Get_library_version",
    "Get_processor_name",
    "Get_version",
    "Graphcomm",
    "Grequest",
    "Group",
    "Iflush_buffer",
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
    "Query_thread",
    "Session",
    "Topocomm",
    "Wtick",
    "Wtime",
    "buffer",
    "get_vendor",
    "memory",
    "pickle",
    *MPI_TYPES,
    *ERROR_CLASSES,
    *_comm.__all__,
    *_windows.__all__,
]

# All but the rank's own communicator, which __getattr__ finds each time.
globals().update({name: getattr(_comm, name) for name in _comm.__all__ if name != "COMM_WORLD"})
globals().update({name: getattr(_windows, name) for name in _windows.__all__})
globals().update(MPI_TYPES)
globals().update(ERROR_CLASSES)
Intracomm = _comm.Comm
memory = buffer


SUCCESS = 0
BSEND_OVERHEAD = 0
VERSION, SUBVERSION = 4, 1
# No text is cut at these lengths; they are what programs take for buffers of their own.
MAX_ERROR_STRING = MAX_INFO_VAL = MAX_PORT_NAME = 1024
MAX_INFO_KEY = MAX_PROCESSOR_NAME = 256
MAX_OBJECT_NAME = MAX_DATAREP_STRING = 128
MAX_PSET_NAME_LEN = MAX_STRINGTAG_LEN = 1024
MAX_LIBRARY_VERSION_STRING = 8192
ROOT = -4  # no rank's number
# What a program promises at Fence and Lock, which take it and do not use it.
MODE_NOCHECK, MODE_NOSTORE, MODE_NOPUT, MODE_NOPRECEDE, MODE_NOSUCCEED = 1024, 2048, 4096, 8192, 16384
ORDER_C, ORDER_FORTRAN = 56, 57
ORDER_F = ORDER_FORTRAN
THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)


NO_PORTS = "a group keeps its ranks; phicoll.run starts another"
NO_ADDRESSES = "handles are Python's objects, and no library of C takes them"
# The beginnings of names of mpi4py's that are not offered, and what to use.
NOT_OFFERED = {
    **dict.fromkeys(("MODE_", "SEEK_", "DISPLACEMENT_", "DISP_CUR", "Register_datarep"), NO_FILES),
    **dict.fromkeys(("CART", "GRAPH", "DIST_GRAPH", "UNWEIGHTED", "WEIGHTS_EMPTY"), NO_TOPOLOGY),
    **dict.fromkeys(("Open_port", "Close_port", "Publish_name", "Unpublish_name", "Lookup_name"), NO_PORTS),
    **dict.fromkeys(("ARGV", "ERRCODES"), NO_PORTS),
    **dict.fromkeys(("_addressof", "_sizeof", "_handleof"), NO_ADDRESSES),
    **dict.fromkeys(
        ("_comm_lock", "_commctx", "_datatype_", "_set_abort_status", "_typealign", "_typedict_"),
        "it is private to mpi4py",
    ),
    **dict.fromkeys(("InPlaceType", "BottomType", "BufferAutomaticType"), "is names the constant itself"),
    "BUFFER_AUTOMATIC": "Bsend takes memory of its own",
    **dict.fromkeys(("Add_error", "Remove_error"), "errors are exceptions: str(error)"),
    **dict.fromkeys(
        ("COMBINER_", "DISTRIBUTE_", "TYPECLASS_"),
        "there are no derived types; NumPy's arrays may be strided",
    ),
    "COMM_TYPE_": "all ranks share memory; Split makes parts of them",
    "F_": "Fortran's statuses are arrays that no call here takes",
}


def __getattr__(name: str) -> Any:
    if name == "COMM_WORLD":  # the running rank's own
        return _comm.world()
    explain(name, NOT_OFFERED)
    raise AttributeError(
        f"module 'phicoll.MPI' has no attribute {name!r}; docs/comm.md lists what is offered"
    )


_initialized = True  # by the import, unless mpi4py.rc wants Init to do it


def Init() -> None:
    """Does nothing, as a rank that runs is ready; from then on :func:`Is_initialized` says so."""
    global _initialized
    _initialized = True


def Init_thread(required: int = THREAD_MULTIPLE) -> int:
    """As :func:`Init`; return what threads may do: see :func:`Query_thread`."""
    Init()
    return Query_thread()


def Finalize() -> None:
    """End this rank's use of ``COMM_WORLD``, whose calls then raise an Error. It leaves its group when it ends."""
    _comm.world()._finalize()


def Is_initialized() -> bool:
    """Whether the import, or :func:`Init`, has made the rank ready."""
    return _initialized


def Is_finalized() -> bool:
    """Whether this rank has called :func:`Finalize`, or the interpreter is ending."""
    found = known_world()
    return sys.is_finalizing() or (found is not None and found._is_finalized)


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


def Get_abi_version() -> tuple[int, int]:
    """(-1, -1): phicoll has Python's names of MPI, and not the interface of MPI's libraries of C."""
    return -1, -1


def Get_abi_info() -> Info:
    """A new Info without keys: see :func:`Get_abi_version`."""
    return Info.Create()


Get_abi_fortran_info = Get_abi_info


def Get_hw_resource_info() -> Info:
    """A new Info without keys: ``phicoll doctor`` tells of the machine."""
    return Info.Create()


def Get_library_version() -> str:
    """phicoll and its version."""
    return f"phicoll {_core.__version__}"


def get_vendor() -> tuple[str, tuple[int, int, int]]:
    """phicoll and its version, as numbers."""
    numbers = [int(part) for part in _core.__version__.split(".")[:3]]
    return "phicoll", (numbers[0], numbers[1], numbers[2])


_typedict = CODES  # types by their typecodes


def _typecode(datatype: Datatype) -> str | None:
    """The type's typecode, None if it has none."""
    try:
        return datatype.tocode()
    except ValueError:
        return None


def Pcontrol(level: int) -> None:
    """Does nothing: there is no profiler to control."""


def Get_address(location: Any) -> int:
    """The address of a buffer's memory; 0 for ``BOTTOM`` and None."""
    return 0 if location is None else block(location, "location", writable=False).address


def Aint_add(base: int, disp: int) -> int:
    """The address ``disp`` bytes after ``base``."""
    return base + disp


def Aint_diff(addr1: int, addr2: int) -> int:
    """The bytes from ``addr2`` to ``addr1``."""
    return addr1 - addr2


def Get_error_class(errorcode: int) -> int:
    """The class of an error's code, which is the code itself."""
    if errorcode not in (SUCCESS, *ERROR_CLASSES.values()):
        raise ArgumentError("errorcode", repr(errorcode), "SUCCESS, or an error's code")
    return errorcode


def Get_error_string(errorcode: int) -> str:
    """The name of an error's class, which is its code."""
    code = Get_error_class(errorcode)
    return next((f"MPI_{name}" for name, number in ERROR_CLASSES.items() if number == code), "MPI_SUCCESS")


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


def Flush_buffer() -> None:
    """Does nothing: what ``Bsend`` sends was copied, and goes on by itself."""


def Iflush_buffer() -> Request:
    """As :func:`Flush_buffer`; return a request that has ended."""
    return Request()


def Alloc_mem(size: int, info: Any = None) -> bytearray:
    """Memory of this rank alone. ``Comm.empty`` gives memory that all ranks share."""
    return bytearray(size)


def Free_mem(mem: Any) -> None:
    """Does nothing: memory is freed with the last reference to it."""


def Abort(errorcode: int = 1) -> None:
    """As ``COMM_WORLD.Abort``."""
    _comm.world().Abort(errorcode)
