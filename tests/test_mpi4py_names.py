"""Names that programs written for mpi4py use beside communicators: windows, Info, operators, grids, error handlers."""

import pickle
import time
from functools import partial

import numpy as np
import pytest

import phicoll
from conftest import run
from phicoll import MPI


def test_a_window_is_memory_that_all_ranks_reach(mode):
    def work(comm):
        win = MPI.Win.Allocate_shared(8 * (comm.rank + 1), 8, comm=comm)
        mine = np.ndarray(buffer=win.tomemory(), dtype="d", shape=(comm.rank + 1,))
        assert (mine == 0).all()
        mine[:] = comm.rank + 1
        win.Fence()
        seen = []
        for rank in range(comm.size):
            memory, unit = win.Shared_query(rank)
            assert unit == 8
            seen.append(np.frombuffer(memory, "d").tolist())
        first, _ = win.Shared_query(MPI.PROC_NULL)
        # Segments lie one after the other.
        assert MPI.Get_address(first) + 8 * comm.rank * (comm.rank + 1) // 2 == win.attrs[0]
        win.Fence()
        win.Free()
        assert win == MPI.WIN_NULL
        with pytest.raises(phicoll.Error, match="WIN_NULL"):
            win.Fence()
        return seen

    assert run(work, 3, mode) == [[[1.0], [2.0, 2.0], [3.0, 3.0, 3.0]]] * 3


def test_a_lock_is_one_rank_s_or_shared(mode):
    def work(comm):
        win = MPI.Win.Allocate_shared(8 if comm.rank == 0 else 0, 8, comm=comm)
        counter = np.frombuffer(win.Shared_query(0)[0], np.int64)
        for _ in range(300):
            win.Lock(0)
            counter[0] += 1
            win.Unlock(0)
        win.Fence()
        win.Lock_all()
        win.Fence()  # all ranks have it
        found = int(counter[0])
        win.Sync()
        win.Unlock_all()
        win.Fence()
        with pytest.raises(phicoll.ArgumentError, match="not locked"):
            win.Unlock(0)
        with pytest.raises(phicoll.ArgumentError, match=f"rank: got 7; allowed: 0..{comm.size - 1}"):
            win.Lock(7)
        win.Free()
        return found

    assert run(work, 3, mode) == [900] * 3


def test_a_lock_belongs_to_its_rank(mode):
    def work(comm):
        win = MPI.Win.Allocate_shared(8, comm=comm)
        if comm.rank == 0:
            win.Lock(0)
            with pytest.raises(phicoll.ArgumentError, match="got 0, which this rank has locked"):
                win.Lock(0)
        win.Fence()
        if comm.rank == 1:
            with pytest.raises(phicoll.ArgumentError, match="got 0, which this rank has not locked"):
                win.Unlock(0)
        win.Fence()
        if comm.rank == 0:
            win.Unlock(0)
        win.Free()

    run(work, 2, mode)


def test_a_lock_ends_with_the_group():
    def work(comm):
        win = MPI.Win.Allocate_shared(8, comm=comm)
        if comm.rank == 0:
            win.Lock(0)
            comm.Barrier()
            raise ValueError("enough")
        comm.Barrier()
        win.Lock(0)

    with pytest.raises(ValueError, match="enough"):
        run(work, 2)


def test_windows_give_their_memory_back():
    def work(comm):
        for _ in range(40):
            MPI.Win.Allocate_shared(20_000_000, comm=comm).Free()
        with pytest.raises(phicoll.ResourceError):
            comm.empty(10**12)

    run(work, 2)


def test_a_window_is_there_until_it_is_freed(mode):
    """Whatever keeps or drops the first rank's arrays and its window."""

    def work(comm):
        def table():
            win = MPI.Win.Allocate_shared(8000 if comm.rank == 0 else 0, 8, comm=comm)
            found = np.frombuffer(win.Shared_query(0)[0], float)
            if comm.rank == 0:
                found[:] = 1
            win.Fence()
            return found

        values = table()
        kept = []
        if comm.rank == 0:
            del values
            for _ in range(4):
                kept.append(comm.empty(1000))
                kept[-1][:] = 2
        comm.Barrier()
        return float(values.sum()) if comm.rank else 1000.0

    assert run(work, 2, mode) == [1000.0] * 2


