"""Ranks as processes: :func:`phicoll.run` and ``python -m phicoll.launch`` start, watch and end them here.

A rank inherits descriptors of the group's memory, of the function, and of the file that takes what it returns or
raises. None has a name, so none can be left over. The rank's output comes through pipes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import reprlib
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import phicoll._core as _core
from phicoll.comm.answers import read_pickle, write_all
from phicoll.comm.first_cause import ENDED, first_cause
from phicoll.comm.group_options import GroupOptions
from phicoll.comm.rank_server import ForkedRank, forks_for
from phicoll.errors import ArgumentError, BrokenGroupError, ResourceError
from phicoll.foundations import pickling, programs
from phicoll.foundations.descriptors import give_limit_back_in, room_for

__all__ = ["GRACE_S", "Output", "ProcessesRun", "RankProcesses", "room_for_ranks"]

GRACE_S = 5.0  # time that ranks get to end once their group is broken, if they may not go on for ever
PATIENCE_S = 3.0  # time that interrupted ranks get to end
SEEN_BY_A_PEER = "its process died"  # src/cpp/phicoll/group/outside_view.hpp
# What a rank's interpreter runs. It drops the current folder, which -c (like -m) puts first on the path unless told not
# to: a file there may have the name of a standard module.
START = "import sys; sys.path[:1] = filter(None, sys.path[:1]); from phicoll._rank import main; main()"
POLL_S = 0.05  # polling interval on systems without descriptors for processes (pidfd)


def signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def room_for_ranks(ranks: int, each: int = 0) -> contextlib.AbstractContextManager[bool]:
    """Room for what :class:`RankProcesses` opens, and ``each`` more for a rank; whether for its process, too: two."""
    least = 4 + (2 + each) * ranks
    return room_for(least + 2 * ranks, least, f"{ranks} ranks")


class Output:
    """Forwards a rank's output by whole lines, each prefixed with the rank. Without a stream it is dropped."""

    def __init__(self, rank: int, stream: IO[str] | None) -> None:
        self.prefix = f"[{rank}] "
        self.stream = None if getattr(stream, "closed", False) else stream
        self.rest = b""

    def take(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.say(line)
        if lines:
            self.flush()

    def end(self) -> None:
        if self.rest:
            self.say(self.rest)
            self.rest = b""
            self.flush()

    def say(self, line: bytes) -> None:
        if self.stream is None:
            return
        text = f"{self.prefix}{line.decode(errors='replace')}\n"
        try:
            self.stream.write(text)
        except UnicodeEncodeError:  # the encoding lacks what a rank wrote
            encoding = self.stream.encoding
            self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        if self.stream is not None:
            self.stream.flush()


class RankProcesses:
    """The processes of one group, from start to end.

    ``command(rank)`` returns the rank's command line, and the descriptors that it inherits besides the group's memory.
    ``stdin`` is rank 0's standard input, as ``subprocess`` takes it; the other ranks' is empty. ``watched``: there is
    room for a descriptor of each process (:func:`room_for_ranks`). ``fork`` starts a rank by a server, or returns None.
    """

    def __init__(
        self,
        options: GroupOptions,
        command: Callable[[int], tuple[list[str], tuple[int, ...]]],
        environment: dict[str, str],
        prepare: Callable[[], None] | None = None,
        finished: Callable[[int], bool] = lambda rank: True,
        stdin: int | None = subprocess.DEVNULL,
        watched: bool = True,
        fork: Callable[..., ForkedRank | None] = lambda *_: None,
    ) -> None:
        self.watched = watched
        self.group = options.launched_group()
        self.broken: tuple[int, str] | None = None  # the first cause, once all have ended
        self.ranks = options.ranks
        self.processes: list[subprocess.Popen[bytes] | ForkedRank] = []
        self.statuses: dict[int, int] = {}
        self.overdue: list[int] = []  # ranks that were ended because they did not end in time
        self.finished = finished
        self.selector = selectors.DefaultSelector()
        self.outputs: dict[Any, Output] = {}
        self.pidfds: dict[int, int] = {}
        try:
            for rank in range(self.ranks):
                words, inherited = command(rank)
                inherited = (self.group.descriptor, *inherited)
                told = {"PHICOLL_GROUP_FD": str(self.group.descriptor), "PHICOLL_RANK": str(rank)}
                try:
                    process = fork(words[3:], told, inherited) or programs.started(
                        words,
                        stdin=stdin if rank == 0 else subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        env={**environment, **told},
                        pass_fds=inherited,
                        start_new_session=True,  # Ctrl-C in the terminal reaches this process only
                        preexec_fn=prepare,
                    )
                except OSError as error:
                    raise ResourceError(f"rank {rank} could not be started: {error}") from error
                self.processes.append(process)
                if isinstance(process, subprocess.Popen):
                    give_limit_back_in(process.pid)
                self.group.started(rank, process.pid)
                self.watch(rank, process)
        except BaseException:
            self.kill()
            self.close()
            raise

    def watch(self, rank: int, process: subprocess.Popen[bytes] | ForkedRank) -> None:
        for pipe, stream in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self.outputs[pipe] = Output(rank, stream)
            self.selector.register(pipe, selectors.EVENT_READ)
        if not self.watched:
            return
        with contextlib.suppress(AttributeError, OSError):
            forked = isinstance(process, ForkedRank)
            self.pidfds[rank] = process.watched() if forked else os.pidfd_open(process.pid)
            self.selector.register(self.pidfds[rank], selectors.EVENT_READ)

    def wait(self, grace_s: float | None = None) -> None:
        """Wait until all have ended, forwarding their output. Ctrl-C ends them and is raised again.

        ``grace_s`` is the time that ranks get to end once the group is broken; None sets no limit.
        """
        deadline = None
        try:
            while len(self.statuses) < self.ranks:
                self.step()
                if self.group.broken is None:
                    continue
                # Ranks of an overwritten group may wait for ever.
                grace = GRACE_S if grace_s is None and self.group.overwritten else grace_s
                if grace is None:
                    continue
                if deadline is None:
                    deadline = time.monotonic() + grace
                elif time.monotonic() > deadline:
                    self.overdue = [rank for rank in range(self.ranks) if rank not in self.statuses]
                    self.interrupt(signal.SIGTERM)
        except BaseException:
            self.interrupt(signal.SIGINT)
            raise
        finally:
            self.close()

    def step(self, longest_s: float = 1.0) -> None:
        """Wait for output or for a process to end, and handle it."""
        lacking = len(self.pidfds) < self.ranks - len(self.statuses)
        for key, _ in self.selector.select(POLL_S if lacking else longest_s):
            if key.fileobj in self.outputs:
                self.forward(key.fileobj)
        for rank, process in enumerate(self.processes):
            if rank in self.statuses or process.poll() is None:
                continue
            self.ended(rank, process)

    def forward(self, pipe: Any) -> bool:
        """Forward what is in a pipe; False if there is nothing (more)."""
        try:
            data = pipe.read(1 << 16)
        except BlockingIOError:
            return False
        if data is None:
            return False
        if data:
            self.outputs[pipe].take(data)
            return True
        self.selector.unregister(pipe)
        self.outputs.pop(pipe).end()
        pipe.close()
        return False

    def ended(self, rank: int, process: subprocess.Popen[bytes] | ForkedRank) -> None:
        status = process.returncode
        assert status is not None
        self.statuses[rank] = status
        if rank in self.pidfds:
            descriptor = self.pidfds.pop(rank)
            self.selector.unregister(descriptor)
            os.close(descriptor)
        for pipe in (process.stdout, process.stderr):
            while pipe in self.outputs and self.forward(pipe):
                pass
        reason = self.ending(rank)
        if reason:
            self.group.fail(rank, reason)

    def ending(self, rank: int) -> str:
        """How a rank ended, as the reason to break the group; empty if it ended normally."""
        status = self.statuses[rank]
        if status < 0:
            return f"died of {signal_name(-status)}"
        if status > 0:
            return f"ended with exit status {status}"
        return "" if self.finished(rank) else "ended with exit status 0 before its function returned"

    def first_cause(self) -> tuple[int, str] | None:
        """(rank, reason) of the first failure; the reason of a death says how the process died."""
        broken: tuple[int, str] | None = self.group.broken
        # A peer only sees that a process has died; how is known here. A reason that the rank itself gave is kept.
        if broken is None or broken[1] != SEEN_BY_A_PEER or broken[0] not in self.statuses:
            return broken
        return broken[0], self.ending(broken[0]) or broken[1]

    def interrupt(self, number: int) -> None:
        """Send all ranks a signal, then kill those that have not ended within ``PATIENCE_S``."""
        self.group.fail(-1, "interrupted")
        with contextlib.suppress(KeyboardInterrupt):
            self.signal(number)
            deadline = time.monotonic() + PATIENCE_S
            while len(self.statuses) < len(self.processes) and time.monotonic() < deadline:
                self.step(0.1)
        self.kill()

    def signal(self, number: int) -> None:
        for rank, process in enumerate(self.processes):
            if rank not in self.statuses:
                with contextlib.suppress(OSError):
                    process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        for rank, process in enumerate(self.processes):
            if rank not in self.statuses:
                self.statuses[rank] = process.wait()

    def close(self) -> None:
        """Release everything, the group's memory included, as a traceback may keep this object alive."""
        self.broken = self.first_cause()
        del self.group
        for pipe, output in self.outputs.items():
            with contextlib.suppress(OSError, ValueError):
                output.end()
            pipe.close()
        self.outputs.clear()
        for descriptor in self.pidfds.values():
            os.close(descriptor)
        self.pidfds.clear()
        self.selector.close()


class ProcessesRun:
    """One call of :func:`phicoll.run` with a process for each rank."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], options: GroupOptions) -> None:
        self.options = options
        self.payload = dumped(function, args)

    def results(self) -> list[Any]:
        __tracebackhide__ = True
        with contextlib.ExitStack() as stack:
            watched = stack.enter_context(room_for_ranks(self.options.ranks, each=1))
            task = stack.enter_context(closing(_core.unnamed_file("phicoll-task")))
            answers = [
                stack.enter_context(closing(_core.unnamed_file(f"phicoll-answer-{rank}")))
                for rank in range(self.options.ranks)
            ]
            write_all(task, [self.payload])
            self.payload = b""

            def command(rank: int) -> tuple[list[str], tuple[int, ...]]:
                words = [
                    sys.executable,
                    "-c",
                    START,
                    str(task),
                    str(answers[rank]),
                    str(os.getpid()),
                ]
                return [*words, self.options.wait], (task, answers[rank])

            environment = rank_environment()
            processes = RankProcesses(
                self.options,
                command,
                environment,
                finished=lambda rank: has_answer(answers[rank]),
                watched=watched,
                fork=forks_for(environment) if watched else lambda *_: None,
            )
            processes.wait(GRACE_S if self.options.timeout_ms else None)
            returned: dict[int, Any] = {}
            raised: dict[int, tuple[BaseException, str]] = {}
            for rank, answer in enumerate(answers):
                if not has_answer(answer):
                    continue
                kind, value, text = read_answer(rank, answer)
                if kind == "returned":
                    returned[rank] = value
                else:
                    raised[rank] = (value, text)
            error = first_cause(processes.broken, raised, processes.overdue, ENDED)
            if error is not None:
                raise error
            return [returned[rank] for rank in range(self.options.ranks)]


@contextlib.contextmanager
def closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def dumped(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    found = {"sys_path": list(sys.path), "argv": list(sys.argv)}
    try:
        found["function"] = pickling.dumps(function)
    except Exception as error:
        raise ArgumentError(
            "function", repr(function), f"what cloudpickle can send to a process ({error})"
        ) from error
    try:
        found["args"] = pickling.dumps(args)
    except Exception as error:
        raise ArgumentError(
            "args", reprlib.repr(args), f"what cloudpickle can send to a process ({error})"
        ) from error
    return pickle.dumps(found)


def rank_environment() -> dict[str, str]:
    """The environment of a rank's interpreter; ``_rank`` restores PYTHONPATH."""
    environment = dict(os.environ)
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = package_folder() + (os.pathsep + path if path else "")
    if path is not None:
        environment["PHICOLL_PYTHONPATH"] = path
    one_blas_thread(environment)
    return environment


# An answer is complete once this byte, the last of a pickle, is there.
END = b"."


def has_answer(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) == END


def read_answer(rank: int, descriptor: int) -> tuple[str, Any, str]:
    try:
        found: tuple[str, Any, str] = read_pickle(descriptor)
    except Exception as error:
        return (
            "raised",
            BrokenGroupError(f"rank {rank}: what it returned cannot be read here: {error!r}", rank),
            "",
        )
    return found


def end_with_launcher() -> Callable[[], None]:
    """A ``preexec_fn`` that makes the system end the program when the thread that started it ends."""
    parent = os.getpid()

    def prepare() -> None:
        _core.die_with_parent(parent)

    return prepare


def one_blas_thread(environment: dict[str, str]) -> None:
    """Give each rank's BLAS one thread, unless the environment sets a number."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    if not any(name in environment for name in names):
        environment.update(dict.fromkeys(names, "1"))


def package_folder() -> str:
    """The folder that Python finds this package in."""
    return str(Path(__file__).absolute().parents[2])
