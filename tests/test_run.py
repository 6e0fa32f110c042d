"""phicoll.run and python -m phicoll.launch: what ranks return, raise and print, and what becomes of a group that breaks."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import phicoll
from conftest import expect_within
from phicoll.comm import rank_server

LONG_S = 60  # no test waits so long for anything that works


def descriptors() -> set[str]:
    """All but the server's, which stays."""
    server = rank_server._server
    return {
        f"{number}: {target}"
        for number in sorted(path.name for path in Path("/proc/self/fd").iterdir())
        if (target := read_link(f"/proc/self/fd/{number}")) is not None
        and (server is None or int(number) != server.socket.fileno())
    }


def read_link(path: str) -> str | None:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return None


def children_of(pid: int) -> list[int]:
    found = []
    for folder in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            found += [int(child) for child in (folder / "children").read_text().split()]
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + LONG_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    before = (descriptors(), children_of(os.getpid()))
    yield
    # A thread of the group may still be on its way out.
    wait_until(
        lambda: not [t for t in threading.enumerate() if t.name.startswith("phicoll")], "a thread is left"
    )
    assert (descriptors(), children_of(os.getpid())) == before


# What comes back


def test_returns_what_each_rank_returned(mode, monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    caller = (os.getpid(), threading.get_ident())

    def function(comm, array, offset):
        comm.Barrier()
        return {
            "rank": comm.rank,
            "size": comm.Get_size(),
            "sum": float(array.sum()) + offset,
            "place": (os.getpid(), threading.get_ident()),
            "world": phicoll.world() is comm and phicoll.COMM_WORLD is comm,
            "alone": (phicoll.COMM_SELF.rank, phicoll.COMM_SELF.size),
            "heavy": sorted({"pandas", "scipy", "matplotlib", "pyarrow"} & set(sys.modules)),
            "threads": os.environ.get("OPENBLAS_NUM_THREADS"),
            "path": os.environ.get("PYTHONPATH"),
            "argv": sys.argv,
            "started": "PHICOLL_GROUP_FD" in os.environ,
        }

    found = phicoll.run(function, ranks=3, mode=mode, args=(np.arange(10.0), 5))
    assert [one["rank"] for one in found] == [0, 1, 2]
    assert len({one["place"] for one in found}) == 3
    for one in found:
        assert one["size"] == 3
        assert one["sum"] == 50.0
        assert one["world"]
        assert one["alone"] == (0, 1)
        assert one["path"] == os.environ.get("PYTHONPATH")
        assert one["argv"] == sys.argv
        assert not one["started"]  # a program that a rank starts is not a rank
        if mode == "processes":
            assert one["place"][0] != caller[0]
            assert one["heavy"] == []
            assert one["threads"] == "1"
        else:
            assert one["place"][0] == caller[0]
            assert one["place"][1] != caller[1]


def test_the_environment_s_number_of_threads_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    found = phicoll.run(lambda comm: [os.environ.get(name) for name in names], ranks=1)
    assert found == [["3", None]]


def test_large_results_come_back_and_ranks_may_outnumber_cores():
    ranks = len(os.sched_getaffinity(0)) + 3

    def function(comm):
        for _ in range(20):
            comm.Barrier()
        return np.full(1 << 20, comm.rank, np.uint8)

    found = phicoll.run(function, ranks=ranks)
    assert [int(array[-1]) for array in found] == list(range(ranks))
    assert all(array.size == 1 << 20 for array in found)


def test_output_is_passed_on_by_line_with_the_rank(capsys):
    def function(comm):
        print(f"first of {comm.rank}\nsecond of {comm.rank}")
        print("to stderr", file=sys.stderr)
        os.write(1, b"no end of line")

    phicoll.run(function, ranks=2)
    told = capsys.readouterr()
    for rank in range(2):
        mine = [line for line in told.out.splitlines() if line.startswith(f"[{rank}] ")]
        assert mine == [f"[{rank}] first of {rank}", f"[{rank}] second of {rank}", f"[{rank}] no end of line"]
    assert sorted(told.err.splitlines()) == ["[0] to stderr", "[1] to stderr"]


def test_placement_pins_and_is_left_alone_otherwise():
    allowed = sorted(os.sched_getaffinity(0))

    def function(comm):
        return sorted(os.sched_getaffinity(0))

    assert phicoll.run(function, ranks=2) == [allowed, allowed]
    assert phicoll.run(function, ranks=2, placement=str(allowed[-1])) == [[allowed[-1]]] * 2


# What goes wrong


def fails(function, mode, ranks=3, **options):
    """The exception of run, and when the other ranks learned of it: {rank: (seconds, rank named as the cause)}."""

    def watched(comm, folder):
        comm.Barrier()
        (Path(folder) / f"passed-{comm.rank}").touch()
        while len(list(Path(folder).glob("passed-*"))) < comm.size:  # nobody is in the barrier any more
            time.sleep(0.001)
        try:
            return function(comm)
        except phicoll.BrokenGroupError as error:
            text = f"{time.monotonic()} {error.rank}"
            (Path(folder) / str(comm.rank)).write_text(text)
            raise

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        with pytest.raises(Exception) as caught:  # noqa: PT011
            phicoll.run(watched, ranks=ranks, mode=mode, args=(folder,), **options)
        told = {int(p.name): p.read_text().split() for p in Path(folder).iterdir() if p.name.isdigit()}
        when = Path(folder) / "when"
        begin = float(when.read_text()) if when.exists() else None
    return caught.value, {rank: (float(at), int(cause)) for rank, (at, cause) in told.items()}, begin


def test_a_rank_s_exception_is_raised_with_its_rank(mode):
    def function(comm):
        if comm.rank == 1:
            raise ValueError("out of luck")
        comm.Barrier()

    error, told, _ = fails(function, mode)
    assert type(error) is ValueError
    assert error.args == ("out of luck",)
    assert error.rank == 1
    assert "rank 1" in str(error.__cause__)
    assert 'raise ValueError("out of luck")' in str(error.__cause__)
    assert {rank: cause for rank, (_, cause) in told.items()} == {0: 1, 2: 1}


def test_an_exception_that_cannot_travel_is_told_in_words():
    def function(comm):
        class Mine(Exception):  # noqa: N818
            def __reduce__(self):
                raise TypeError("stays here")

        raise Mine("what it says")

    with pytest.raises(phicoll.Error, match="Mine: what it says") as caught:
        phicoll.run(function, ranks=1)
    assert caught.value.rank == 0


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os._exit(3)", "exit status 3"),
        ("sys.exit(4)", "exited with 4"),
    ],
    ids=["killed", "exits", "sys.exit"],
)
def test_a_rank_that_dies_or_exits_breaks_the_group_within_a_second(end, reason, tmp_path):
    when = str(tmp_path / "when")

    def function(comm):
        if comm.rank == 1:
            Path(when).write_text(str(time.monotonic()))
            exec(end, {"os": os, "sys": sys, "signal": signal})
        comm.Barrier()

    def took():
        error, told, _ = fails(function, "processes")
        assert isinstance(error, phicoll.BrokenGroupError)
        assert error.rank == 1
        assert reason in str(error)
        assert {rank: cause for rank, (_, cause) in told.items()} == {0: 1, 2: 1}
        return max(seconds for seconds, _ in told.values()) - float(Path(when).read_text())

    expect_within(1, took)


