"""Calls that do not fit together raise an error that names them; calls that fit raise none."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

import phicoll


def keep_left(left, inout, datatype):
    a, b = np.frombuffer(left, datatype.dtype), np.frombuffer(inout, datatype.dtype)
    b[...] = a


FOUR = "np.ones(4)"
# (rank 0's call, rank 1's call, words of the error)
DO_NOT_FIT = [
    (f"Allreduce({FOUR}, np.empty(4))", f"Bcast({FOUR})", ["allreduce(float64 sum, 32 bytes)", "broadcast("]),
    (f"Bcast({FOUR}, 0)", f"Bcast({FOUR}, 1)", ["float64, root 1, 32 bytes", "float64, root 0, 32 bytes"]),
    (f"Reduce({FOUR}, None, root=1)", f"Reduce({FOUR}, None, root=0)", ["root 1", "root 0"]),
    (f"Bcast({FOUR})", "Bcast(np.ones(8, 'f'))", ["float32, root 0, 32 bytes", "float64, root 0, 32 bytes"]),
    (
        f"Bcast({FOUR})",
        "Bcast(np.ones(4, 'M8[s]'))",
        ["broadcast(float64, ", ", root 0, 32 bytes) as call 1"],
    ),
    ("Bcast(np.ones(2, 'f,i'))", "Bcast(np.ones(2, 'i,f'))", ["broadcast(float_int, "]),
    (
        "Gather(phicoll.IN_PLACE, np.ones(8, int))",
        f"Gather({FOUR}, None)",
        ["gather(int64, root 0, 32 bytes)", "gather(float64, root 0, 32 bytes)"],
    ),
    (
        f"Allreduce({FOUR}, np.empty(4), phicoll.Op.Create(keep_left))",
        "Allreduce(np.ones(4, int), np.empty(4, int), phicoll.Op.Create(keep_left))",
        ["user-defined on float64", "user-defined on int64"],
    ),
    (
        "Gatherv(np.ones(2), [np.empty(8), [2, 3]])",
        "Gatherv(np.ones(2), None)",
        ["rank 1: sends 16 bytes of float64 to rank 0, which expects 24 bytes of float64 of it in call 1"],
    ),
    (
        "Scatterv([np.ones(8), [2, 0]], np.empty(2))",
        "Scatterv(None, np.empty(1))",
        ["rank 0: sends 0 bytes to rank 1, which expects 8 bytes of float64 of it in call 1"],
    ),
    (
        "Alltoallv([np.ones(8), [4, 4]], [np.empty(8), [4, 4]])",
        "Alltoallv([np.ones(8), [4, 4]], [np.empty(8), [0, 4]])",
        ["rank 0: sends 32 bytes of float64 to rank 1, which expects 0 bytes of it in call 1"],
    ),
    (
        "Allgatherv(np.ones(2), [np.empty(8), [2, 3]])",
        "Allgatherv(np.ones(2), [np.empty(8), [3, 2]])",
        ["allgatherv(float64, counts with the checksum "],
    ),
    (
        "Reduce_scatter(np.ones(5), np.empty(3), [2, 3])",
        "Reduce_scatter(np.ones(5), np.empty(3), [3, 2])",
        ["reduce_scatter(float64 sum, counts with the checksum "],
    ),
    (
        f"Bcast({FOUR}, algorithm='ring')",
        f"Bcast({FOUR}, algorithm='binomial')",
        ["32 bytes) by ring", "32 bytes) by binomial"],
    ),
    (
        f"Allreduce({FOUR}, np.empty(4), algorithm='sliced')",
        f"Allreduce({FOUR}, np.empty(4), algorithm='sliced:cells=4')",
        ["by sliced with parameters of its own"],
    ),
]


@pytest.mark.parametrize(("zero", "one", "words"), DO_NOT_FIT, ids=[f"{a} {b}" for a, b, _ in DO_NOT_FIT])
def test_an_error_names_both_calls(zero, one, words, mode):
    def check(comm):
        call = one if comm.rank else zero
        eval(f"comm.{call}", {"comm": comm, "np": np, "phicoll": phicoll, "keep_left": keep_left})
        comm.Barrier()

    with pytest.raises(phicoll.BrokenGroupError) as caught:
        phicoll.run(check, ranks=2, mode=mode, timeout=20)
    for text in words:
        assert text in str(caught.value)


@pytest.mark.parametrize(("sent", "expected"), [(600000, 200000), (300000, 1000)])
def test_a_block_that_does_not_fit_is_not_stored_behind_the_root_s(sent, expected, mode):
    """Although the algorithm lets a sender store its block where it goes."""

    def check(comm):
        send, receive = comm.empty(sent, np.uint8), comm.empty(700000, np.uint8)
        send[:], receive[:] = 1, 0
        comm.Barrier()
        try:
            comm.Gatherv(
                send if comm.rank else send[:8],
                [receive, [8, expected]] if comm.rank == 0 else None,
                algorithm="mailbox:once=1:cell=65536:cells=16:direct=400000:put=100000",
            )
            comm.Barrier()
        finally:
            assert not receive[8 + expected :].any()

    with pytest.raises(
        phicoll.BrokenGroupError, match=rf"sends {sent} bytes.*which expects {expected} bytes"
    ):
        phicoll.run(check, ranks=2, mode=mode, timeout=20)


def test_what_nobody_waits_for_is_found_by_the_next_exchange(mode):
    def check(comm):
        own = np.full(4, float(comm.rank))
        comm.Bcast(own, root=comm.rank)  # the data are wrong from here on
        for _ in range(5):
            comm.Barrier()
        total = np.full(4, -1.0)
        try:
            comm.Allreduce(own, total)
        finally:
            assert (total == -1).all()

    with pytest.raises(phicoll.BrokenGroupError, match=r"root 1, 32 bytes.*root 0, 32 bytes"):
        phicoll.run(check, ranks=2, mode=mode, timeout=20)


def test_at_the_latest_it_is_found_when_a_communicator_ends(mode):
    def check(comm):
        part = comm.Dup()
        own = np.full(4, float(comm.rank))
        part.Bcast(own, root=comm.rank)
        part.Free()

    with pytest.raises(phicoll.BrokenGroupError, match=r"root 1, 32 bytes.*root 0, 32 bytes"):
        phicoll.run(check, ranks=2, mode=mode, timeout=20)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_selected_algorithm_is_compared_too(mode, ranks):
    """Of two ranks the higher one is named first; of three either may be, as the third may not be there yet."""

    def check(comm):
        comm.select("allgather", "single-copy" if comm.rank else "one-shot")
        comm.Allgather(np.ones(2), np.empty(2 * comm.size))

    with pytest.raises(phicoll.BrokenGroupError) as caught:
        phicoll.run(check, ranks=ranks, mode=mode, timeout=20)
    named = re.findall(r"rank (\d) called allgather\(float64, 16 bytes\) by (\S+)", str(caught.value))
    assert caught.value.rank == int(named[0][0])
    zero, *others = sorted(named) if ranks == 3 else reversed(named)
    assert zero == ("0", "one-shot")
    assert others in ([("1", "single-copy")], [("2", "single-copy")])


def test_calls_that_fit_are_let_through_however_they_are_said(mode):
    """The same type by different names, other buffers, in place, counts of one's own, other waits."""

    def check(comm):
        first = comm.rank == 0
        comm.Bcast([np.ones(4), phicoll.DOUBLE] if first else np.ones((2, 2)))
        comm.Bcast([np.ones(8, "q"), 8, "LONG"] if first else [np.ones(8, "l"), phicoll.INT64_T])
        comm.Bcast(bytearray(8) if first else np.ones(8, np.uint8))
        comm.Bcast(np.ones(2, "i,f") if first else np.ones((1, 2), "i,f"))
        swapped = np.ones(2, "i4,i4")[["f1", "f0"]]  # fields of which NumPy makes no list
        comm.Bcast(swapped if first else np.ones(2, "i4,i4"))
        comm.Bcast(np.ones(2, [("a", "f8"), ("b", "i4")] if first else [("x", "f8"), ("y", "i4")]))
        comm.Bcast(np.ones(0) if first else np.ones(0, int))
        nothing = np.array([])  # of float64
        mine = [comm.rank] * comm.rank
        comm.Gatherv(
            np.array(mine, int) if mine else nothing, [np.ones(3, int), [0, 1, 2]] if first else None
        )
        comm.Allgatherv(np.array(mine, int) if mine else nothing, [np.ones(3, int), [0, 1, 2]])
        own = np.ones(3, int)
        comm.Allreduce(phicoll.IN_PLACE if first else own.copy(), own)
        counts = [3 * rank for rank in range(comm.size)]
        total = np.empty(sum(counts))
        comm.Gatherv(np.ones(counts[comm.rank]), [total, counts] if first else None)
        comm.Scatterv([total, counts] if first else None, np.ones(counts[comm.rank]))
        comm.Alltoallv([np.ones(sum(counts)), counts], [np.ones(18), [counts[comm.rank]] * comm.size])
        return comm.allreduce(comm.rank)

    assert phicoll.run(check, ranks=3, mode=mode, timeout=20) == [3] * 3


