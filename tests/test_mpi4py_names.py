"""Names that programs written for mpi4py use beside communicators: windows, Info, operators, grids, error handlers."""

import ast
import importlib.util
import pickle
import subprocess
import sys
import textwrap
import time
import traceback
from functools import partial
from pathlib import Path

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


def test_a_window_without_room_is_refused_on_all_ranks_and_the_group_goes_on(mode):
    def work(comm):
        for size in (10**12, 20_000_000, 10**12 if comm.rank else 0):
            if size == 20_000_000:
                MPI.Win.Allocate_shared(size, comm=comm).Free()
                continue
            with pytest.raises(phicoll.ResourceError, match="heap_limit"):
                MPI.Win.Allocate_shared(size, comm=comm)
        return comm.allreduce(1)

    assert run(work, 2, mode) == [2, 2]


def test_another_error_of_the_first_rank_leaves_no_rank_waiting_for_a_window(mode):
    def work(comm):
        with pytest.raises((TypeError, phicoll.Error)):
            MPI.Win.Allocate_shared(10**20, comm=comm)

    with pytest.raises(phicoll.Error, match="raised TypeError"):
        run(work, 2, mode)


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
        (phicoll.COMM_SELF, "Spawn", "phicoll.run starts another"),
        (phicoll.Comm, "Create_from_group", "Create_group"),
        (phicoll.Comm, "Create_keyval", "a dict"),
        (MPI.Request, "f2py", "have no numbers"),
        (MPI.REQUEST_NULL, "py2f", "have no numbers"),
        (MPI.Prequest, "Pready", "Isend several"),
        (MPI.Grequest, "Start", "concurrent.futures"),
        (MPI.Status(), "tomemory", "attributes"),
        (MPI.GROUP_EMPTY, "toint", "have no numbers"),
        (MPI.Info, "fromhandle", "have no numbers"),
        (MPI.SUM, "handle", "have no numbers"),
        (MPI.Message, "py2f", "have no numbers"),
        (MPI.Errhandler, "f2py", "have no numbers"),
        (MPI.File, "Open", "np.memmap"),
        (MPI.FILE_NULL, "Close", "np.memmap"),
        (MPI.buffer, "allocate", "bytearray"),
        (MPI, "MODE_RDONLY", "np.memmap"),
        (MPI.Session, "Init", "COMM_WORLD has all of them"),
        (MPI.Cartcomm, "Get_coords", "Compute_dims"),
        (MPI.Cartcomm(), "Shift", "Compute_dims"),
        (MPI, "_addressof", "handles are Python's objects"),
        (MPI, "COMBINER_NAMED", "strided"),
        (MPI.Datatype, "Create_struct", "structured"),
        (MPI.Datatype, "Create_resized", "structured"),
        (MPI.DOUBLE, "Create_vector", "strided"),
        (MPI.DOUBLE, "Create_indexed", "strided"),
        (MPI.DOUBLE, "Commit", "no derived types"),
        (MPI.DOUBLE, "Pack", "tobytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_offered_is_refused_in_words(of, name, instead):
    with pytest.raises(AttributeError, match=f"{name} is not offered: .*{instead}") as caught:
        getattr(of, name)
    assert isinstance(caught.value, NotImplementedError)  # as mpi4py's programs expect
    assert not hasattr(of, name)
    assert "Did you mean" not in "".join(traceback.format_exception(caught.value))
    assert not hasattr(MPI.Win, "Fences")
    with pytest.raises(AttributeError, match="nearest: Fence"):
        MPI.WIN_NULL.Fences()


def names_of(body):
    """The names that a class or module of a stub defines."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id, node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield target.id, node
        elif isinstance(node, ast.If):
            yield from names_of([*node.body, *node.orelse])


def plainly_missing(of, name):
    """Whether a name is missing without the words for what is not offered."""
    try:
        getattr(of, name)
    except NotImplementedError as error:
        return not isinstance(error, AttributeError)
    except AttributeError:
        return True
    return False


def test_every_name_of_mpi4py_s_is_offered_or_refused_in_words():
    found = importlib.util.find_spec("mpi4py")
    root = Path(__file__).resolve().parent.parent
    stubs = [
        *([Path(found.submodule_search_locations[0]) / "MPI.pyi"] if found else []),
        *root.glob("build/mpi4py/mpi4py-*/src/mpi4py/MPI.pyi"),  # of tests/mpi4py.sh
    ]
    stub = next((one for one in stubs if one.is_file()), None)
    if stub is None:
        pytest.skip("mpi4py is neither installed nor in build/mpi4py")
    missing = []
    for name, node in names_of(ast.parse(stub.read_text()).body):
        if name.startswith("__"):
            continue
        if plainly_missing(MPI, name):
            missing.append(name)
        elif isinstance(node, ast.ClassDef) and hasattr(MPI, name):
            of = getattr(MPI, name)
            its = [one for one, _ in names_of(node.body) if not one.startswith("__")]
            missing += [f"{name}.{one}" for one in its if plainly_missing(of, one)]
    assert missing == []


@pytest.mark.parametrize(
    ("kind", "null"),
    [(MPI.File, MPI.FILE_NULL), (MPI.Session, MPI.SESSION_NULL), (MPI.Cartcomm, MPI.COMM_NULL)],
    ids=["File", "Session", "Cartcomm"],
)
def test_types_without_objects_make_their_null_object_alone(kind, null):
    assert kind() == null
    assert kind(null) == null
    assert not null
    assert not isinstance(phicoll.COMM_SELF, kind)
    kind().free()
    assert MPI.FILE_NULL != MPI.SESSION_NULL
    with pytest.raises(TypeError, match="got"):
        kind(phicoll.COMM_SELF)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(null, protocol)) is null


@pytest.mark.parametrize(
    "kind", [MPI.Info, MPI.Group, MPI.Op, MPI.Errhandler, MPI.Message, MPI.Request, MPI.Datatype]
)
def test_handles_of_another_class_are_refused(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} or None"):
        kind(MPI.WIN_NULL)
    assert not kind()


def test_free_in_small_letters_leaves_what_is_mpi_s():
    for one in (MPI.GROUP_EMPTY, MPI.ERRORS_RETURN, MPI.INFO_ENV, MPI.SUM, MPI.DOUBLE, phicoll.COMM_SELF):
        one.free()
        assert one
    for null in (
        MPI.GROUP_NULL,
        MPI.ERRHANDLER_NULL,
        MPI.INFO_NULL,
        MPI.OP_NULL,
        MPI.COMM_NULL,
        MPI.WIN_NULL,
    ):
        null.free()
    for made in (phicoll.COMM_SELF.Dup(), MPI.Info.Create(), MPI.Op.Create(max)):
        for _ in range(2):
            made.free()
            assert not made


class Counting(MPI.Request):
    """As programs derive from it: small letters by capital ones."""

    def test(self, status=None):
        return super().Test(status), None

    def wait(self, status=None):
        return super().Wait(status)


def test_a_derived_request_calls_its_base():
    assert Counting(MPI.REQUEST_NULL).test() == (True, None)
    request = Counting(phicoll.COMM_SELF.Isend(np.ones(1), 0))
    phicoll.COMM_SELF.Recv(np.zeros(1), 0)
    assert request.wait()


class Named(phicoll.Comm):
    def __init__(self, comm=None):
        raise AssertionError("not called, as mpi4py does not")


class Hints(MPI.Info):
    def __new__(cls, info=None):
        return MPI.Info.__new__(cls, info)


def test_what_a_derived_class_makes_is_of_its_class():
    comm = Named.__new__(Named, None)
    comm._core = phicoll.COMM_SELF.Dup()._core
    for made in (comm.Dup(), comm.Split(0)):
        assert type(made) is Named
    assert type(phicoll.COMM_SELF.Dup()) is not Named
    hints = Hints(MPI.Info.Create({"a": "1"}))
    assert type(hints.Dup()) is type(Hints.Create()) is Hints
    assert hints.Dup().items() == [("a", "1")]


def test_none_is_scattered_as_mpi4py_does(mode):
    def work(comm):
        for root in range(comm.size):
            assert comm.scatter(None, root) is None
        return comm.alltoall(None)

    assert run(work, 2, mode) == [[None, None]] * 2


def test_addresses_are_counted_in_bytes():
    assert MPI.Get_address(None) == MPI.Get_address(MPI.BOTTOM) == 0
    memory = np.zeros(3)
    at = MPI.Get_address(memory)
    assert MPI.Aint_add(at, 16) == MPI.Get_address(memory[2:])
    assert MPI.Aint_diff(MPI.Get_address(memory[1:]), at) == 8


def test_fortran_s_types_have_numpy_s_sizes():
    sizes = {
        "INTEGER": 4,
        "INTEGER8": 8,
        "REAL8": 8,
        "DOUBLE_PRECISION": 8,
        "COMPLEX16": 16,
        "LOGICAL2": 2,
        "FLOAT16_T": 2,
    }
    assert {name: getattr(MPI, name).Get_size() for name in sizes} == sizes
    assert not MPI.REAL16  # which NumPy lacks
    got = np.zeros(2)
    phicoll.COMM_SELF.Allreduce([np.ones(2), MPI.REAL8], [got, "DOUBLE_PRECISION"])
    assert got.tolist() == [1, 1]


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


def test_every_exported_name_is_there():
    for name in MPI.__all__:
        getattr(MPI, name)
    assert phicoll.Prequest is MPI.Prequest


@pytest.mark.parametrize("char", "?bhilqBHILQfdgFDG")
def test_types_by_typecode(char):
    kind = MPI._typedict[char]
    assert kind.dtype == np.dtype(char)
    assert MPI.Datatype.fromcode(kind.tocode()) == kind
    assert MPI.Datatype.fromcode(kind.typestr) == kind
    assert MPI.Datatype.fromcode(np.dtype(char).str[1:]).dtype == np.dtype(char)


def test_codes_of_types():
    # As mpi4py 4.1 has them.
    for name, code, kind in [
        ("INT", "i", "i4"),
        ("INT32_T", "i4", "i4"),
        ("UINT8_T", "u1", "u1"),
        ("C_BOOL", "b1", "b1"),
        ("CHAR", "c", "S1"),
        ("WCHAR", "U", "U1"),
        ("AINT", "p", "i8"),
        ("COUNT", "p", "i8"),
        ("BYTE", "B", "u1"),
        ("PACKED", "B", "u1"),
        ("LONG_DOUBLE", "g", "f16"),
    ]:
        found = getattr(MPI, name)
        assert (found.tocode(), found.typestr, MPI._typecode(found)) == (code, kind, code)
    assert MPI._typecode(MPI.DOUBLE_INT) is None
    with pytest.raises(ValueError, match="code: got 'zz'"):
        MPI.Datatype.fromcode("zz")
    assert not MPI.DATATYPE_NULL
    with pytest.raises(phicoll.ArgumentError, match="buf: got elements of"):
        phicoll.COMM_SELF.Bcast([np.ones(1), MPI.DATATYPE_NULL])


def test_errors_have_mpi_s_classes():
    comm = phicoll.COMM_SELF
    for call, kind in [
        (lambda: comm.Bcast(np.ones(1), 3), MPI.ERR_ROOT),
        (lambda: comm.Send(np.ones(1), 0, -3), MPI.ERR_TAG),
        (lambda: comm.Send(np.ones(1), 7), MPI.ERR_RANK),
        (lambda: comm.Allreduce(np.ones(1), np.ones(1), max), MPI.ERR_OP),
        (lambda: comm.Bcast(3.5), MPI.ERR_ARG),
        (MPI.COMM_NULL.Barrier, MPI.ERR_OTHER),
    ]:
        with pytest.raises(MPI.Exception) as caught:
            call()
        error = caught.value
        assert error.Get_error_class() == error.Get_error_code() == error.error_class == kind
        assert error.Get_error_string() == str(error)


def test_what_takes_no_memory_or_waiting_is_there():
    comm = phicoll.COMM_SELF.Dup()
    assert not comm.is_topo
    memory = bytearray(1000)
    comm.Attach_buffer(memory)
    comm.Bsend(np.ones(3), 0)
    comm.Flush_buffer()
    comm.Iflush_buffer().Wait()
    assert comm.Detach_buffer() is memory
    assert comm.Detach_buffer() is None
    comm.Recv(np.empty(3), 0)
    comm.Disconnect()
    assert comm == MPI.COMM_NULL
    MPI.Flush_buffer()
    MPI.Iflush_buffer().Wait()
    assert MPI.get_vendor()[0] == "phicoll"


def test_statuses_of_some_requests_leave_them(mode):
    def work(comm):
        got = np.zeros(2)
        requests = [comm.Irecv(got[:1], 0, 1), MPI.Request(), comm.Irecv(got[1:], 0, 2)]
        assert MPI.Request.Get_status_any(requests) == (MPI.UNDEFINED, False)
        assert MPI.Request.Get_status_some(requests, statuses := []) == []
        comm.Send(np.ones(1), 0, 2)
        while MPI.Request.Get_status_any(requests, status := MPI.Status()) != (2, True):
            pass
        assert (status.Get_tag(), status.Get_count(MPI.DOUBLE)) == (2, 1)
        assert MPI.Request.Get_status_some(requests, statuses) == [2]
        assert [one.Get_tag() for one in statuses] == [2]
        assert requests[2]
        comm.Send(np.ones(1), 0, 1)
        MPI.Request.Waitall(requests)
        assert MPI.Request.Get_status_any(requests) == (MPI.UNDEFINED, True)
        assert MPI.Request.Get_status_some(requests) is None

    run(work, 1, mode)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda comm: MPI.Win.Allocate_shared(8, 8, comm=3), "comm: got 3; allowed: a communicator"),
        (lambda comm: MPI.Win.Allocate_shared(8, 8, 3, comm), "info: got 3; allowed: an Info or None"),
        (lambda comm: MPI.Comm.Compare(comm, 3), "comm: got 3; allowed: a communicator"),
        (lambda comm: comm.Dup(3), "info: got 3; allowed: an Info or None"),
        (lambda comm: comm.Idup(3), "info: got 3; allowed: an Info or None"),
        (lambda comm: comm.Split_type(MPI.COMM_TYPE_SHARED, 0, 3), "info: got 3; allowed: an Info or None"),
        (lambda comm: comm.Set_info(3), "info: got 3; allowed: an Info or None"),
        (lambda comm: comm.Set_name(5), "name: got 5; allowed: a text"),
        (lambda comm: comm.irecv("x", 0), "buf: got 'x'; allowed: None, a number of bytes or a buffer"),
    ],
)
def test_arguments_of_other_types_are_named(call, words):
    with pytest.raises(TypeError, match=words):
        call(phicoll.COMM_SELF)


def test_no_buffer_is_for_no_rank():
    comm = phicoll.COMM_SELF
    comm.Send(None, MPI.PROC_NULL)
    comm.Recv(None, MPI.PROC_NULL)
    comm.Sendrecv(None, MPI.PROC_NULL, 0, None, MPI.PROC_NULL)
    for call, name in [
        (lambda: comm.Send(None, 0), "buf"),
        (lambda: comm.Irecv(None, 0), "buf"),
        (lambda: comm.Send_init(None, 0), "buf"),
        (lambda: comm.Recv_init(None, 0), "buf"),
        (lambda: comm.Sendrecv(np.ones(1), 0), "recvbuf"),
        (lambda: comm.Sendrecv(None, 0, 0, np.ones(1)), "sendbuf"),
    ]:
        with pytest.raises(phicoll.ArgumentError, match=f"^{name}: got None; allowed: a NumPy array"):
            call()
    assert not comm.Iprobe()


def as_mpi4py(code, *options, ranks=2):
    """A program of ranks that imports mpi4py. Its output."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "phicoll.launch",
            *options,
            "--as-mpi4py",
            "-n",
            str(ranks),
            "-c",
            textwrap.dedent(code),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_finalize_ends_a_rank_s_use_of_its_world(mode):
    as_mpi4py(
        """
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        assert MPI.Is_initialized() and not MPI.Is_finalized()
        comm.Barrier()
        if comm.rank == 0:
            comm.send("still there", 1)
        else:
            assert comm.recv() == "still there"
        MPI.Finalize()
        assert MPI.Is_initialized() and MPI.Is_finalized()
        for call in (comm.Barrier, lambda: comm.rank, lambda: MPI.COMM_WORLD.send(1, 0), comm.Dup):
            try:
                call()
            except MPI.Exception as error:
                assert "MPI.Finalize was called" in str(error), error
            else:
                raise AssertionError
        """,
        "--mode",
        mode,
    )


def test_finalize_is_one_run_s():
    def work(comm):
        comm.Barrier()
        MPI.Finalize()
        return MPI.Is_finalized()

    for _ in range(2):
        assert run(work, 2, "threads") == [True, True]
    assert not MPI.Is_finalized()


def test_rc_is_mpi4py_s():
    as_mpi4py(
        """
        import mpi4py
        mpi4py.rc(threads=True, initialize=False)
        mpi4py.rc.errors = "fatal"
        for wrong in (lambda: mpi4py.rc(nothing=1), lambda: setattr(mpi4py.rc, "nothing", 1)):
            try:
                wrong()
            except TypeError as error:
                assert "'nothing'" in str(error)
            else:
                raise AssertionError
        from mpi4py import MPI
        import mpi4py.MPI
        assert mpi4py.MPI is MPI
        assert not MPI.Is_initialized() and not MPI.Is_finalized()
        assert MPI.Init_thread(MPI.THREAD_MULTIPLE) == MPI.Query_thread()
        assert MPI.Is_initialized()
        assert MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_ARE_FATAL
        assert MPI.COMM_WORLD.allreduce(1) == 2
        """
    )


def test_rc_is_read_from_the_environment_too():
    as_mpi4py(
        """
        import os, warnings
        os.environ |= {"MPI4PY_RC_INITIALIZE": "false", "MPI4PY_RC_ERRORS": "loud", "MPI4PY_PICKLE_PROTOCOL": "3"}
        from mpi4py import rc
        with warnings.catch_warnings(record=True) as told:
            from mpi4py import MPI
        assert [str(one.message) for one in told] == ["mpi4py.rc.errors: unexpected value 'loud'"]
        assert rc.initialize is False and not MPI.Is_initialized()
        assert MPI.pickle.PROTOCOL == 3
        """
    )


def test_other_modules_of_mpi4py_s():
    as_mpi4py(
        """
        import numpy as np
        from mpi4py import MPI
        from mpi4py.util import pkl5
        comm = pkl5.Intracomm(MPI.COMM_WORLD)
        assert comm.allgather(np.full(100_000, comm.rank))[1][7] == 1
        for name, words in (("futures", "ProcessPoolExecutor"), ("util.pool", "ProcessPoolExecutor"), ("util.dtlib", "dtype")):
            package, _, module = f"mpi4py.{name}".rpartition(".")
            try:
                exec(f"from {package} import {module}")
            except ModuleNotFoundError as error:
                assert f"mpi4py.{name} is not offered" in str(error) and words in str(error), error
            else:
                raise AssertionError
        """
    )
