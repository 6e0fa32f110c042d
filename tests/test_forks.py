"""Processes that a rank forks: their calls are refused, and their end is not the rank's."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import phicoll

REFUSED = "forked by rank 1 and is not a rank of its group"

# What a forked process tries; each is refused in words.
CALLS = {
    "Barrier": lambda comm, part: comm.Barrier(),
    "of a part": lambda comm, part: part.Barrier(),
    "Bcast": lambda comm, part: comm.Bcast(np.zeros(1)),
    "allreduce": lambda comm, part: comm.allreduce(1),
    "Split": lambda comm, part: comm.Split(0, 0),
    "Free": lambda comm, part: part.Free(),
    "empty": lambda comm, part: comm.empty(4),
    "select": lambda comm, part: comm.select("barrier", "dissemination"),
}


def in_fork(function):
    """The exit status of a forked process that calls ``function``."""
    pid = os.fork()
    if pid == 0:
        function()
        raise AssertionError("the function came back")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_every_call_of_a_forked_process_is_refused(mode):
    def function(comm):
        part = comm.Dup()
        part.Barrier()
        comm.Barrier()
        let_through = []
        if comm.rank == 1:
            for name, call in CALLS.items():

                def tries(call=call):
                    try:
                        call(comm, part)
                    except phicoll.Error as error:
                        os._exit(0 if REFUSED in str(error) else 1)
                    os._exit(2)

                if in_fork(tries) != 0:
                    let_through.append(name)
        comm.Barrier()
        part.Barrier()
        part.Free()
        return let_through

    assert phicoll.run(function, ranks=2, mode=mode, timeout=20) == [[], []]


ENDS = {
    "sys.exit(0)": (lambda: sys.exit(0), 0),
    "sys.exit(3)": (lambda: sys.exit(3), 3),
    "sys.exit in words": (lambda: sys.exit("it is over"), 1),
    "raises": (lambda: 1 // 0, 1),
}


@pytest.mark.parametrize(("end", "status"), ENDS.values(), ids=ENDS.keys())
def test_a_forked_process_ends_alone_and_the_group_goes_on(mode, end, status):
    def function(comm):
        found = in_fork(end) if comm.rank == 1 else None
        comm.Barrier()
        return found, comm.allreduce(comm.rank)

    assert phicoll.run(function, ranks=2, mode=mode, timeout=20) == [(None, 1), (status, 1)]


def test_a_forked_process_that_returns_does_not_answer_for_its_rank(mode):
    def function(comm):
        comm.Barrier()
        if comm.rank == 1:
            pid = os.fork()
            if pid == 0:
                return "the child's"
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        comm.Barrier()
        return "the rank's"

    assert phicoll.run(function, ranks=2, mode=mode, timeout=20) == ["the rank's"] * 2


@pytest.mark.parametrize("end", ["sys.exit(0)", "raise ValueError"])
def test_a_forked_process_of_a_launched_program_ends_alone(end, tmp_path):
    text = f"""
        import os, sys
        import phicoll
        comm = phicoll.COMM_WORLD
        comm.Barrier()
        if comm.rank == 1:
            pid = os.fork()
            if pid == 0:
                {end}
            os.waitpid(pid, 0)
        print(comm.allreduce(comm.rank))
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, "-m", "phicoll.launch", "-n", "2", "--timeout", "20", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[0] 1", "[1] 1"]


def test_a_group_of_one_may_be_forked():
    code = """
        import os, sys
        import phicoll
        for comm in (phicoll.COMM_WORLD, phicoll.COMM_SELF):
            comm.Barrier()
            pid = os.fork()
            comm.Barrier()
            assert comm.allreduce(7) == 7
            if pid == 0:
                sys.exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), comm.allreduce(1), flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "5 1\n5 1\n", done.stderr
