"""Arrays that all ranks see: ``comm.shared``."""

import gc

import numpy as np
import pytest

import phicoll
from conftest import run


def test_what_one_rank_stores_the_others_read(mode):
    def work(comm):
        table = comm.shared((comm.size, 3), int)
        assert (table == 0).all()
        comm.Barrier()
        table[comm.rank] = comm.rank + 1
        comm.Barrier()
        assert table.tolist() == [[rank + 1] * 3 for rank in range(comm.size)]
        comm.Barrier()
        pair = comm.Split(comm.rank % 2)
        word = pair.shared((), [("a", "i4"), ("b", "f8")])  # of a part of the ranks, of a structured type
        if pair.rank == 0:
            word["b"] = comm.rank
        pair.Barrier()
        return float(word["b"])

    assert run(work, 4, mode) == [0.0, 1.0, 0.0, 1.0]


def test_its_memory_is_given_back_once_no_rank_has_it(mode):
    def work(comm):
        kept = comm.shared(1000, "u1")[10:20]  # a part keeps the whole
        kept[...] = 7
        comm.Barrier()
        for _ in range(20):  # 20 MB one after the other in a heap of 4 MB
            array = comm.shared(1 << 20, "u1")
            assert array[comm.rank] == 0
            comm.Barrier()
            array[comm.rank] = 1
            del array
            gc.collect()
            comm.Barrier()  # each has dropped it
        assert (kept == 7).all()
        own = comm.shared(4)
        if comm.rank == 0:
            del own  # the others go on with theirs
        comm.Barrier()
        if comm.rank > 0:
            own[comm.rank] = comm.rank
            return own[comm.rank]
        return 0

    assert phicoll.run(work, 3, mode, heap_limit=4 << 20) == [0, 1, 2]


def test_errors_are_all_ranks_and_leave_the_group_whole(mode):
    def work(comm):
        for shape, dtype in (((comm.rank + 1,), float), (3, "i4" if comm.rank else "f4")):
            with pytest.raises(phicoll.ArgumentError, match=r"shape: got .* on rank 0 and .* on rank 1"):
                comm.shared(shape, dtype)
        with pytest.raises(phicoll.ResourceError, match="heap"):
            comm.shared(64 << 20, "u1")
        return comm.allreduce(1)

    assert phicoll.run(work, 2, mode, heap_limit=16 << 20) == [2, 2]


def test_an_array_is_a_buffer_of_the_calls(mode):
    def work(comm):
        everyone = comm.shared((comm.size, 1000))
        comm.Gather(np.full(1000, float(comm.rank)), everyone if comm.rank == 0 else None)
        comm.Barrier()
        assert (everyone.sum(axis=1) == 1000 * np.arange(comm.size)).all()
        comm.Barrier()
        total = np.empty(1000)
        comm.Allreduce(everyone[comm.rank], total)
        return total[999]

    assert run(work, 3, mode) == [3.0] * 3


def test_a_group_of_one_has_them_too():
    array = phicoll.COMM_SELF.shared(3)
    array[:] = 1
    assert array.sum() == 3
    with pytest.raises(phicoll.ArgumentError, match="shape: got -1"):
        phicoll.COMM_SELF.shared(-1)
