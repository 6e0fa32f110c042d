"""Begin and end, threads, PEs, and what the library says of itself."""

from __future__ import annotations

import enum
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

import phicoll._core as _core
from phicoll.errors import ArgumentError
from phicoll.foundations.checks import check_whole
from phicoll.foundations.streams import flush_output

__all__ = [
    "MAJOR_VERSION",
    "MINOR_VERSION",
    "THREAD",
    "THREAD_FUNNELED",
    "THREAD_MULTIPLE",
    "THREAD_SERIALIZED",
    "THREAD_SINGLE",
    "VENDOR_STRING",
    "addr_accessible",
    "finalize",
    "global_exit",
    "info_get_name",
    "info_get_version",
    "init",
    "init_thread",
    "initialized",
    "my_pe",
    "n_pes",
    "pcontrol",
    "pe_accessible",
    "ptr",
    "query_thread",
]

T = TypeVar("T", bound=np.generic)


class THREAD(enum.IntEnum):
    """How a program's threads call the library: one thread, the main one, one at a time, or any at any time."""

    SINGLE = 0
    FUNNELED = 1
    SERIALIZED = 2
    MULTIPLE = 3


THREAD_SINGLE = THREAD.SINGLE
THREAD_FUNNELED = THREAD.FUNNELED
THREAD_SERIALIZED = THREAD.SERIALIZED
THREAD_MULTIPLE = THREAD.MULTIPLE


def info_get_version() -> tuple[int, int]:
    """The major and minor number of the version of OpenSHMEM."""
    return _core.shmem_info_get_version()


def info_get_name() -> str:
    """The library's name."""
    return _core.shmem_info_get_name()


MAJOR_VERSION, MINOR_VERSION = info_get_version()
VENDOR_STRING = info_get_name()


def init(heap_bytes: int | None = None) -> None:
    """Begin. Collective over all PEs, which are the ranks of :data:`phicoll.COMM_WORLD`; a second call does nothing.

    After :func:`finalize` it begins again, with an empty heap as large as it was. What is stored there shows in arrays
    of before.

    Parameters
    ----------
    heap_bytes:
        Bytes of each PE's symmetric heap; PE 0's value counts. ``None``: ``SHMEM_SYMMETRIC_SIZE``, or what the group's
        memory has room for, up to 256 MB.

    Raises
    ------
    ArgumentError
        If the ranks are threads.
    ResourceError
        If the group's memory has no room for the heaps.
    """
    _init(THREAD.SINGLE, heap_bytes)


def init_thread(requested: int = THREAD.MULTIPLE, heap_bytes: int | None = None) -> THREAD:
    """Begin as :func:`init` does; the level of threads that is provided, which is the one requested."""
    try:
        level = THREAD(requested)
    except ValueError:
        raise ArgumentError("requested", repr(requested), ", ".join(map(str, THREAD))) from None
    return _init(level, heap_bytes)


def _init(level: THREAD, heap_bytes: int | None) -> THREAD:
    from phicoll.comm import world

    return THREAD(_core.shmem_init(world()._core, heap_bytes, level))


def initialized() -> bool:
    """Whether :func:`init` was called, and :func:`finalize` not yet."""
    return _core.shmem_initialized()


def finalize() -> None:
    """End. Collective. Arrays stay readable here, but all calls of this module raise ``Error``, until :func:`init`.

    A program that ends without it ends with it, if its exit status is 0.
    """
    _core.shmem_finalize()


def global_exit(status: int = 0) -> NoReturn:
    """End this process with ``status``, and all other PEs. Any PE may call it.

    ``status`` is also that of the launcher, which ends PEs that compute. What this PE printed is written before.
    """
    status = check_whole("status", status, -(1 << 31), (1 << 31) - 1)
    flush_output()
    _core.shmem_global_exit(status)
    raise SystemExit(status)  # not reached


def query_thread() -> THREAD:
    """The level of threads that is provided."""
    return THREAD(_core.shmem_query_thread())


def pcontrol(level: int = 1) -> None:
    """A note to tools that profile; nothing here."""
    _core.shmem_pcontrol(level)


def my_pe() -> int:
    """This PE's number, from 0."""
    return _core.shmem_my_pe()


def n_pes() -> int:
    """The number of PEs."""
    return _core.shmem_n_pes()


def pe_accessible(pe: int) -> bool:
    """Whether there is a PE with that number."""
    return _core.shmem_pe_accessible(pe)


def addr_accessible(addr: NDArray[Any], pe: int) -> bool:
    """Whether ``pe`` has a copy of the array ``addr`` that this PE reaches: whether it is symmetric."""
    return _core.shmem_addr_accessible(addr, pe)


def ptr(target: NDArray[T], pe: int) -> NDArray[T] | None:
    """``target`` of PE ``pe`` as an array here, for loads and stores without calls; ``None`` if it is not symmetric.

    It has the same shape, type, order and writeability. What another PE may see when is as in C: a :func:`quiet` or
    a store may be relied on only after :func:`barrier_all`.
    """
    found: NDArray[T] | None = _core.shmem_ptr(target, pe)
    return found
