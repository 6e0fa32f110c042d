"""How a run ends if a rank does not: stopped, in a loop of its own, without a thread, or gone while it wrote its answer."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import phicoll
from phicoll.comm import rank_processes, running

LONG_S = 60  # no test waits so long for anything that works


@pytest.fixture
def short_grace(monkeypatch):
    for module in (rank_processes, running):
        monkeypatch.setattr(module, "GRACE_S", 1.0)
    monkeypatch.setattr(rank_processes, "PATIENCE_S", 0.3)


NO_PROCESS = """
import phicoll
point = {"algorithm": "dissemination", "ranks": 2, "progress": False}
for call in (
    lambda: phicoll.run(len, ranks=2),
    lambda: phicoll.run(len, ranks=2, mode="threads"),
    lambda: phicoll.sweep(launches=1, rounds=1, **point),
    lambda: phicoll.sweep(launches=1, rounds=1, mode="processes", **point),
    lambda: phicoll.sweep(machine="xeon-phi-5110p", jobs=3, **point),
):
    try:
        print(call())
    except phicoll.ResourceError as error:
        print("told:", error)
"""


@pytest.mark.parametrize(("most", "told"), [(1, 5), (2, 4)])  # one thread is enough to simulate
def test_a_limit_of_processes_is_told(most, told, tmp_path):
    limited = ["prlimit", f"--nproc={most}"]
    if os.geteuid() == 0:  # root has no limit: another user, who may still read these files
        limited = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_override",
                   "--ambient-caps=+dac_override", *limited]  # fmt: skip
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    if subprocess.run([*limited, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user's processes cannot be limited")
    done = subprocess.run([*limited, sys.executable, "-c", NO_PROCESS], capture_output=True, text=True,
                          timeout=LONG_S, check=False, env=environment, cwd=tmp_path)  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.count("told: ") == told


def wait_until(condition, what):
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


HANGS = {
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "in a loop": "while True: pass",
    "deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
}


@pytest.mark.parametrize("code", HANGS.values(), ids=HANGS.keys())
@pytest.mark.usefixtures("short_grace")
def test_a_rank_process_that_does_not_end_after_a_timeout_is_ended(code, tmp_path):
    def function(comm):
        if comm.rank == 0:
            (tmp_path / "new").write_text(str(os.getpid()))
            (tmp_path / "new").rename(tmp_path / "pid")
            exec(code, {"os": os, "signal": signal, "time": time})
        wait_until((tmp_path / "pid").exists, "rank 0 did not come")
        comm.Barrier()

    with pytest.raises(phicoll.TimeoutError, match="timeout of 200 ms") as caught:
        phicoll.run(function, ranks=2, timeout=0.2)
    assert caught.value.rank == 1
    assert caught.value.__notes__ == [
        "raised on rank 1",
        "rank 0 did not end in time: its process was ended",
    ]
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


def test_an_exception_without_a_text_is_told_by_its_name(mode, tmp_path):
    def function(comm):
        if comm.rank == 0:
            raise KeyboardInterrupt
        try:
            comm.Barrier()
        finally:
            (tmp_path / "told").write_text(str(sys.exc_info()[1]))

    with pytest.raises(KeyboardInterrupt):
        phicoll.run(function, ranks=2, mode=mode)
    assert (tmp_path / "told").read_text() == "group broken by rank 0: raised KeyboardInterrupt"


def test_ctrl_c_in_a_wait_is_told_by_its_name(tmp_path):
    def function(comm):
        if comm.rank == 2:  # does not wait: else the other two would be found to wait in a circle
            while comm._core.broken is None:
                time.sleep(0.01)
            return
        if comm.rank == 0:
            threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
            comm.Barrier()
        try:
            comm.recv(source=0)
        finally:
            (tmp_path / "told").write_text(str(sys.exc_info()[1]))

    with pytest.raises(KeyboardInterrupt):
        phicoll.run(function, ranks=3)
    assert (tmp_path / "told").read_text() == "group broken by rank 0: raised KeyboardInterrupt"


def hangs_until(release, begins=lambda: None):
    def function(comm):
        if comm.rank == 0:
            begins()
            release.wait(LONG_S)
        comm.Barrier()

    return function


@pytest.mark.usefixtures("short_grace")
def test_a_rank_thread_that_does_not_end_after_a_timeout_is_named():
    release = threading.Event()
    with pytest.raises(phicoll.TimeoutError, match="timeout of 200 ms") as caught:
        phicoll.run(hangs_until(release), ranks=2, mode="threads", timeout=0.2)
    assert not release.is_set()
    assert caught.value.__notes__ == [
        "raised on rank 1",
        "rank 0 did not end in time: its thread goes on",
    ]
    end_group(release)


def end_group(release):
    release.set()
    wait_until(
        lambda: not any(thread.name == "phicoll-group" for thread in threading.enumerate()),
        "the group's threads are left",
    )


def test_ctrl_c_does_not_wait_for_a_rank_thread_that_sleeps():
    release = threading.Event()
    ctrl_c = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        phicoll.run(hangs_until(release, ctrl_c.start), ranks=2, mode="threads")
    assert time.monotonic() - began < LONG_S / 2
    assert caught.value.__notes__ == ["rank 0 did not end in time: its thread goes on"]
    end_group(release)


@pytest.mark.usefixtures("short_grace")
def test_a_rank_thread_that_computes_in_python_after_a_timeout_is_interrupted(monkeypatch):
    monkeypatch.setattr(running.ThreadedRun, "PATIENCE_S", LONG_S)
    computes = threading.Event()
    ended = []

    def function(comm):
        if comm.rank == 0:
            try:
                computes.set()
                while True:
                    pass
            finally:
                ended.append(comm.rank)
        computes.wait(LONG_S)
        comm.Barrier()

    with pytest.raises(phicoll.TimeoutError) as caught:
        phicoll.run(function, ranks=2, mode="threads", timeout=0.2)
    assert ended == [0]
    assert caught.value.__notes__ == ["raised on rank 1"]


@pytest.mark.usefixtures("short_grace")
def test_computing_has_no_limit_while_the_group_is_whole(mode):
    def function(comm):
        time.sleep(1.2)
        return comm.rank

    assert phicoll.run(function, ranks=2, mode=mode, timeout=0.1) == [0, 1]


@pytest.mark.parametrize("call", ["Barrier", "recv"])
@pytest.mark.parametrize("which", ["world", "part"])
def test_a_rank_that_returns_while_its_thread_is_in_a_call_breaks_the_group(mode, which, call):
    def function(comm):
        used = comm.Dup() if which == "part" else comm
        end = time.monotonic() + LONG_S / 3

        def stay():  # in a call, unless the other thread's probe is in its way
            while time.monotonic() < end:
                try:
                    getattr(used, call)()
                except phicoll.BrokenGroupError:
                    return
                except phicoll.Error:
                    continue

        if comm.rank == 0:
            threading.Thread(target=stay, daemon=True).start()
            with contextlib.suppress(phicoll.Error):  # the thread is in its call
                while time.monotonic() < end:
                    used.Iprobe()
            return
        with contextlib.suppress(phicoll.BrokenGroupError):
            while time.monotonic() < end:
                comm.Iprobe()
                time.sleep(0.01)

    with pytest.raises(phicoll.BrokenGroupError, match="left while another of its threads") as raised:
        phicoll.run(function, ranks=2, mode=mode)
    assert raised.value.rank == 0


@pytest.mark.usefixtures("short_grace")
def test_without_a_timeout_ranks_of_a_broken_group_may_go_on(mode, tmp_path):
    def function(comm):
        if comm.rank == 1:
            raise ValueError("out of luck")
        time.sleep(1.2)
        (tmp_path / "done").write_text("yes")

    with pytest.raises(ValueError, match="out of luck"):
        phicoll.run(function, ranks=2, mode=mode)
    assert (tmp_path / "done").exists()


DEAF = """
    import os, signal, sys, time
    from pathlib import Path
    import phicoll
    from phicoll.comm import rank_processes

    rank_processes.PATIENCE_S = 0.3

    def function(comm):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("deaf", flush=True)
        while True:
            time.sleep(1)

    try:
        phicoll.run(function, ranks=2)
    except KeyboardInterrupt:
        tasks = Path("/proc/self/task").glob("*/children")
        print("left:", [pid for task in tasks for pid in task.read_text().split()], flush=True)
