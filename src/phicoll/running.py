"""A function on every rank of a group: :func:`run`.

Ranks are processes, each an interpreter of its own, or threads of this one. What a rank raises, and what becomes of
it, is told in one way for both: the first cause, after all have ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

from phicoll import _core
from phicoll.comm.world import as_world
from phicoll.errors import ArgumentError, BrokenGroupError, Error

__all__ = ["RankTraceback", "run"]

MEMORY_LIMIT = 64 << 20  # bytes: what a group's collectives may take unless asked otherwise
HEAP_LIMIT = 1 << 30  # bytes: what a group's arrays and sub-communicators may take, as they are used
MOST_BYTES = 1 << 47
ATTACH_TIMEOUT_MS = 30_000  # and more for each rank: interpreters start slowly where ranks outnumber the CPUs
ATTACH_TIMEOUT_MS_A_RANK = 1_000
MOST_RANKS = 1024
MODES = ("processes", "threads")


class RankTraceback(Exception):  # noqa: N818 - it is where an error was raised
    """Where a rank raised, as text: the cause of what :func:`run` raises."""

    def __init__(self, rank: int, text: str) -> None:
        super().__init__(f"\n\nrank {rank}:\n{text}")
        self.rank = rank


def run(
    function: Callable[..., Any],
    ranks: int = 4,
    mode: str = "processes",
    args: Sequence[Any] = (),
    *,
    placement: str | None = None,
    timeout: float | None = None,
    wait: str = "adaptive",
    memory_limit: int = MEMORY_LIMIT,
    heap_limit: int = HEAP_LIMIT,
    tuning: str | os.PathLike[str] | None = None,
    tuning_foreign: str = "",
) -> list[Any]:
    """Call ``function(comm, *args)`` on every rank of a new group and return what the ranks returned.

    Parameters
    ----------
    function:
        Called with the rank's :class:`phicoll.Comm` and ``args``. Between processes it travels by cloudpickle, and so
        do ``args`` and the results: a function of a notebook or of the running program will do.
    ranks:
        How many, 1 to 1024. More than there are cores need no asking.
    mode:
        ``"processes"``: an interpreter for each rank; what ranks print is passed on line by line with the rank in
        front, and where no number of threads is set in the environment each rank's BLAS has one. ``"threads"``: threads
        of this interpreter, never the main one. Python threads hold the interpreter's lock in turns: a collective
        releases it, and has to get it back, so small collectives cost more than between processes (an
        allreduce of 8 bytes on two CPUs: 22 us between two threads, 3.7 us between two processes).
    args:
        Further arguments, the same on all ranks.
    placement:
        ``compact``, ``scatter``, ``balanced`` or a list of CPUs such as ``0,2,4-7``: ranks are pinned. Without it they
        are left alone.
    timeout:
        Seconds that a single wait inside a collective may take. Without it a wait ends when it can, or when the group
        breaks. A rank that computes is not timed.
    wait:
        How ranks wait: ``spin``, ``pause``, ``pause(n)``, ``yield``, ``adaptive``.
    memory_limit:
        Bytes of shared memory that the group's collectives may take.
    heap_limit:
        Bytes of shared memory for :meth:`phicoll.Comm.empty` and sub-communicators, taken as they are used; 0 for none.
    tuning:
        A tuning table that ``auto`` asks before its rules (docs/tuning.md), ``"none"`` for none; by default
        ``PHICOLL_TUNING``.
    tuning_foreign:
        What to do with another machine's table: ``"refuse"`` or ``"use"`` it, with a warning; by default
        ``PHICOLL_TUNING_FOREIGN``, else refuse.

    Returns
    -------
    list
        What each rank returned, by rank.

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    BrokenGroupError
        A rank died, exited, or returned while others waited for it; ``error.rank`` is the first cause. The other ranks
        see the same error in the call that they wait in.
    BaseException
        What a rank raised first, after all ranks have ended. Its ``rank`` attribute is the rank, its ``__cause__`` the
        rank's traceback as text.

    Examples
    --------
    >>> def total(comm):
    ...     return comm.allreduce(comm.rank)
    >>> phicoll.run(total, ranks=4)
    [6, 6, 6, 6]
    """
    if not callable(function):
        raise ArgumentError("function", repr(function), "what can be called with a communicator")
    ranks = whole_number("ranks", ranks, 1, MOST_RANKS)
    if mode not in MODES:
        raise ArgumentError("mode", repr(mode), ", ".join(MODES))
    if isinstance(args, (str, bytes)) or not isinstance(args, Sequence):
        raise ArgumentError("args", repr(args), "a tuple or list of further arguments")
    options = GroupOptions(
        ranks,
        checked_placement(placement, ranks),
        whole_number("memory_limit", memory_limit, 1, MOST_BYTES),
        whole_number("heap_limit", heap_limit, 0, MOST_BYTES),
        milliseconds(timeout),
        _core.parse_wait(wait),
        checked_tuning(tuning),
        tuning_foreign,
    )
    if mode == "threads":
        return ThreadedRun(function, tuple(args), options).results()
    from phicoll.rank_processes import ProcessesRun

    return ProcessesRun(function, tuple(args), options).results()


@dataclass
class GroupOptions:
    """What a group is made with."""

    ranks: int
    placement: str
    memory_limit: int
    heap_limit: int
    timeout_ms: int
    wait: str
    tuning: str = ""
    tuning_foreign: str = ""

    def launched_group(self) -> Any:
        return _core.LaunchedGroup(
            ranks=self.ranks,
            placement=self.placement,
            memory_limit=self.memory_limit,
            heap_limit=self.heap_limit,
            timeout_ms=self.timeout_ms,
            attach_timeout_ms=ATTACH_TIMEOUT_MS + self.ranks * ATTACH_TIMEOUT_MS_A_RANK,
            tuning=self.tuning,
            tuning_foreign=self.tuning_foreign,
        )


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise ArgumentError(name, repr(value), f"a whole number from {least} to {most}")
    return number


def checked_placement(placement: Any, ranks: int) -> str:
    """Empty for none. A bad one is refused before anything is started."""
    if placement is None or placement == "":
        return ""
    if not isinstance(placement, str):
        raise ArgumentError("placement", repr(placement), "compact, scatter, balanced or a list of CPUs")
    _core.place(ranks, placement)
    return placement


def checked_tuning(tuning: Any) -> str:
    """A table's path as the core takes it; empty: the environment's. The core reads it when the group is made."""
    if tuning is None:
        return ""
    if not isinstance(tuning, (str, os.PathLike)):
        raise ArgumentError("tuning", repr(tuning), "a tuning table's path, or 'none'")
    return os.fspath(tuning)


def milliseconds(timeout: float | None) -> int:
    if timeout is None:
        return 0
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < 1e9:
        raise ArgumentError("timeout", repr(timeout), "seconds above 0, or None for no limit")
    return max(1, round(timeout * 1000))


def first_cause(
    broken: tuple[int, str] | None, raised: dict[int, tuple[BaseException, str]]
) -> BaseException | None:
    """What a run raises, of how its group broke and what its ranks raised; None if nothing went wrong."""
    if broken is not None and broken[0] in raised:
        rank = broken[0]
    elif broken is not None:
        return BrokenGroupError(f"group broken by rank {broken[0]}: {broken[1]}", broken[0])
    elif raised:
        rank = min(raised)
    else:
        return None
    error, text = raised[rank]
    cause = RankTraceback(rank, text)
    if isinstance(error, SystemExit):  # it is the rank that wanted to exit, not this program
        error = BrokenGroupError(f"group broken by rank {rank}: it exited with {error.code!r}", rank)
    error.__cause__ = cause
    with contextlib.suppress(Exception):  # some have no place for it: the cause still tells
        error.rank = rank  # type: ignore[attr-defined]
    if hasattr(error, "add_note"):
        error.add_note(f"raised on rank {rank}")
    return error


class ThreadedRun:
    """One run on threads. The calling thread only waits, so that it sees Ctrl-C."""

    SLICE_S = 0.1  # between two looks for Ctrl-C, where a wait cannot be interrupted
    PATIENCE_S = 10.0  # how long interrupted ranks may take to end

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], options: GroupOptions) -> None:
        self.function = function
        self.args = args
        self.options = options
        self.returned: dict[int, Any] = {}
        self.raised: dict[int, tuple[BaseException, str]] = {}
        self.broken: tuple[int, str] | None = None
        self.cores: dict[int, Any] = {}
        self.threads: dict[int, int] = {}
        self.failure: BaseException | None = None
        self.ended = threading.Event()

    def results(self) -> list[Any]:
        # A daemon: a second Ctrl-C leaves ranks behind that do not end.
        waiter = threading.Thread(target=self.run_group, name="phicoll-group", daemon=True)
        waiter.start()
        try:
            while not self.ended.wait(self.SLICE_S):  # an interrupted join takes its thread for ended
                pass
        except KeyboardInterrupt:
            self.interrupt()
            self.ended.wait(self.PATIENCE_S)
            raise
        # A rank's own exception tells more than that the group was found broken in the end.
        if self.failure is not None and not self.raised:
            raise self.failure
        error = first_cause(self.broken, self.raised)
        self.raised.clear()
        if error is not None:
            raise error
        return [self.returned[rank] for rank in range(self.options.ranks)]

    def run_group(self) -> None:
        options = self.options
        try:
            _core.run_threads(
                ranks=options.ranks,
                placement=options.placement,
                memory_limit=options.memory_limit,
                heap_limit=options.heap_limit,
                timeout_ms=options.timeout_ms,
                wait=options.wait,
                function=self.run_rank,
                tuning=options.tuning,
                tuning_foreign=options.tuning_foreign,
            )
        except BaseException as error:
            self.failure = error
        finally:
            self.ended.set()

    def run_rank(self, core: Any) -> None:
        """One rank's thread. Raises nothing."""
        rank = core.rank
        self.cores[rank] = core
        self.threads[rank] = threading.get_ident()
        try:
            with as_world(core) as comm:
                self.returned[rank] = self.function(comm, *self.args)
        except BaseException as error:
            core.fail(describe(error))
            self.raised[rank] = (error, traceback_text(error))
            error.__traceback__ = None  # its frames would keep the rank's variables
        finally:
            self.threads.pop(rank, None)
            # Whoever ends last has seen every cause.
            self.broken = core.broken or self.broken

    def interrupt(self) -> None:
        """Ends all ranks: those that wait see a broken group, those that compute KeyboardInterrupt."""
        for core in list(self.cores.values()):
            try:
                core.fail("interrupted")
                break
            except Error:
                continue
        for thread in list(self.threads.values()):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
            )


def describe(error: BaseException) -> str:
    """A rank's exception as the reason that others are told."""
    return f"raised {type(error).__name__}: {error}"


def traceback_text(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def one_blas_thread(environment: dict[str, str]) -> None:
    """One thread for each rank's linear algebra, where the environment sets none."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    if not any(name in environment for name in names):
        environment.update(dict.fromkeys(names, "1"))


def package_folder() -> str:
    """The folder that Python finds this package in."""
    return str(Path(__file__).absolute().parent.parent)
