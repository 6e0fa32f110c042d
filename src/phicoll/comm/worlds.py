"""The running rank's communicator: from :func:`phicoll.run`, from a launcher, or of a program on its own."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

import phicoll._core as _core
from phicoll.comm.communicator import COMM_NULL, Comm
from phicoll.comm.first_cause import describe
from phicoll.comm.groups import Group
from phicoll.foundations.streams import flush_output, tell

__all__ = ["SelfComm", "as_world", "world"]

_thread = threading.local()  # ranks that are threads
_lock = threading.Lock()
_process: Comm | None = None  # a rank that is a process


@contextlib.contextmanager
def as_world(core: Any) -> Iterator[Comm]:
    """Make a rank's communicator the one that :func:`world` returns on this thread.

    A process forked meanwhile is not a rank: it ends where the rank would go on.
    """
    global _process
    process = os.getpid()
    comm = Comm(core)
    before = getattr(_thread, "world", None)
    _thread.world = comm
    alone = threading.current_thread() is threading.main_thread()
    if alone:
        _process, process_before = comm, _process
    try:
        yield comm
    finally:
        if os.getpid() != process:
            end_forked(sys.exc_info()[1])
        _thread.world = before
        if alone:
            _process = process_before


def known_world() -> Comm | None:
    """What :func:`world` returns, if the rank has joined its group."""
    own: Comm | None = getattr(_thread, "world", None)
    return _process if own is None else own  # one that is finalized is false


def end_forked(error: BaseException | None) -> NoReturn:
    """End a forked process as Python would after ``error``, but for what the rank registered to be done at exit."""
    status: Any = 0
    words = ""
    if isinstance(error, SystemExit):
        status = error.code or 0
        if not isinstance(status, int):
            words, status = f"{status}\n", 1
    elif error is not None:
        words, status = "".join(traceback.format_exception(error)), 1
    with contextlib.suppress(OSError, ValueError):  # stderr is full or closed
        tell(words, end="")
    flush_output()
    os._exit(status & 0xFF)


def world() -> Comm:
    """The communicator of all ranks that were started together.

    Inside :func:`phicoll.run` it is the function's first argument. In a program started by ``python -m
    phicoll.launch``, the first use joins the group and waits until all ranks have joined. Any other program is a group
    of one.
    """
    global _process
    found = known_world()
    if found is not None:
        return found
    with _lock:
        if _process is None:
            _process = Comm(launched() or alone())
        return _process


def launched() -> Any:
    """The core's communicator if a launcher started this program, else None."""
    if "PHICOLL_GROUP_FD" not in os.environ:
        return None
    core = _core.join_from_environment(os.environ.get("PHICOLL_WAIT") or "adaptive")
    del os.environ["PHICOLL_GROUP_FD"]  # programs that this one starts are not ranks
    before = sys.excepthook

    def fail(kind: Any, error: Any, where: Any) -> None:
        if not core.closed:
            core.fail(describe(error))
        before(kind, error, where)

    sys.excepthook = fail
    atexit.register(core.leave)
    return core


def alone() -> Any:
    """A group of one. If an MPI's launcher started several such programs, one of them says so."""
    for name in ("OMPI_COMM_WORLD", "PMI"):  # Open MPI's; MPICH's and Intel MPI's
        size = os.environ.get(f"{name}_SIZE", "1")
        if size != "1" and os.environ.get(f"{name}_RANK") == "0":
            tell(
                f"phicoll: an MPI's launcher started {size} ranks, and here each is a world of its own; "
                "phicoll launch starts them as one, phicoll.Comm.from_mpi joins them"
            )
    return _core.alone()


class OfSelf(Comm):
    """A communicator of the calling rank alone."""

    @classmethod
    def _made(cls, core: Any) -> Comm:
        return COMM_NULL if core is None else OfSelf(core)

    def Get_group(self) -> Group:
        """This rank, by its number in the world."""
        everyone = world()
        return everyone.Get_group().Incl([everyone.rank])


class SelfComm(OfSelf):
    """``COMM_SELF``, made when a thread first uses it."""

    def __init__(self) -> None:
        self._own = threading.local()

    @property
    def _core(self) -> Any:  # type: ignore[override]
        core = getattr(self._own, "core", None)
        if core is None:
            core = self._own.core = _core.alone()
        return core

    def Free(self) -> None:
        """Refused: ``COMM_SELF`` cannot be freed."""
        from phicoll.errors import ArgumentError

        raise ArgumentError("comm", "COMM_SELF", "a communicator that Split or Dup made")

    def __repr__(self) -> str:
        return "phicoll.COMM_SELF"

    def __reduce__(self) -> str:
        return "COMM_SELF"


COMM_SELF = SelfComm()
