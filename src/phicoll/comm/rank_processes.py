"""Ranks as processes: how :func:`phicoll.run` and ``python -m phicoll.launch`` start, watch and end them.

A rank inherits what it needs as descriptors, none of which has a name that could stay behind: the group's memory, the
function, and an unnamed file that takes what it returned or raised. Its output comes through pipes.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import reprlib
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import phicoll._core as _core
from phicoll.comm.first_cause import first_cause
from phicoll.comm.group_options import GroupOptions
from phicoll.errors import ArgumentError, BrokenGroupError, ResourceError

__all__ = ["Output", "ProcessesRun", "RankProcesses", "unnamed_file"]

PATIENCE_S = 3.0  # how long interrupted ranks may take to end
SEEN_BY_A_PEER = "its process died"  # src/cpp/phicoll/group/watcher.cpp
POLL_S = 0.05  # between two looks at ranks where the system has no descriptor for a process


def unnamed_file(label: str) -> int:
    """A descriptor of a file in memory that nobody else can open."""
    with contextlib.suppress(AttributeError, OSError):
        return os.memfd_create(label)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def write_all(descriptor: int, parts: list[bytes | memoryview]) -> None:
    at = 0
    for part in parts:
        rest = memoryview(part)
        while rest:
            written = os.pwrite(descriptor, rest[: 1 << 30], at)
            at += written
            rest = rest[written:]


def read_pickle(descriptor: int) -> Any:
    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as whole:
        return pickle.loads(whole)


def signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


class Output:
    """Passes a rank's output on by whole lines, with the rank in front."""

    def __init__(self, rank: int, stream: IO[str]) -> None:
        self.prefix = f"[{rank}] "
        self.stream = stream
        self.rest = b""

    def take(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.say(line)
        if lines:
            self.stream.flush()

    def end(self) -> None:
        if self.rest:
            self.say(self.rest)
            self.rest = b""
            self.stream.flush()

    def say(self, line: bytes) -> None:
        self.stream.write(f"{self.prefix}{line.decode(errors='replace')}\n")


class RankProcesses:
    """The processes of one group, from their start to their end.

    ``command(rank)`` is what rank ``rank`` runs, and the descriptors that it inherits beside the group's memory.
    """

    def __init__(
        self,
        options: GroupOptions,
        command: Callable[[int], tuple[list[str], tuple[int, ...]]],
        environment: dict[str, str],
        prepare: Callable[[], None] | None = None,
        finished: Callable[[int], bool] = lambda rank: True,
    ) -> None:
        self.group = options.launched_group()
        self.broken: tuple[int, str] | None = None  # the first cause, once all have ended
        self.ranks = options.ranks
        self.processes: list[subprocess.Popen[bytes]] = []
        self.statuses: dict[int, int] = {}
        self.finished = finished
        self.selector = selectors.DefaultSelector()
        self.outputs: dict[Any, Output] = {}
        self.pidfds: dict[int, int] = {}
        try:
            for rank in range(self.ranks):
                words, inherited = command(rank)
                try:
                    process = subprocess.Popen(
                        words,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        env={
                            **environment,
                            "PHICOLL_GROUP_FD": str(self.group.descriptor),
                            "PHICOLL_RANK": str(rank),
                        },
                        pass_fds=(self.group.descriptor, *inherited),
                        start_new_session=True,  # the terminal's Ctrl-C reaches this process alone
                        preexec_fn=prepare,
                    )
                except OSError as error:
                    raise ResourceError(f"rank {rank} could not be started: {error}") from error
                self.processes.append(process)
                self.group.started(rank, process.pid)
                self.watch(rank, process)
        except BaseException:
            self.kill()
            self.close()
            raise

    def watch(self, rank: int, process: subprocess.Popen[bytes]) -> None:
        for pipe, stream in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self.outputs[pipe] = Output(rank, stream)
            self.selector.register(pipe, selectors.EVENT_READ)
        with contextlib.suppress(AttributeError, OSError):
            self.pidfds[rank] = os.pidfd_open(process.pid)
            self.selector.register(self.pidfds[rank], selectors.EVENT_READ)

    def wait(self, grace_s: float | None = None) -> None:
        """Until all have ended; passes their output on. Ctrl-C ends them, and is raised again.

        ``grace_s``: how long the others may go on when one has failed; without it as long as they like.
        """
        deadline = None
        try:
            while len(self.statuses) < self.ranks:
                self.step()
                if grace_s is None or not any(self.statuses.values()):
                    continue
                if deadline is None:
                    deadline = time.monotonic() + grace_s
                elif time.monotonic() > deadline:
                    self.interrupt(signal.SIGTERM)
        except BaseException:
            self.interrupt(signal.SIGINT)
            raise
        finally:
            self.close()

    def step(self, longest_s: float = 1.0) -> None:
        """Waits for output or an end, and sees to it."""
        lacking = len(self.pidfds) < self.ranks - len(self.statuses)
        for key, _ in self.selector.select(POLL_S if lacking else longest_s):
            if key.fileobj in self.outputs:
                self.forward(key.fileobj)
        for rank, process in enumerate(self.processes):
            if rank in self.statuses or process.poll() is None:
                continue
            self.ended(rank, process)

    def forward(self, pipe: Any) -> bool:
        """Passes on what a pipe has; False when it has nothing (more)."""
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

    def ended(self, rank: int, process: subprocess.Popen[bytes]) -> None:
        status = process.returncode
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
        """How a rank ended, as a reason to break the group; empty for an orderly end."""
        status = self.statuses[rank]
        if status < 0:
            return f"died of {signal_name(-status)}"
        if status > 0:
            return f"ended with exit status {status}"
        return "" if self.finished(rank) else "ended with exit status 0 before its function returned"

    def first_cause(self) -> tuple[int, str] | None:
        """(rank, reason), of a death how it died."""
        broken: tuple[int, str] | None = self.group.broken
        # A peer sees that a process has died; how is known here. What the rank said itself stays.
        if broken is None or broken[1] != SEEN_BY_A_PEER or broken[0] not in self.statuses:
            return broken
        return broken[0], self.ending(broken[0]) or broken[1]

    def interrupt(self, number: int) -> None:
        """Ends all ranks by a signal, those that do not hear within some seconds by force."""
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
                process.wait()
                self.statuses[rank] = process.returncode

    def close(self) -> None:
        """Gives everything back, the group's memory too: a traceback may keep this object."""
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
        with contextlib.ExitStack() as stack:
            task = stack.enter_context(closing(unnamed_file("phicoll-task")))
            answers = [
                stack.enter_context(closing(unnamed_file(f"phicoll-answer-{rank}")))
                for rank in range(self.options.ranks)
            ]
            write_all(task, [self.payload])
            self.payload = b""

            def command(rank: int) -> tuple[list[str], tuple[int, ...]]:
                words = [
                    sys.executable,
                    "-m",
                    "phicoll._rank",
                    str(task),
                    str(answers[rank]),
                    str(os.getpid()),
                ]
                return [*words, self.options.wait], (task, answers[rank])

            processes = RankProcesses(
                self.options, command, rank_environment(), finished=lambda rank: has_answer(answers[rank])
            )
            processes.wait()
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
            error = first_cause(processes.broken, raised)
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
    import cloudpickle

    main = sys.modules.get("__main__")
    found = {
        "sys_path": list(sys.path),
        "argv": list(sys.argv),
        "main": getattr(main, "__file__", None),
    }
    try:
        found["function"] = cloudpickle.dumps(function)
    except Exception as error:
        raise ArgumentError(
            "function", repr(function), f"what cloudpickle can send to a process ({error})"
        ) from error
    try:
        found["args"] = cloudpickle.dumps(args)
    except Exception as error:
        raise ArgumentError(
            "args", reprlib.repr(args), f"what cloudpickle can send to a process ({error})"
        ) from error
    return pickle.dumps(found)


def rank_environment() -> dict[str, str]:
    """What a rank's interpreter starts with; ``_rank`` puts PYTHONPATH back."""
    environment = dict(os.environ)
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = package_folder() + (os.pathsep + path if path else "")
    if path is not None:
        environment["PHICOLL_PYTHONPATH"] = path
    one_blas_thread(environment)
    return environment


# An answer is complete when its last byte is there.
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


def executable(path: str) -> list[str]:
    """The command of a program: a Python script by this interpreter, anything else as it is."""
    if path.endswith(".py") or (Path(path).is_file() and not os.access(path, os.X_OK)):
        return [sys.executable, path]
    return [path]


def end_with_launcher() -> Callable[[], None]:
    """For a program's start: the system ends it with the thread that starts it."""
    parent = os.getpid()

    def prepare() -> None:
        _core.die_with_parent(parent)

    return prepare


def one_blas_thread(environment: dict[str, str]) -> None:
    """One thread for each rank's linear algebra, where the environment sets none."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    if not any(name in environment for name in names):
        environment.update(dict.fromkeys(names, "1"))


def package_folder() -> str:
    """The folder that Python finds this package in."""
    return str(Path(__file__).absolute().parents[2])