def test_a_communicator_that_an_exception_has_taken_is_not_compared(mode):
    def with_a_part(comm):
        part = comm.Dup()
        if comm.rank == 1:
            raise KeyError("one rank's own trouble")
        part.Bcast(np.ones(2), root=0)

    def check(comm):
        with contextlib.suppress(KeyError):
            with_a_part(comm)
        comm.Barrier()
        return comm.allreduce(1)

    assert phicoll.run(check, ranks=2, mode=mode, timeout=20) == [2, 2]


def test_a_rank_s_own_exception_comes_before_what_is_found_in_the_end(mode):
    def check(comm):
        part = comm.Dup()
        part.Bcast(np.ones(2), root=comm.rank)
        part.Free()
        if comm.rank == 1:
            raise KeyError("mine")

    with pytest.raises((KeyError, phicoll.BrokenGroupError)) as caught:
        phicoll.run(check, ranks=2, mode=mode, timeout=20)
    assert caught.value.rank == 1


def test_why_of_a_barrier_makes_none():
    def check(comm):
        told = comm.why("barrier") if comm.rank == 0 else None
        comm.Allreduce(np.ones(2), np.empty(2))
        comm.Barrier()
        return told in (None, comm.why("barrier"))

    assert phicoll.run(check, ranks=2, mode="threads", timeout=20) == [True, True]
