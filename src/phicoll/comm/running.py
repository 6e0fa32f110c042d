""":func:`run` calls a function on every rank of a new group.

Ranks are processes, each with its own interpreter, or threads of this one. Errors are reported alike for both: the
first cause, after all ranks have ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import phicoll._core as _core
from phicoll.comm.first_cause import add_note, describe, first_cause, late, traceback_text
from phicoll.comm.group_options import (
    HEAP_LIMIT,
    MEMORY_LIMIT,
    MODES,
    MOST_BYTES,
    MOST_RANKS,
    GroupOptions,
    checked_placement,
    checked_tuning,
    milliseconds,
    whole_number,
)
from phicoll.comm.rank_processes import GRACE_S, ProcessesRun
from phicoll.errors import ArgumentError, Error, ResourceError
from phicoll.foundations.checks import argument_names, check_text

__all__ = ["ThreadedRun", "run"]

FATE = "its thread goes on"  # of a rank that does not end in time


@argument_names
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
        Called with the rank's :class:`phicoll.Comm` and ``args``. Processes get it, and ``args``, by cloudpickle and
        return results the same way, so a function of a notebook or of the running program works.
    ranks:
        The number of ranks, 1 to 1024; it may exceed the number of cores.
    mode:
        ``"processes"``: an interpreter for each rank, forked from a server that has imported NumPy and phicoll
        (``PHICOLL_RANK_SERVER=off``: started anew). What ranks print is forwarded line by line, prefixed with the
        rank; each rank's BLAS has one thread unless the environment sets a number. ``"threads"``: threads of this
        interpreter, never the main one. A collective releases the interpreter's lock and has to take it again, so
        small collectives take several times as long as between processes.
    args:
        Further arguments, the same on all ranks.
    placement:
        ``compact``, ``scatter``, ``balanced`` or a list of CPUs such as ``0,2,4-7`` pins the ranks; None does not.
    timeout:
        Seconds that a single wait inside a collective may take; None for no limit. Computing is not timed, but once a
        wait has taken too long, or the group is broken otherwise, ranks have a few seconds to end. Processes that have
        not, because they are stopped or compute on, are ended. Threads get KeyboardInterrupt; the exception's notes
        name those that go on even so.
    wait:
        How ranks wait: ``spin``, ``pause``, ``pause(n)``, ``yield``, ``adaptive``.
    memory_limit:
        Bytes of shared memory that the group's collectives may take.
    heap_limit:
        Bytes of shared memory for :meth:`phicoll.Comm.empty`, sub-communicators, messages and nonblocking calls,
        allocated as they are used; 0 for none.
    tuning:
        A tuning table that ``auto`` consults before its rules (docs/tuning.md), or ``"none"``; ``PHICOLL_TUNING`` by
        default.
    tuning_foreign:
        ``"refuse"`` another machine's table, or ``"use"`` it with a warning; ``PHICOLL_TUNING_FOREIGN`` by default,
        else ``"refuse"``.

    Returns
    -------
    list
        The ranks' results, by rank.

    Raises
    ------
    ArgumentError
        Bad input; nothing was started.
    BrokenGroupError
        A rank died, exited, returned while others waited for it, or made another call than they did; ``error.rank``
        is the first that did. The other ranks see the same error in the call in which they wait.
    BaseException
        The first exception of a rank, raised after all ranks have ended (see ``timeout``). Its ``rank`` attribute is
        the rank, its ``__cause__`` the rank's traceback as text.

    Examples
    --------
    >>> def total(comm):
    ...     return comm.allreduce(comm.rank)
    >>> phicoll.run(total, ranks=4)
    [6, 6, 6, 6]
    """
    __tracebackhide__ = True  # for pytest and IPython
    if not callable(function):
        raise ArgumentError("function", repr(function), "a function whose first argument is a communicator")
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
        _core.parse_wait(check_text("wait", wait)),
        checked_tuning(tuning),
        check_text("tuning_foreign", tuning_foreign, "refuse, use"),
    )
    if mode == "threads":
        return ThreadedRun(function, tuple(args), options).results()
    return ProcessesRun(function, tuple(args), options).results()


class ThreadedRun:
    """One run on threads. The calling thread only waits, so that it can handle Ctrl-C."""

    SLICE_S = 0.1  # interval of checks for Ctrl-C, as a wait may not be interruptible
    # Time that interrupted ranks get to end. Those in C code, or in time.sleep, may take longer.
    PATIENCE_S = 1.0

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
        __tracebackhide__ = True
        # A daemon, so that a second Ctrl-C, or a timeout, can abandon ranks that do not end.
        waiter = threading.Thread(target=self.run_group, name="phicoll-group", daemon=True)
        try:
            # Ranks may run, and Ctrl-C may come, before this returns.
            try:
                waiter.start()
            except RuntimeError as refusal:
                raise ResourceError(f"the threads of the group could not be started: {refusal}") from refusal
            overdue = self.wait()
        except KeyboardInterrupt as interrupt:
            for rank in self.interrupted():
                add_note(interrupt, late(rank, FATE))
            raise
        # A rank's own exception says more than the failure of the whole group.
        if self.failure is not None and not self.raised:
            raise self.failure
        error = first_cause(self.broken, dict(self.raised), overdue, FATE)
        self.raised.clear()
        if error is not None:
            raise error.with_traceback(None)  # the rank's own lines are its cause's text
        return [self.returned[rank] for rank in range(self.options.ranks)]

    def wait(self) -> list[int]:
        """Wait until all ranks have ended, with a timeout not much longer once the group is broken.

        Returns the ranks that go on.
        """
        deadline = None
        while not self.ended.wait(self.SLICE_S):  # an interrupted join marks its thread as ended
            if not self.options.timeout_ms or not self.is_broken():
                continue
            if deadline is None:
                deadline = time.monotonic() + GRACE_S
            elif time.monotonic() > deadline:
                return self.interrupted()
        return []

    def is_broken(self) -> bool:
        for core in list(self.cores.values()):
            with contextlib.suppress(Error):  # a rank that has ended
                self.broken = self.broken or core.broken
        return self.broken is not None

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
        """Run one rank on its thread. Raises nothing."""
        from phicoll.comm.worlds import as_world

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
            # The last rank to end has seen every cause.
            self.broken = core.broken or self.broken

    def interrupted(self) -> list[int]:
        """End all ranks: those that wait see a broken group, those that compute in Python get KeyboardInterrupt.

        Returns the ranks that go on.
        """
        for core in list(self.cores.values()):
            with contextlib.suppress(Error):  # a rank that has ended
                core.fail("interrupted")
                break
        for thread in list(self.threads.values()):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
            )
        return [] if self.ended.wait(self.PATIENCE_S) else sorted(self.threads)