"""


def test_interrupted_ranks_that_do_not_listen_are_ended_by_force(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(DEAF))
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(2):
        assert "deaf" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG_S)
    assert out == "left: []\n", err


def test_half_an_answer_is_none():
    def function(comm):
        written = os.pwrite

        def dies_half_way(descriptor, data, at):
            written(descriptor, bytes(data)[: len(data) // 2], at)
            os._exit(0)

        os.pwrite = dies_half_way
        return list(range(1000))

    with pytest.raises(
        phicoll.BrokenGroupError, match="ended with exit status 0 before its function returned"
    ):
        phicoll.run(function, ranks=1)


# What cannot be started


def test_no_thread_for_the_group_is_an_error_of_ours(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(phicoll.ResourceError, match="could not be started: can't start new thread"):
        phicoll.run(print, ranks=2, mode="threads")


def test_no_process_for_a_rank_is_an_error_of_ours(monkeypatch):
    def refuse(*words, **options):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setenv("PHICOLL_RANK_SERVER", "off")  # one may be there
    with pytest.raises(phicoll.ResourceError, match=r"rank 0 could not be started: .*temporarily"):
        phicoll.run(print, ranks=2)


def test_a_rank_that_cannot_join_raises_why_and_prints_nothing(monkeypatch, tmp_path, capfd):
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['PHICOLL_RANK'] = '7'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PHICOLL_RANK_SERVER", "off")  # whose interpreter would read the file before
    with pytest.raises(phicoll.ArgumentError, match=r"rank: got 7; allowed: 0\.\.1"):
        phicoll.run(print, ranks=2)
    assert capfd.readouterr().err == ""


def overwrite(comm, seed):
    """Rank 1 writes over the group's memory and ends; the others wait for it."""
    comm.Barrier()
    if comm.rank == 1:
        maps = Path("/proc/self/maps").read_text().splitlines()
        start = int(next(line for line in maps if "phicoll-group" in line).split("-")[0], 16)
        if seed is None:
            ctypes.memset(start, 0, 40_000)
            os._exit(0)
        draw = random.Random(seed)
        for _ in range(3000):
            ctypes.c_uint64.from_address(start + draw.randrange(1 << 13) * 8).value = draw.getrandbits(64)
        os._exit(3)
    comm.Barrier()
    comm.Barrier()


OVERWRITTEN = """
import sys
sys.path[:0] = [{folder!r}]
import phicoll
from phicoll.comm import rank_processes
from {module} import overwrite
rank_processes.GRACE_S = 0.3
for seed in (None, *range(5)):
    try:
        phicoll.run(overwrite, ranks=2, args=(seed,))
    except phicoll.BrokenGroupError as error:
        assert -1 <= error.rank < 3 and len(str(error)) > 30
        print("told:", error)
"""


def test_a_rank_that_overwrites_the_groups_memory_does_not_end_the_launcher():
    here = Path(__file__)
    code = OVERWRITTEN.format(folder=str(here.parent), module=here.stem)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("told: ") == 6