def test_a_rank_that_returns_while_others_wait_breaks_the_group(mode):
    def function(comm):
        if comm.rank != 2:
            comm.Barrier()

    error, told, _ = fails(function, mode)
    assert isinstance(error, phicoll.BrokenGroupError)
    assert error.rank == 2
    assert "left" in str(error)
    assert {rank: cause for rank, (_, cause) in told.items()} == {0: 2, 1: 2}


def test_a_wait_beyond_the_timeout_raises(mode):
    def function(comm):
        if comm.rank == 1:
            comm.Barrier()
        while comm._core.broken is None:  # without a call: rank 1 waits for one
            time.sleep(0.01)

    with pytest.raises(phicoll.TimeoutError, match="timeout of 200 ms") as caught:
        phicoll.run(function, ranks=2, mode=mode, timeout=0.2)
    assert caught.value.rank == 1


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"ranks": 0}, "ranks: got 0; allowed: a whole number from 1 to 1024"),
        ({"ranks": 2.5}, "ranks: got 2.5"),
        ({"ranks": 2000}, "ranks: got 2000"),
        ({"mode": "fibers"}, "mode: got 'fibers'; allowed: processes, threads"),
        ({"args": 5}, "args: got 5"),
        ({"placement": "nowhere"}, "placement: got 'nowhere'"),
        ({"timeout": -1}, "timeout: got -1"),
        ({"wait": "sleepily"}, "wait: got 'sleepily'"),
        ({"memory_limit": 0}, "memory_limit: got 0"),
        ({"args": (threading.Lock(),)}, "args: got"),
        ({"function": 7}, "function: got 7"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_refused_before_anything_starts(given, names):
    function = given.pop("function", print)
    with pytest.raises(phicoll.ArgumentError, match=re.escape(names)):
        phicoll.run(function, **given)


def test_an_error_names_the_function_that_cannot_be_sent():
    lock = threading.Lock()
    with pytest.raises(phicoll.ArgumentError, match="function: got "):
        phicoll.run(functools.partial(print, lock), ranks=1)


# Programs


def started(words, text=None, tmp_path=None, **options):
    if text is not None:
        (tmp_path / "program.py").write_text(textwrap.dedent(text))
        words = [*words, str(tmp_path / "program.py")]
    return subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


INTERRUPTED = """
    import os, sys, time
    import phicoll

    def function(comm):
        sys.stdout.write(f"pid {os.getpid()}" + chr(10))  # at once: threads share it
        sys.stdout.flush()
        comm.Barrier()
        if comm.rank == 0 and sys.argv[2] == "computing":
            while True:
                time.sleep(0.01)
        comm.Barrier() if comm.rank else time.sleep(1000) if sys.argv[1] == "processes" else None
        while True:
            comm.Barrier()

    try:
        phicoll.run(function, ranks=3, mode=sys.argv[1])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("what", ["computing", "waiting"])
def test_ctrl_c_ends_all_ranks(mode, what, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(INTERRUPTED))
    process = started([str(tmp_path / "program.py"), mode, what])
    pids = [int(process.stdout.readline().split()[-1]) for _ in range(3)]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LONG_S)
    assert "interrupted" in out, err
    assert process.returncode == 0
    if mode == "processes":
        wait_until(lambda: not any(alive(pid) for pid in pids), "a rank is left")


def test_ranks_end_with_a_killed_launcher(tmp_path):
    text = """
        import os, time
        import phicoll
        print("pid", os.getpid(), flush=True)
        phicoll.COMM_WORLD.Barrier()
        time.sleep(1000)
    """
    process = started(["-m", "phicoll.launch", "-n", "2"], text, tmp_path)
    pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
    process.kill()
    process.communicate()
    wait_until(lambda: not any(alive(pid) for pid in pids), "a rank is left")


def test_launch_gives_a_program_its_world(mode, tmp_path):
    text = """
        import sys
        import phicoll
        comm = phicoll.COMM_WORLD
        assert comm is phicoll.world() is phicoll.COMM_WORLD
        comm.Barrier()
        phicoll.COMM_SELF.Barrier()
        words = f"rank {comm.rank} of {comm.size} alone {phicoll.COMM_SELF.size} {sys.argv[1:]}"
        sys.stdout.write(words + chr(10))  # at once: threads share it
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(text))
    words = ["-m", "phicoll.launch", "-n", "3", "--mode", mode, str(tmp_path / "program.py"), "-n", "x"]
    process = started(words)
    out, err = process.communicate(timeout=LONG_S)
    assert process.returncode == 0, err
    found = sorted(re.sub(r"^\[\d\] ", "", line) for line in out.splitlines())
    assert found == [f"rank {rank} of 3 alone 1 ['-n', 'x']" for rank in range(3)]


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        ("raise ValueError('out of luck')", 1, "group broken by rank 1: raised ValueError: out of luck"),
        ("os.kill(os.getpid(), 9)", 137, "group broken by rank 1: died of signal 9 (SIGKILL)"),
        ("sys.exit(5)", 5, "group broken by rank 1: "),
    ],
    ids=["raises", "killed", "exits"],
)
def test_launch_tells_how_a_program_failed(end, status, words, tmp_path):
    text = f"""
        import os, sys, time
        from pathlib import Path
        import phicoll
        comm = phicoll.world()
        comm.Barrier()
        folder = Path(sys.argv[0]).parent
        (folder / f"passed-{{comm.rank}}").touch()
        while len(list(folder.glob("passed-*"))) < comm.size:  # nobody is in the barrier any more
            time.sleep(0.001)
        if comm.rank == 1:
            {end}
        try:
            comm.Barrier()
        except phicoll.BrokenGroupError as error:
            print("told", error.rank)
    """
    process = started(["-m", "phicoll.launch", "-n", "3"], text, tmp_path)
    out, err = process.communicate(timeout=LONG_S)
    assert sorted(out.splitlines()) == ["[0] told 1", "[2] told 1"], err
    assert process.returncode == status
    assert words in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["x.py"], "ranks: got none"),
        (["-n", "0", "x.py"], "ranks: got 0; allowed: a whole number from 1 to 1024"),
        (["-n", "2"], "program: got none"),
        (["-n", "2", "--mode", "fibers", "x.py"], "mode: got 'fibers'"),
        (["-n", "2", "--mode", "threads", "no-such.py"], "program: got 'no-such.py'"),
        (["-n", "2", "--placement", "nowhere", "x.py"], "placement: got 'nowhere'"),
    ],
    ids=lambda value: "" if isinstance(value, list) else value.split(":")[0],
)
def test_launch_refuses_bad_input(words, told, capsys):
    from phicoll.launch import main

    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_a_program_on_its_own_is_a_world_of_one():
    code = "import phicoll; w = phicoll.world(); w.Barrier(); print(w.rank, w.size, w is phicoll.COMM_WORLD)"
    process = started(["-c", code])
    out, err = process.communicate(timeout=LONG_S)
    assert (out, err) == ("0 1 True\n", "")


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD", "PMI"])
def test_ranks_of_an_mpi_are_told_that_each_is_a_world(name):
    code = "from phicoll import MPI; MPI.COMM_WORLD.Barrier(); print(MPI.COMM_WORLD.Get_size())"
    told = []
    for rank in "01":
        process = started(["-c", code], env={**os.environ, f"{name}_SIZE": "2", f"{name}_RANK": rank})
        out, err = process.communicate(timeout=LONG_S)
        assert out == "1\n", err
        told.append(err)
    assert told[0].startswith(
        "phicoll: an MPI's launcher started 2 ranks, and here each is a world of its own;"
    )
    assert told[1] == ""
