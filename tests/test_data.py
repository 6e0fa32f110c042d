"""Data of unusual kinds: long double, DLPack, and elements that are too large for the core's reductions."""

import sys

import numpy as np
import pytest

import phicoll
from conftest import run
from phicoll import IN_PLACE, MAX, MIN, PROD, SUM


def test_long_doubles_are_combined(mode):
    def work(comm):
        tiny = np.finfo(np.longdouble).eps  # lost in a double
        every = 1 + tiny * np.arange(1, comm.size + 1)
        mine = np.full(5, every[comm.rank])
        got = np.zeros_like(mine)
        for op, wanted in [(SUM, sum), (PROD, np.prod), (MIN, min), (MAX, max)]:
            comm.Allreduce(mine, got, op)
            assert (got == wanted(every)).all()
        comm.Allreduce(IN_PLACE, mine, MAX)
        assert (mine == 1 + comm.size * tiny).all()
        twisted = np.full(3, 1 + comm.rank * 1j, np.clongdouble)
        found = np.zeros_like(twisted)
        comm.Reduce([twisted, phicoll.C_LONG_DOUBLE_COMPLEX], found, SUM, 1)
        if comm.rank == 1:
            assert (found == comm.size + sum(range(comm.size)) * 1j).all()
        with pytest.raises(phicoll.ArgumentError, match="MAX on elements of complex256"):
            comm.Allreduce(twisted, found, MAX)
        return True

    assert run(work, 3, mode) == [True] * 3


class Tensor:
    """Memory with DLPack's protocol alone."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        if self.device != 1:
            raise BufferError("on another device")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class OldTensor(Tensor):
    """Of a library from before DLPack 1.0, as PyTorch's were for long: its memory is not said to be writable."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_tensors_are_buffers(kind):
    def work(comm):
        mine, got = kind(np.full(4, comm.rank + 1.0)), kind(np.zeros(4))
        comm.Allreduce(mine, got, SUM)
        assert got.array.tolist() == [3.0] * 4
        whole = kind(np.zeros((2, 4), np.float32))
        comm.Allgather(kind(np.full(4, comm.rank, np.float32)), [whole, phicoll.FLOAT])
        assert whole.array.tolist() == [[0.0] * 4, [1.0] * 4]
        other = 1 - comm.rank
        comm.Sendrecv(mine, other, recvbuf=got, source=other)
        assert got.array.tolist() == [other + 1.0] * 4
        return True

    assert run(work, 2) == [True, True]


def test_tensors_of_another_device_or_without_write_access_are_refused():
    comm = phicoll.COMM_SELF
    with pytest.raises(phicoll.ArgumentError, match=r"sendbuf: got a Tensor.*CPU"):
        comm.Allreduce(Tensor(np.ones(1), device=2), np.ones(1))
    fixed = np.ones(1)
    fixed.flags.writeable = False
    with pytest.raises(phicoll.ArgumentError, match="buf: got a read-only buffer"):
        comm.Irecv(Tensor(fixed), 0)
    got = np.zeros(1)
    comm.Allreduce(Tensor(fixed), got)  # may be read
    assert got.tolist() == [1]


def test_a_tensor_s_capsule_is_kept_while_a_call_uses_its_memory():
    class Counted(Tensor):
        def __dlpack__(self, **options):
            self.capsule = super().__dlpack__(**options)
            return self.capsule

    tensor = Counted(np.zeros(1))
    request = phicoll.COMM_SELF.Irecv(tensor, 0)
    during = sys.getrefcount(tensor.capsule)
    phicoll.COMM_SELF.Send(np.ones(1), 0)
    request.Wait()
    assert tensor.array[0] == 1
    del request
    after = sys.getrefcount(tensor.capsule)
    assert after < during


def matrices(rank, count):
    return np.random.default_rng(rank).integers(0, 3, (count, 6, 7, 7)).astype(np.float64)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_user_s_elements_may_be_of_any_size(ranks, mode):
    """Products of matrices, which do not commute: 6 of 7 x 7 in an element of 2352 bytes."""
    element = np.dtype((np.void, 6 * 7 * 7 * 8))

    def product(left, right, datatype):
        a = np.frombuffer(left, np.float64).reshape(-1, 7, 7)
        b = np.frombuffer(right, np.float64).reshape(-1, 7, 7)
        b[...] = a @ b

    op = phicoll.Op.Create(product)

    def overlapping(comm):
        both = np.zeros(3, element)
        comm.Allreduce(both[:2], both[1:], op)

    def work(comm):
        count = 2 * comm.size
        mine = matrices(comm.rank, count)
        upto = [matrices(0, count)]
        for rank in range(1, comm.size):
            upto.append(upto[-1] @ matrices(rank, count))

        def elements(array):
            return array.reshape(-1).view(element)

        got = np.zeros_like(mine)
        comm.Allreduce(elements(mine), elements(got), op)
        assert (got == upto[-1]).all()
        got[...] = mine
        comm.Reduce(IN_PLACE if comm.rank == 0 else elements(got), elements(got), op)
        assert (got == (upto[-1] if comm.rank == 0 else mine)).all()
        comm.Scan(elements(mine), elements(got), op)
        assert (got == upto[comm.rank]).all()
        got[...] = -1
        comm.Exscan(elements(mine), elements(got), op)
        assert (got == (upto[comm.rank - 1] if comm.rank else -1)).all()
        part = np.zeros((2, *mine.shape[1:]))
        wanted = upto[-1][2 * comm.rank : 2 * comm.rank + 2]
        comm.Reduce_scatter_block(elements(mine), elements(part), op)
        assert (part == wanted).all()
        part[...] = 0
        comm.Reduce_scatter(elements(mine), elements(part), [2] * comm.size, op)
        assert (part == wanted).all()
        with pytest.raises(phicoll.ArgumentError, match="algorithm: got 'ring'; allowed: none for elements"):
            comm.Allreduce(elements(mine), elements(got), op, algorithm="ring")
        return True

    assert run(work, ranks, mode) == [True] * ranks
    with pytest.raises(phicoll.ArgumentError, match="recvbuf: got memory that overlaps sendbuf"):
        run(overlapping, ranks, mode)
