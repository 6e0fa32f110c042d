"""The server that forks ranks: they start as interpreters of their own would, and it ends with its program."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import phicoll
from conftest import forked
from phicoll.comm import rank_server

CPUS = os.sched_getaffinity(0)


def parent(comm: phicoll.Comm) -> int:
    return os.getppid()


def session_and_group(comm: phicoll.Comm) -> tuple[int, int]:
    return os.getsid(0), os.getpgid(0)


def server_of(ranks: int = 1) -> int:
    [pid] = set(phicoll.run(parent, ranks=ranks))
    return pid


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_server_forks_the_ranks_of_all_runs_and_is_nobodys_child():
    server = server_of(3)
    assert server != os.getpid()
    assert server_of() == server
    with pytest.raises(ChildProcessError):
        os.waitpid(server, os.WNOHANG)


def test_ranks_have_their_own_groups_in_one_session_of_the_server():
    """The kernel shares CPUs out among sessions: a rank in another one would not get what this one yields."""
    sessions, groups = zip(*phicoll.run(session_and_group, ranks=2), strict=True)
    assert len({*sessions, os.getsid(0)}) == 2
    assert len(set(groups)) == 2


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("PHICOLL_RANK_SERVER", "off")
    assert server_of() == os.getpid()
    monkeypatch.setenv("PHICOLL_RANK_SERVER", "maybe")
    with pytest.raises(phicoll.ArgumentError, match="PHICOLL_RANK_SERVER: got 'maybe'; allowed: on, off"):
        server_of()


def test_a_folder_is_the_program_s_at_the_time_of_the_call(tmp_path, monkeypatch):
    server = server_of()
    monkeypatch.chdir(tmp_path)
    assert phicoll.run(lambda comm: (str(Path.cwd()), os.getppid()), ranks=1) == [(str(tmp_path), server)]


def ignore_a_signal() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("change", "back", "shown"),
    [
        (lambda: os.umask(0o27), lambda: os.umask(0o22), lambda: os.umask(0o27)),
        (
            lambda: os.environ.update(PHICOLL_OF_A_TEST="1"),
            lambda: os.environ.pop("PHICOLL_OF_A_TEST"),
            lambda: os.environ.get("PHICOLL_OF_A_TEST"),
        ),
        (
            lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
            lambda: os.sched_setaffinity(0, CPUS),
            lambda: os.sched_getaffinity(0),
        ),
        (
            ignore_a_signal,
            lambda: signal.signal(signal.SIGUSR1, signal.SIG_DFL),
            lambda: signal.getsignal(signal.SIGUSR1),
        ),
    ],
    ids=["umask", "variable", "CPUs", "ignored signal"],
)
def test_what_a_process_takes_over_is_the_program_s_at_the_time_of_the_call(change, back, shown):
    server = server_of()
    change()
    try:
        here = shown()
        [(there, other)] = phicoll.run(lambda comm: (shown(), os.getppid()), ranks=1)
    finally:
        back()
    assert there == here
    assert other != server
    wait_until(lambda: not alive(server))  # one at a time


def test_a_module_that_has_changed_is_read_anew(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))

    def read(comm: phicoll.Comm) -> tuple[int, int]:
        import of_a_test_of_the_server

        return of_a_test_of_the_server.VALUE, os.getppid()

    found = []
    for value in (1, 22):
        (tmp_path / "of_a_test_of_the_server.py").write_text(f"VALUE = {value}\n")
        found += phicoll.run(read, ranks=1)
    assert [value for value, _ in found] == [1, 22]
    assert found[0][1] == found[1][1]


def test_ranks_draw_numbers_of_their_own():
    found = phicoll.run(lambda comm: float(np.random.rand()), ranks=3)  # noqa: NPY002
    assert len(set(found)) == 3


def test_a_rank_ends_as_an_interpreter_does(capfd):
    def function(comm: phicoll.Comm) -> None:
        import atexit

        atexit.register(print, "at exit")
        threading.Thread(target=lambda: (time.sleep(0.1), print("a thread"))).start()

    phicoll.run(function, ranks=1)
    assert capfd.readouterr().out == "[0] a thread\n[0] at exit\n"


def test_a_rank_holds_the_descriptors_of_an_interpreter_of_its_own(monkeypatch):
    def function(comm: phicoll.Comm) -> list[str]:
        found = []
        for number in sorted(os.listdir("/proc/self/fd"), key=int):  # noqa: PTH208
            with contextlib.suppress(OSError):  # the folder's own
                found.append(re.sub(r"\d+\]", "]", os.readlink(f"/proc/self/fd/{number}")))  # noqa: PTH115
        return [name for name in found if "pidfd" not in name]  # of the other rank: opened as it is needed

    forks = phicoll.run(function, ranks=2)
    monkeypatch.setenv("PHICOLL_RANK_SERVER", "off")
    assert forks == phicoll.run(function, ranks=2)


def test_where_a_server_would_have_threads_ranks_are_interpreters(tmp_path, monkeypatch):
    text = "import threading, time\nthreading.Thread(target=time.sleep, args=(3,), daemon=True).start()\n"
    (tmp_path / "sitecustomize.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(rank_server, "_refused", None)
    for _ in range(2):
        assert server_of() == os.getpid()
        assert rank_server._refused is not None
    monkeypatch.delenv("PYTHONPATH")
    assert server_of() != os.getpid()


def test_a_killed_server_ends_its_ranks_and_the_next_run_has_another():
    def function(comm: phicoll.Comm) -> None:
        if comm.rank == 1:
            os.kill(os.getppid(), signal.SIGKILL)
        comm.Barrier()
        time.sleep(60)

    with pytest.raises(phicoll.BrokenGroupError, match="died of signal 9"):
        phicoll.run(function, ranks=2)
    assert server_of() != os.getpid()


def test_a_program_with_many_descriptors_starts_ranks() -> None:
    soft, hard = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip(f"the hard limit on open files is {hard}")
    held = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    try:
        held += [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]  # select() takes those below 1024
        assert phicoll.run(lambda comm: comm.rank, ranks=2) == [0, 1]
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_fork_of_the_program_has_a_server_of_its_own(tmp_path):
    server = server_of()

    def child() -> int:
        (tmp_path / "server").write_text(str(server_of()))
        return 0

    with (tmp_path / "out").open("w") as out:
        assert forked(child, out, out, 60) == 0
    other = int((tmp_path / "server").read_text())
    assert other not in (server, os.getpid())
    wait_until(lambda: not alive(other))
    assert server_of() == server


PROGRAM = """
import os, signal, sys, time
import phicoll
[server] = phicoll.run(lambda comm: os.getppid(), ranks=1)
print(server, flush=True)
if sys.argv[1] == "running":
    phicoll.run(lambda comm: [print(os.getpid(), flush=True), time.sleep(60)], ranks=1)
if sys.argv[1] != "ends":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["ends", "killed", "running"])
def test_no_server_and_no_rank_outlive_the_program(how):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    left = [int(process.stdout.readline())]
    if how == "running":
        left.append(int(process.stdout.readline().split()[-1]))
        process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: not any(map(alive, left)))