def test_blocks_of_different_types_go_to_different_ranks(mode):
    def work(comm):
        size, rank = comm.size, comm.rank
        # Rank i gets i + 1 elements, of doubles from even ranks and of ints from odd ones.
        kind = [MPI.DOUBLE, MPI.INT][rank % 2]
        sent = np.full(size * (size + 1) // 2, rank, kind.dtype)
        counts = [to + 1 for to in range(size)]
        begins = [to * (to + 1) // 2 * kind.extent for to in range(size)]
        kinds = [[MPI.DOUBLE, MPI.INT][source % 2] for source in range(size)]
        room = 8 * (rank + 1)
        got = bytearray(room * size)
        comm.Alltoallw(
            [sent, (counts, begins), [kind] * size],
            [got, [rank + 1] * size, [room * source for source in range(size)], kinds],
        )
        for source in range(size):
            found = np.frombuffer(got, kinds[source].dtype, rank + 1, room * source)
            assert (found == source).all()
        nothing = [MPI.BOTTOM, ([0] * size, [0] * size), [MPI.INT] * size]
        comm.Alltoallw(nothing, nothing)
        return True

    assert run(work, 3, mode) == [True] * 3


def test_bad_input_of_alltoallw_names_the_argument():
    one = np.zeros(1)
    for got, words in [
        ((one, [MPI.INT, MPI.INT]), "2 types"),
        (3, "sendbuf: got an int"),
        ((one, ([2], [0]), [MPI.DOUBLE]), "at least 16 bytes"),
        ((one, ([1], [-8]), [MPI.DOUBLE]), "displacements -8"),
    ]:
        with pytest.raises(phicoll.ArgumentError, match=words):
            phicoll.COMM_SELF.Alltoallw(got, [np.zeros(1), [MPI.DOUBLE]])


@pytest.mark.parametrize(
    ("ranks", "dims", "grid"),
    [
        (12, 2, [4, 3]),
        (64, 3, [4, 4, 4]),
        (30, 3, [5, 3, 2]),
        (7, 2, [7, 1]),
        (6, [0, 2], [3, 2]),
        (24, [0, 2, 0], [4, 2, 3]),
        (5, 0, None),
        (6, [4, 0], None),
        (6, [3, 1], None),
        (0, 2, None),
    ],
)
def test_a_grid_has_equal_extents(ranks, dims, grid):
    if grid is not None:
        assert MPI.Compute_dims(ranks, dims) == grid
        return
    with pytest.raises(phicoll.ArgumentError, match="dims: got"):
        MPI.Compute_dims(ranks, dims)


def test_an_operator_by_another_name():
    assert MPI.Op() == MPI.OP_NULL
    assert not MPI.Op()
    again = MPI.Op(MPI.SUM)
    assert again == MPI.SUM
    assert again is not MPI.SUM
    assert again(2, 3) == 5
    assert len({again, MPI.SUM, MPI.PROD}) == 2
    for op in (MPI.SUM, MPI.OP_NULL):
        assert pickle.loads(pickle.dumps(op)) is op
        assert pickle.loads(pickle.dumps(MPI.Op(op))) == op
    made = MPI.Op.Create(max)
    made.Free()
    assert made == MPI.OP_NULL
    for none in (made, MPI.OP_NULL):
        with pytest.raises(phicoll.ArgumentError, match="op: got"):
            phicoll.COMM_SELF.Allreduce(np.ones(1), np.ones(1), none)
        with pytest.raises(phicoll.ArgumentError, match="op: got"):
            phicoll.COMM_SELF.allreduce(1, none)
    found = np.zeros(2)
    phicoll.COMM_SELF.Allreduce(np.ones(2), found, again)
    assert found.tolist() == [1, 1]


def test_infos_keep_what_they_are_given():
    info = MPI.Info.Create({"a": "1"})
    info["b"] = "2"
    assert info.items() == [("a", "1"), ("b", "2")]
    assert info.Dup() != info
    info.Free()
    assert info == MPI.INFO_NULL
    with pytest.raises(KeyError, match="INFO_NULL"):
        info["a"] = "1"
    part = phicoll.COMM_SELF.Dup(MPI.INFO_NULL)
    part.Free()
    assert part == phicoll.COMM_NULL
    assert not part


def test_error_handlers_are_noted():
    comm = phicoll.COMM_SELF.Dup()
    assert comm.Get_errhandler() == MPI.ERRORS_RETURN
    comm.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    assert comm.Get_errhandler() == MPI.ERRORS_ARE_FATAL
    with pytest.raises(phicoll.ArgumentError, match="errhandler: got None"):
        comm.Set_errhandler(None)
    with pytest.raises(phicoll.ArgumentError, match="root"):
        comm.Bcast(np.zeros(1), 3)
    comm.Free()


def test_nothing_spawned_the_program():
    parent = MPI.Comm.Get_parent()
    assert parent == MPI.COMM_NULL
    assert isinstance(parent, MPI.Intercomm)
    with pytest.raises(AttributeError, match="Create_cart is not offered: ranks have no topology"):
        phicoll.COMM_SELF.Create_cart([1])


@pytest.mark.parametrize(
    ("of", "name", "instead"),
    [
        (MPI.Win, "Create", "Allocate_shared makes one"),
        (MPI.Win, "Allocate", "Allocate_shared makes one"),
        (MPI.WIN_NULL, "Put", "as an array"),
        (MPI.WIN_NULL, "Get_accumulate", "as an array"),
        (MPI.WIN_NULL, "Compare_and_swap", "under a Lock"),
        (MPI.WIN_NULL, "Post", "Fence, or Lock and Unlock"),
        (MPI.WIN_NULL, "py2f", "have no numbers"),
        (phicoll.COMM_SELF, "py2f", "have no numbers"),
        (phicoll.COMM_SELF, "Neighbor_alltoall", "ranks have no topology"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_offered_is_refused_in_words(of, name, instead):
    with pytest.raises(AttributeError, match=f"{name} is not offered: .*{instead}"):
        getattr(of, name)
    assert not hasattr(MPI.Win, "Fences")
    with pytest.raises(AttributeError, match="nearest: Fence"):
        MPI.WIN_NULL.Fences()


def a_rank_that_ends_with_a_lock(comm, left, wanted):
    win = MPI.Win.Allocate_shared(8, comm=comm)
    if comm.rank == 1:
        win.Lock(0, left)
        comm.Barrier()
        return
    comm.Barrier()
    win.Lock(0, wanted)


@pytest.mark.parametrize("left", [MPI.LOCK_EXCLUSIVE, MPI.LOCK_SHARED], ids=["alone", "shared"])
def test_a_rank_that_ends_with_a_window_s_lock_is_not_awaited(left, mode):
    wanted = MPI.LOCK_SHARED if left == MPI.LOCK_EXCLUSIVE else MPI.LOCK_EXCLUSIVE
    start = time.monotonic()
    with pytest.raises(phicoll.BrokenGroupError, match="which a rank held when it left"):
        run(partial(a_rank_that_ends_with_a_lock, left=left, wanted=wanted), 3, mode)
    assert time.monotonic() - start < 15
    if left == MPI.LOCK_SHARED:  # others may still share it
        run(partial(a_rank_that_ends_with_a_lock, left=left, wanted=left), 3, mode)


def a_rank_that_keeps_a_lock(comm):
    win = MPI.Win.Allocate_shared(8, comm=comm)
    if comm.rank == 1:
        win.Lock(0)
    comm.Barrier()
    if comm.rank == 1:
        time.sleep(3)
        win.Unlock(0)
    else:
        win.Lock(0)


def test_the_group_s_timeout_ends_a_wait_for_a_window_s_lock(mode):
    with pytest.raises(phicoll.TimeoutError, match="longer than the group's timeout of 1000 ms"):
        phicoll.run(a_rank_that_keeps_a_lock, 2, mode=mode, timeout=1)
