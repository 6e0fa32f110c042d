"""Communicators and windows by the thousand, as libraries make them: sizes shrink with their number."""

from __future__ import annotations

import numpy as np
import pytest

import phicoll
from phicoll import MPI

COMMUNICATORS = 2000
WINDOWS = 1500


def hold_communicators(comm):
    held = [comm.Dup() for _ in range(COMMUNICATORS)]
    peer = 1 - comm.rank
    found = np.zeros(1, dtype=int)
    for number, one in [*enumerate(held)][::4]:
        one.Allreduce(np.array([number + comm.rank]), found)
        assert found[0] == 2 * number + 1
        if number % 20 == 0:
            assert one.sendrecv((number, comm.rank), dest=peer, source=peer) == (number, peer)
    # Large data goes through the last one's, too, though in small pieces.
    for one in (held[0], held[-1]):
        sent, received = np.full(300_000, comm.rank), np.zeros(300_000, dtype=int)
        one.Sendrecv(sent, dest=peer, recvbuf=received, source=peer)
        assert (received == peer).all()
        one.Iallreduce(sent, received).Wait()
        assert (received == 1).all()
        assert one.allgather("x" * 100_000) == ["x" * 100_000] * 2
    for one in held:
        one.Free()
    comm.Barrier()
    for _ in range(3):  # nothing is left behind
        again = [comm.Dup() for _ in range(20)]
        for one in again:
            one.Free()
    return True


def hold_windows(comm):
    held = [MPI.Win.Allocate_shared(64, 8, comm=comm) for _ in range(WINDOWS)]
    for number, window in enumerate(held):
        np.frombuffer(window.Shared_query(comm.rank)[0], dtype=np.int64)[0] = number + comm.rank
    for window in held:
        window.Fence()
    for number, window in enumerate(held):
        assert (
            np.frombuffer(window.Shared_query(1 - comm.rank)[0], dtype=np.int64)[0] == number + 1 - comm.rank
        )
    for window in held:
        window.Free()
    return True


@pytest.mark.parametrize("mode", ["processes", "threads"])
def test_two_thousand_communicators_may_be_held(mode):
    assert phicoll.run(hold_communicators, ranks=2, mode=mode) == [True, True]


def test_windows_may_be_held_by_the_thousand():
    assert phicoll.run(hold_windows, ranks=2) == [True, True]
