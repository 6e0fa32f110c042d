"""A server that forks the ranks of :func:`phicoll.run`: an interpreter that has imported NumPy and phicoll already.

The program asks for a rank through a socket, and sends the descriptors that the rank inherits. What a process takes
over from the one that starts it is the program's at the time of the call: a request carries the working directory, and
any other difference, such as a variable or a limit, takes another server (:func:`surroundings`).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from phicoll.errors import ArgumentError
from phicoll.foundations.descriptors import give_limit_back_in, limit_outside

__all__ = ["ForkedRank", "forks_for", "serve"]

SWITCH = "PHICOLL_RANK_SERVER"
#: Told to each rank anew, as pytest changes it with every test. No library reads it.
TOLD = "PYTEST_CURRENT_TEST"
#: The server's program; the second process is the server. A fork takes no other thread along.
START = (
    "import os, sys; len(os.listdir('/proc/self/task')) == 1 or os._exit(1); os.fork() and os._exit(0);"
    " sys.path[:1] = filter(None, sys.path[:1]);"
    " from phicoll.comm.rank_server import serve; serve(int(sys.argv[1]), int(sys.argv[2]));"
    " from phicoll._rank import main; main()"
)
NUMBER = struct.Struct("=i")
MOST = 1 << 20  # bytes of a request
#: Lines of /proc/*/status about what a process takes over from its parent.
TAKEN_OVER = (
    "Umask",
    "Uid",
    "Gid",
    "Groups",
    "Sig",
    "Cap",
    "NoNew",
    "Secc",
    "Cpus_allowed",
    "Mems_allowed",
    "THP",
)
FILES = ("cgroup", "personality", "oom_score_adj", "coredump_filter")

_lock = threading.Lock()
_server: RankServer | None = None  # the program's; with other surroundings it is replaced
_refused: object = None  # surroundings in which a server could not be had


def forget() -> None:
    """Let go of the program's server: at its end, and in a fork, whose ranks would be another's."""
    global _lock, _server
    _lock = threading.Lock()
    if _server is not None:
        _server.close()
        _server = None


os.register_at_fork(after_in_child=forget)
atexit.register(forget)


def surroundings(environment: dict[str, str]) -> object:
    """All that a process takes over from the calling thread, but for what a request carries; to be compared."""
    own = Path("/proc/thread-self")
    status = [line for line in (own / "status").read_text().splitlines() if line.startswith(TAKEN_OVER)]
    status = [line for line in status if not line.startswith(("SigPnd", "SigQ", "SigCgt"))]
    texts = [(own / name).read_text() for name in FILES if (own / name).exists()]
    links = [os.readlink(link) for link in [own / "root", *sorted((own / "ns").iterdir())]]  # noqa: PTH115
    limits = {
        name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if "RLIMIT_" in name
    }
    limits["RLIMIT_NOFILE"] = limits["RLIMIT_OFILE"] = limit_outside()
    scheduling = (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), os.sched_getparam(0))
    variables = {name: value for name, value in environment.items() if name != TOLD}
    return (sys.executable, tuple(sys.path), variables, status, texts, links, limits, scheduling)


def forks_for(environment: dict[str, str]) -> Callable[..., ForkedRank | None]:
    """What starts ranks by a server, and returns None where each has to be an interpreter of its own.

    Raises
    ------
    ArgumentError
        PHICOLL_RANK_SERVER is neither on nor off.
    """
    wanted = os.environ.get(SWITCH) or "on"
    if wanted not in ("on", "off"):
        raise ArgumentError(SWITCH, repr(wanted), "on, off")
    if wanted == "off" or not hasattr(os, "pidfd_open"):
        return lambda *_: None
    try:
        around = surroundings(environment)
    except (OSError, ValueError):  # without /proc
        return lambda *_: None

    def start(words: Sequence[str], told: dict[str, str], inherited: Sequence[int]) -> ForkedRank | None:
        global _server, _refused
        with _lock:
            while _refused is None or _refused != around:
                if _server is not None and _server.around != around:
                    _server.close()
                    _server = None
                try:
                    _server = _server or RankServer(around, environment)
                    return ForkedRank(_server, words, told, inherited)
                except ServerEnded:  # it was killed; one that ended at once would do so again
                    if _server is None or not _server.used:
                        _refused = around
                    if _server is not None:
                        _server.close()
                    _server = None
            return None

    return start


class ServerEnded(Exception):  # noqa: N818
    """The server is gone, or none could be started."""


class RankServer:
    """The program's side of a server."""

    # Who ends with whom:
    # 1. The server is nobody's child, so a program's os.wait() does not find it. It watches the program's process, and
    #    ends with it.
    # 2. Ranks are the server's children, and the system ends them with it (_rank).

    def __init__(self, around: object, environment: dict[str, str]) -> None:
        import subprocess

        self.around = around
        self.used = False
        own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket = own
        program = -1
        try:
            program = os.pidfd_open(os.getpid())
            first = subprocess.Popen(
                [sys.executable, "-c", START, str(its.fileno()), str(program)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in environment.items() if name != TOLD},
                pass_fds=(its.fileno(), program),
                start_new_session=True,  # Ctrl-C in the terminal reaches the program only
            )
            give_limit_back_in(first.pid)
            if first.wait():
                raise ServerEnded
            own.send(pickle.dumps((list(sys.path), limit_outside())))
        except BaseException as error:
            own.close()
            if isinstance(error, OSError):
                raise ServerEnded from error
            raise
        finally:
            its.close()
            if program >= 0:
                os.close(program)

    def ask(self, request: bytes, descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self.socket, [request], list(descriptors))
        except OSError as error:
            raise ServerEnded from error

    def close(self) -> None:
        self.socket.close()


