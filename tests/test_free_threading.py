"""Calls of many threads at once in an interpreter without a lock. Skipped in any other."""

import sys
import threading

import numpy as np
import pytest

import phicoll

pytestmark = pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)(), reason="needs a free-threaded interpreter"
)


def together(functions):
    """Call all functions at the same time; return what they raised."""
    start, raised = threading.Barrier(len(functions)), []

    def run(function):
        start.wait()
        try:
            function()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_importing_leaves_the_lock_off():
    assert not sys._is_gil_enabled()


def test_rank_threads_make_all_calls_at_once():
    def work(comm):
        rank, size = comm.rank, comm.size
        right, left = (rank + 1) % size, (rank - 1) % size
        for step in range(300):
            # New dtypes and operators, so that tables of what was looked up change while they are read.
            dtype = (
                np.dtype([("value", "i8"), (f"pad{step % 40}", "i4")]) if step % 3 == 0 else np.dtype("f8")
            )
            sent = np.zeros(4, dtype)
            got = np.empty_like(sent)
            comm.Sendrecv(sent, right, 0, got, left, 0)
            total = np.empty(3)
            comm.Allreduce(
                np.full(3, float(rank + step)), total, [phicoll.SUM, phicoll.MAX, phicoll.MIN][step % 3]
            )
            assert total[0] == [size * (size - 1) / 2 + size * step, size - 1 + step, step][step % 3]
            assert comm.allgather({"rank": rank, "step": step}) == [
                {"rank": r, "step": step} for r in range(size)
            ]
            assert comm.bcast(f"step {step}" if rank == 0 else None) == f"step {step}"
            request = comm.Iallreduce(np.full(3, 1.0), total)
            comm.send((rank, [step] * 50), right, step)
            assert comm.recv(source=left, tag=step) == (left, [step] * 50)
            request.Wait()
            assert total[0] == size
            if step % 50 == 0:
                part = comm.Split(rank % 2)
                part.Barrier()
                assert part.allreduce(1) == part.size
                part.Free()
        return True

    assert phicoll.run(work, ranks=4, mode="threads", timeout=60) == [True] * 4


def test_threads_that_share_a_communicator_are_refused_or_served():
    """It takes one call at a time. Ranks would differ in how many of theirs were made, so this is a group of one."""
    comm = phicoll.Comm(phicoll.COMM_SELF)
    refused = []

    def call():
        for _ in range(300):
            try:
                comm.Allreduce(np.ones(2), np.empty(2), algorithm="all-reads-all")
            except phicoll.Error as error:
                refused.append(str(error))

    assert together([call] * 4) == []
    assert all("in a call already" in words for words in refused)
    comm.Barrier()


def test_threads_that_share_a_request_end_it_once():
    def work(comm):
        for _ in range(200):
            request = comm.Iallreduce(np.ones(2), np.empty(2))
            raised = together(
                [request.Wait, request.Wait, lambda request=request: bool(request), request.Test]
            )
            assert all("in a call already" in str(error) for error in raised), raised
            while not request.Test():
                pass
            assert not request
        return True

    assert phicoll.run(work, ranks=2, mode="threads", timeout=60) == [True, True]


def test_two_threads_of_a_rank_use_two_communicators():
    def work(comm):
        both = [comm.Dup(), comm.Dup()]

        def call(own):
            for step in range(200):
                total = np.empty(1)
                own.Allreduce(np.full(1, float(step)), total)
                assert total[0] == own.size * step
                own.Iallreduce(np.ones(1), total).Wait()
                assert own.sendrecv(step, 1 - own.rank, source=1 - own.rank) == step

        raised = together([lambda own=own: call(own) for own in both])
        if raised:
            raise raised[0]
        return True

    assert phicoll.run(work, ranks=2, mode="threads", timeout=60) == [True, True]
