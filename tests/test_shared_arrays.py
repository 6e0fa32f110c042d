"""Arrays that all ranks see: ``comm.shared``."""

import gc
import os
import subprocess
import sys

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


def test_an_array_outlives_its_group(mode):
    def work(comm):
        array = comm.shared(comm.size, int)
        array[comm.rank] = comm.rank
        comm.Barrier()
        return array  # dropped once the rank has left

    assert [array.tolist() for array in phicoll.run(work, 3, mode)] == [[0, 1, 2]] * 3


@pytest.mark.parametrize("made", ["empty", "shared"])
def test_an_array_of_a_program_is_there_until_its_end(made, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, phicoll\n"
        "atexit.register(lambda: print(int(array.sum())))  # after the rank has left\n"
        f"array = phicoll.COMM_WORLD.{made}(1000, int)\n"
        "array[...] = 1\n"
        "phicoll.COMM_WORLD.Barrier()\n"
    )
    command = [sys.executable, "-m", "phicoll", "launch", "-n", "2", sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ["[0] 1000", "[1] 1000"]), done.stderr


def test_a_forked_process_drops_its_copy_alone():
    def work(comm):
        array = comm.shared(1000, "u1")
        comm.Barrier()
        if comm.rank == 0:
            if (child := os.fork()) == 0:
                del array
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            del array
        comm.Barrier()
        other = comm.shared(1000, "u1")  # not in the memory that rank 1 still has
        other[...] = 1
        comm.Barrier()
        return 0 if comm.rank == 0 else int(array.sum())

    assert phicoll.run(work, 2) == [0, 0]