class ForkedRank:
    """A rank that a server forked, as :class:`subprocess.Popen` shows a process: ``words`` are its ``sys.argv``."""

    def __init__(
        self, server: RankServer, words: Sequence[str], told: dict[str, str], inherited: Sequence[int]
    ) -> None:
        self.returncode: int | None = None
        self.stdout: IO[bytes] | None = None
        self.stderr: IO[bytes] | None = None
        with contextlib.ExitStack() as sent:  # the server has descriptors of its own
            try:
                out, out_end = os.pipe()
                self.stdout = os.fdopen(out, "rb")
                sent.callback(os.close, out_end)
                err, err_end = os.pipe()
                self.stderr = os.fdopen(err, "rb")
                sent.callback(os.close, err_end)
                self.status, status_end = socket.socketpair()
                sent.callback(status_end.close)
            except BaseException:
                self.close()
                raise
            try:
                folder = os.open(".", os.O_PATH | os.O_DIRECTORY)
                sent.callback(os.close, folder)
                request = pickle.dumps((list(words), told, os.environ.get(TOLD), list(inherited)))
                server.ask(request, [folder, status_end.fileno(), out_end, err_end, *inherited])
                sent.close()
                self.pid = self.told()
                server.used = True
                if self.pid < 0:
                    raise OSError(-self.pid, os.strerror(-self.pid))
            except BaseException:
                self.close()
                self.status.close()
                raise

    def close(self) -> None:
        for pipe in (self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()

    def told(self) -> int:
        """The next number that the server tells."""
        data = self.status.recv(NUMBER.size)
        if len(data) < NUMBER.size:
            raise ServerEnded
        number: int = NUMBER.unpack(data)[0]
        return number

    def watched(self) -> int:
        """A descriptor that is readable once the rank has ended."""
        return os.dup(self.status.fileno())

    def poll(self) -> int | None:
        if self.returncode is None:
            one = select.poll()  # select() takes no descriptor from 1024 on
            one.register(self.status, select.POLLIN)
            if one.poll(0):
                self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            try:
                self.returncode = self.told()
            except ServerEnded:  # its ranks end with it
                self.returncode = -signal.SIGKILL
                with contextlib.suppress(OSError):
                    os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.status.shutdown(socket.SHUT_WR)
                self.status.recv(1)  # nothing, once it has been reaped
            self.status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def serve(control: int, program: int) -> None:
    """Fork ranks until the program ends. Returns in each rank, as its interpreter would begin."""
    asked = socket.socket(fileno=control)
    path, limit = pickle.loads(asked.recv(MOST))
    sys.path[:] = path
    for name in ("numpy", "cloudpickle", "phicoll.comm.worlds", "phicoll._rank"):
        importlib.import_module(name)
    # BLAS with more than one thread starts them at once.
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
        os._exit(1)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    gc.collect()
    gc.freeze()  # a collection in a rank would write to it all, and copy it
    forking(asked, program, limit)


def forking(asked: socket.socket, program: int, limit: tuple[int, int]) -> None:
    # 1. A rank has a socket, by which the server tells its process number, and how it ended. The server reaps it once
    #    the program sends no more there: until then the number is the rank's, and a signal meets no other process.
    # 2. Then the server closes the socket, which the program waits for: no rank is left when a run returns.
    # 3. A rank that runs on when its socket is closed is killed: the program was interrupted before it knew of it.
    server, control = os.getpid(), asked.fileno()
    running: dict[
        int, tuple[int, int]
    ] = {}  # a rank by the descriptor of its process: its number, its socket
    watched: dict[int, int] = {}  # a rank by its socket: its number
    poll = select.poll()
    for descriptor in (control, program):
        poll.register(descriptor, select.POLLIN)
    asking = True
    while asking or running or watched:
        for descriptor, _ in poll.poll():
            if descriptor == program:
                os._exit(0)
            elif descriptor == control:
                request, received, _, _ = socket.recv_fds(asked, MOST, 16)
                if not request:  # the program takes another server
                    poll.unregister(control)
                    asking = False
                    continue
                try:
                    pid = os.fork()
                except OSError as error:
                    pid = -(error.errno or 1)
                if pid == 0:
                    asked.detach()
                    become_rank(pickle.loads(request), received, server, limit)
                    return
                folder, status, *given = received
                tell(status, pid)
                for own in (folder, *given):
                    os.close(own)
                if pid < 0:
                    os.close(status)
                    continue
                process = os.pidfd_open(pid)
                running[process], watched[status] = (pid, status), pid
                poll.register(process, select.POLLIN)
                poll.register(status, select.POLLIN)  # once the program sends no more
            elif descriptor in running:
                pid, status = running.pop(descriptor)
                poll.unregister(descriptor)
                os.close(descriptor)
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
                assert ended is not None
                tell(status, ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
                if status not in watched:
                    os.waitpid(pid, 0)
                    os.close(status)
            elif descriptor in watched:
                pid = watched.pop(descriptor)
                poll.unregister(descriptor)
                if any(status == descriptor for _, status in running.values()):
                    os.kill(pid, signal.SIGKILL)  # the program has given it up
                else:
                    os.waitpid(pid, 0)
                    os.close(descriptor)
    os._exit(0)


def tell(status: int, number: int) -> None:
    with contextlib.suppress(OSError):  # the program has closed its end
        os.write(status, NUMBER.pack(number))


def become_rank(request: Any, received: list[int], server: int, limit: tuple[int, int]) -> None:
    """Make this fork of the server what an interpreter is that has been started for a rank."""
    words, told, test, inherited = request
    folder, _, *given = received
    # A group of its own, for signals, in the server's session: the kernel shares CPUs out among sessions
    # (autogroups), so a rank that yields would give its CPU to a busy one, and not to a rank in another.
    os.setpgid(0, 0)
    os.fchdir(folder)
    # The descriptors get their numbers once none of these numbers is taken: first they are moved beyond them.
    numbers = [1, 2, *inherited]
    beyond = max(*received, *numbers) + 1
    for at, descriptor in enumerate(given):
        os.dup2(descriptor, beyond + at)
    os.closerange(3, beyond)
    for at, number in enumerate(numbers):
        os.dup2(beyond + at, number)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208
        if descriptor >= beyond:
            with contextlib.suppress(OSError):  # the folder's own
                os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    os.environ.update(told)
    if test is not None:
        os.environ[TOLD] = test
    sys.argv[1:] = [*words[:2], str(server), *words[3:]]
    importlib.invalidate_caches()  # files may have come since the server looked
    random = sys.modules.get("numpy.random")
    if random is not None:
        random.seed()  # else all ranks would draw the same
