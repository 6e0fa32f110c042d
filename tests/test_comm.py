"""phicoll.Comm against a plain computation with NumPy: every operation, type, operator and root, by threads and processes."""

from __future__ import annotations

import array
import functools
import importlib.util
import itertools
import operator
import re
from pathlib import Path

import numpy as np
import pytest

import phicoll
from phicoll.comm import DATATYPES, OPERATORS

GROUPS = [
    (1, "threads"),
    (2, "processes"),
    (4, "threads"),
    (5, "threads"),
    (3, "processes"),
]
LONG_GROUPS = [(3, "threads"), (5, "processes")]

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
if importlib.util.find_spec("ml_dtypes"):
    importlib.import_module("ml_dtypes")  # names the dtype for NumPy
    FLOATS.append("bfloat16")
COMPLEX = ["complex64", "complex128"]
PAIRS = ["FLOAT_INT", "DOUBLE_INT", "LONG_INT", "TWO_INT", "SHORT_INT"]


@pytest.fixture(
    params=[*GROUPS, *(pytest.param(group, marks=pytest.mark.long) for group in LONG_GROUPS)],
    ids=[f"{ranks}-{mode}" for ranks, mode in GROUPS + LONG_GROUPS],
)
def run(request):
    ranks, mode = request.param
    return functools.partial(phicoll.run, ranks=ranks, mode=mode)


def values(rank, count, dtype, op="SUM"):
    """The input of a rank: different for each rank and element, and small enough that every operator is exact."""
    numbers = (np.arange(count) * 7 + rank * 3) % 5 + (1 if op == "PROD" else 0)
    if op in ("LAND", "LOR", "LXOR"):
        numbers = numbers % 2
    if np.dtype(dtype).kind == "c":
        return (numbers + 1j * (rank % 2)).astype(dtype)
    return numbers.astype(dtype)


def pairs(rank, count, name):
    dtype = DATATYPES[name].dtype
    found = np.zeros(count, dtype)
    found["value"] = (np.arange(count) * 3 + rank) % 3
    found["index"] = rank
    return found


UFUNCS = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
    "LAND": np.logical_and,
    "LOR": np.logical_or,
    "LXOR": np.logical_xor,
}


def combined(arrays, op):
    """The plain computation, in rank order."""
    if op in ("MINLOC", "MAXLOC"):
        return np.array(
            [
                tuple(functools.reduce(OPERATORS[op], [tuple(a[i]) for a in arrays]))
                for i in range(len(arrays[0]))
            ],
            arrays[0].dtype,
        )
    return functools.reduce(UFUNCS[op], arrays).astype(arrays[0].dtype)


def fitting():
    for op in ("SUM", "PROD"):
        yield from ((op, name) for name in INTEGERS + FLOATS + COMPLEX)
    for op in ("MIN", "MAX"):
        yield from ((op, name) for name in INTEGERS + FLOATS)
    for op in ("BAND", "BOR", "BXOR"):
        yield from ((op, name) for name in INTEGERS)
    for op in ("LAND", "LOR", "LXOR"):
        yield from ((op, name) for name in [*INTEGERS, "bool"])
    for op in ("MINLOC", "MAXLOC"):
        yield from ((op, name) for name in PAIRS)


def made(rank, count, name, op):
    return pairs(rank, count, name) if name in PAIRS else values(rank, count, name, op)


def same(got, wanted):
    assert got.dtype == wanted.dtype, (got.dtype, wanted.dtype)
    np.testing.assert_array_equal(got, wanted)


# Reductions


def test_reductions_of_every_operator_and_type(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        cases = [(op, name, 13) for op, name in fitting()]
        for op, name, count in [*cases, ("SUM", "float64", 0), ("MAX", "int8", 0), ("SUM", "float64", 1)]:
            everyone = [made(rank, count, name, op) for rank in range(P)]
            mine = everyone[me].copy()
            o = getattr(phicoll, op)
            wanted = combined(everyone, op)

            got = np.zeros_like(mine)
            comm.Allreduce(mine, got, o)
            same(got, wanted)
            got[...] = mine
            comm.Allreduce(phicoll.IN_PLACE, got, o)
            same(got, wanted)

            root = (count + len(name)) % P
            got = np.zeros_like(mine)
            comm.Reduce(mine, got if me == root else None, o, root)
            same(got, wanted if me == root else np.zeros_like(mine))
            got[...] = mine
            comm.Reduce(phicoll.IN_PLACE if me == root else got, got, o, root)
            same(got, wanted if me == root else mine)

            got = np.zeros_like(mine)
            comm.Scan(mine, got, o)
            same(got, combined(everyone[: me + 1], op))
            comm.Exscan(mine, got, o)
            same(got, combined(everyone[:me] if me else everyone[:1], op))

            blocks = [made(rank, count * P, name, op) for rank in range(P)]
            wanted = combined(blocks, op)[me * count : (me + 1) * count]
            got = np.zeros_like(mine)
            comm.Reduce_scatter_block(blocks[me], got, o)
            same(got, wanted)
            whole = blocks[me].copy()
            comm.Reduce_scatter_block(phicoll.IN_PLACE, whole, o)
            same(whole[:count], wanted)

            counts = [(rank + count) % 4 for rank in range(P)]
            at = [sum(counts[:rank]) for rank in range(P)]
            blocks = [made(rank, sum(counts), name, op) for rank in range(P)]
            wanted = combined(blocks, op)[at[me] : at[me] + counts[me]]
            got = np.zeros(counts[me], mine.dtype)
            comm.Reduce_scatter(blocks[me], got, counts, o)
            same(got, wanted)
            comm.Reduce_scatter(blocks[me], got, op=o)
            same(got, wanted)
            whole = blocks[me].copy()
            comm.Reduce_scatter(phicoll.IN_PLACE, whole, counts, o)
            same(whole[: counts[me]], wanted)

    run(check)


@pytest.mark.parametrize("direct", [None, 2000])
def test_arrays_in_shared_memory_may_be_written_over_at_once(run, direct):
    """Some ranks' data is read where it lies, others' copied; `auto` has it read from 64 KB to 2 MB on."""

    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        count = 500 if direct else 280_000
        for operation, algorithm in [
            ("broadcast", "ring"),
            ("gather", "mailbox"),
            ("scatter", "mailbox"),
            ("allgather", "one-shot"),
            ("alltoall", "one-shot"),
            ("reduce", "mailbox"),
            ("allreduce", "sliced"),
            ("reduce_scatter", "one-shot"),
        ]:
            comm.select(operation, f"{algorithm}:direct={direct}" if direct else "auto")

        def mine(blocks, place):
            shape = blocks * count
            return comm.empty(shape, np.float64) if (me + place) % 3 else np.empty(shape)

        one, all_, got, got_all = mine(1, 0), mine(P, 1), mine(1, 2), mine(P, 0)

        def written(array, salt):
            array[:] = np.arange(array.size) % 1000 + 1000 * me + salt
            return array

        def from_rank(rank, size, salt):
            return np.arange(size) % 1000 + 1000.0 * rank + salt

        def singles(salt):
            return [from_rank(rank, count, salt) for rank in range(P)]

        def parts(salt):
            """What each rank has for this one."""
            at = slice(me * count, (me + 1) * count)
            return [from_rank(rank, P * count, salt)[at] for rank in range(P)]

        root = me == 0
        calls = [
            (lambda: comm.Bcast(one if root else got, 0), got, not root, lambda s: singles(s)[0]),
            (lambda: comm.Gather(one, got_all, 0), got_all, root, lambda s: np.concatenate(singles(s))),
            (lambda: comm.Scatter(all_, got, 0), got, True, lambda s: parts(s)[0]),
            (lambda: comm.Allgather(one, got_all), got_all, True, lambda s: np.concatenate(singles(s))),
            (lambda: comm.Alltoall(all_, got_all), got_all, True, lambda s: np.concatenate(parts(s))),
            (lambda: comm.Reduce(one, got, root=0), got, root, lambda s: sum(singles(s))),
            (lambda: comm.Allreduce(one, got), got, True, lambda s: sum(singles(s))),
            (lambda: comm.Reduce_scatter_block(all_, got), got, True, lambda s: sum(parts(s))),
        ]
        for salt, (call, result, gets, wanted) in enumerate(calls * 2):
            written(one, salt)
            written(all_, salt)
            call()
            one[:] = all_[:] = -1
            if gets:
                same(result, wanted(salt))

    run(check)


def test_large_reductions_are_the_same_bits_everywhere(run):
    def check(comm):
        count = 100_003
        everyone = [np.random.default_rng(rank).normal(size=count) for rank in range(comm.size)]
        got = np.empty(count)
        comm.Allreduce(everyone[comm.rank], got)
        np.testing.assert_allclose(got, sum(everyone), rtol=1e-12, atol=1e-12)
        again = np.empty(count)
        comm.Allreduce(everyone[comm.rank], again)
        assert got.tobytes() == again.tobytes()
        return got.tobytes()

    assert len(set(run(check))) == 1


def test_user_defined_operators(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        seen = []

        def multiply(left, inout, datatype):
            """2 x 2 matrices: not commutative."""
            seen.append(datatype)
            a = np.frombuffer(left, datatype.dtype).reshape(-1, 2, 2)
            b = np.frombuffer(inout, datatype.dtype).reshape(-1, 2, 2)
            b[...] = a @ b

        matrices = np.dtype((np.void, 32))
        op = phicoll.Op.Create(multiply, commute=False)
        everyone = [np.array([[1.0, rank], [1, 1]]) for rank in range(P)]
        wanted = functools.reduce(np.matmul, everyone)

        def multiply_whole(left, inout, datatype):
            a = np.frombuffer(left, np.float64).reshape(-1, 2, 2)
            b = np.frombuffer(inout, np.float64).reshape(-1, 2, 2)
            b[...] = a @ b

        whole = phicoll.Op.Create(multiply_whole, commute=False)
        got = np.empty((2, 2))
        comm.Allreduce([everyone[me], 1, matrices], [got, 1, matrices], whole)
        same(got, wanted)
        got = np.zeros((2, 2))
        comm.Reduce([everyone[me], 1, matrices], [got, 1, matrices], whole, P - 1)
        same(got, wanted if me == P - 1 else np.zeros((2, 2)))
        comm.Scan([everyone[me], 1, matrices], [got, 1, matrices], whole)
        same(got, functools.reduce(np.matmul, everyone[: me + 1]))
        whole.Free()
        with pytest.raises(phicoll.ArgumentError, match="freed"):
            comm.Allreduce(got.copy(), got, whole)

        largest = phicoll.Op.Create(
            lambda a, b, t: np.maximum(
                np.frombuffer(a, t.dtype), np.frombuffer(b, t.dtype), out=np.frombuffer(b, t.dtype)
            ),
            commute=True,
        )
        result = np.empty(1000, np.int32)
        comm.Allreduce(values(me, 1000, "int32"), result, largest)
        same(result, combined([values(rank, 1000, "int32") for rank in range(P)], "MAX"))
        assert op.Is_commutative() is False
        assert largest.Is_commutative() is True
        assert not largest.Is_predefined()
        assert phicoll.SUM.Is_predefined()

    run(check)


@pytest.mark.parametrize("ranks", [2, 3])
def test_an_operator_that_is_not_commutative_is_refused_where_operands_change_places(ranks):
    def check(comm, commute):
        def add(left, inout, datatype):
            total = np.frombuffer(inout, datatype.dtype)
            total += np.frombuffer(left, datatype.dtype)

        found = np.empty(4)
        operator = phicoll.Op.Create(add, commute=commute)
        comm.Allreduce(np.ones(4), found, operator, algorithm="bruck:bit_identical=no")
        return list(found)

    assert phicoll.run(check, ranks, "threads", args=(True,)) == [[ranks] * 4] * ranks
    with pytest.raises(phicoll.ArgumentError, match="allowed: a commutative operator"):
        phicoll.run(check, ranks, "threads", args=(False,))


# Moving data


def test_moving_data_of_any_type_to_and_from_every_root(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        structured = np.dtype([("a", "i1"), ("b", "f8"), ("c", "S3")])
        for dtype in ("int8", "float64", "?", "S5", "<U3", "datetime64[s]", ">i4", "float16", structured):
            dtype = np.dtype(dtype)
            for root, count in itertools.product(range(P), (0, 1, 11)):

                def block(rank, to=0, count=count, dtype=dtype):
                    bits = np.random.default_rng([rank, to]).integers(0, 2, count * dtype.itemsize)
                    if dtype.kind == "U":
                        return np.array([chr(65 + rank + to)] * count, dtype)
                    return bits.astype(np.uint8).view(dtype)

                everyone = np.stack([block(rank) for rank in range(P)]).astype(dtype)

                got = block(me).copy()
                comm.Bcast(got, root)
                same(got, everyone[root])

                got = np.zeros((P, count), dtype)
                comm.Gather(block(me), got if me == root else None, root)
                same(got, everyone if me == root else np.zeros_like(got))
                if me == root:
                    got[...] = np.zeros_like(got)
                    got[me] = block(me)
                comm.Gather(phicoll.IN_PLACE if me == root else block(me), got, root)
                same(got, everyone if me == root else np.zeros_like(got))

                got = np.zeros(count, dtype)
                comm.Scatter(everyone if me == root else None, got, root)
                same(got, everyone[me])
                got = np.zeros(count, dtype)
                comm.Scatter(everyone.copy(), phicoll.IN_PLACE if me == root else got, root)
                same(got, np.zeros_like(got) if me == root else everyone[me])

            got = np.zeros((P, count), dtype)
            comm.Allgather(block(me), got)
            same(got, everyone)
            got = np.zeros((P, count), dtype)
            got[me] = block(me)
            comm.Allgather(phicoll.IN_PLACE, got)
            same(got, everyone)

            sent = np.stack([block(me, to) for to in range(P)]).astype(dtype)
            wanted = np.stack([block(rank, me) for rank in range(P)]).astype(dtype)
            got = np.zeros((P, count), dtype)
            comm.Alltoall(sent, got)
            same(got, wanted)
            got = sent.copy()
            comm.Alltoall(phicoll.IN_PLACE, got)
            same(got, wanted)

    run(check)


def test_vector_versions_put_every_block_in_its_place(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        counts = [(rank * 2 + 1) % 4 for rank in range(P)]
        at = [rank * 5 + 1 for rank in range(P)]

        def block(rank, to=0, count=None):
            return np.arange(counts[rank] if count is None else count) + 100.0 * rank + 1000 * to

        wanted = np.full(P * 5, -1.0)
        for rank in range(P):
            wanted[at[rank] : at[rank] + counts[rank]] = block(rank)
        nothing = np.full(P * 5, -1.0)
        packed = np.concatenate([block(rank) for rank in range(P)])

        for root in range(P):
            got = nothing.copy()
            comm.Gatherv(block(me), [got, counts, at, phicoll.DOUBLE] if me == root else None, root)
            same(got, wanted if me == root else nothing)
            got = nothing.copy()
            if me == root:
                got[at[me] : at[me] + counts[me]] = block(me)
            comm.Gatherv(phicoll.IN_PLACE if me == root else block(me), [got, (counts, at), "d"], root)
            same(got, wanted if me == root else nothing)
            got = np.zeros(sum(counts))
            comm.Gatherv(block(me), [got, counts], root)
            same(got, packed if me == root else np.zeros_like(got))

            got = np.zeros(counts[me])
            comm.Scatterv([wanted, (counts, at), phicoll.DOUBLE] if me == root else None, got, root)
            same(got, block(me))
            got = np.zeros(counts[me])
            comm.Scatterv([wanted.copy(), (counts, at)], phicoll.IN_PLACE if me == root else got, root)
            same(got, np.zeros_like(got) if me == root else block(me))

        got = nothing.copy()
        comm.Allgatherv(block(me), [got, (counts, at)])
        same(got, wanted)
        got = nothing.copy()
        got[at[me] : at[me] + counts[me]] = block(me)
        comm.Allgatherv(phicoll.IN_PLACE, [got, (counts, at), np.float64])
        same(got, wanted)
        got = np.zeros((P, 2))
        comm.Allgatherv(block(me, count=2), [got, 2])
        same(got, np.stack([block(rank, count=2) for rank in range(P)]))

        # From `me` to `to`: (me + 2 * to) % 3 elements.
        sizes = [[(rank + 2 * to) % 3 for to in range(P)] for rank in range(P)]
        mine, theirs = sizes[me], [sizes[rank][me] for rank in range(P)]
        sent = np.concatenate([block(me, to, mine[to]) for to in range(P)])
        got = np.full(P * 4, -1.0)
        comm.Alltoallv([sent, mine], [got, (theirs, 4)])
        expected = np.full(P * 4, -1.0)
        for rank in range(P):
            expected[rank * 4 : rank * 4 + theirs[rank]] = block(rank, me, theirs[rank])
        same(got, expected)

        # In place as much goes one way as the other.
        sizes = [[(rank + to) % 3 for to in range(P)] for rank in range(P)]
        mine = sizes[me]
        got = np.full(P * 4, -1.0)
        expected = got.copy()
        for rank in range(P):
            got[rank * 4 : rank * 4 + mine[rank]] = block(me, rank, mine[rank])
            expected[rank * 4 : rank * 4 + mine[rank]] = block(rank, me, mine[rank])
        comm.Alltoallv(phicoll.IN_PLACE, [got, (mine, 4)])
        same(got, expected)

    run(check)


def test_large_messages(mode):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        for n in (5_000, 300_001):
            mine = np.arange(n) * (me + 1.0)
            everyone = np.stack([np.arange(n) * (rank + 1.0) for rank in range(P)])
            got = mine.copy()
            comm.Bcast(got, P - 1)
            same(got, everyone[-1])
            whole = np.zeros((P, n))
            comm.Allgather(mine, whole)
            same(whole, everyone)
            whole = np.zeros((P, n))
            comm.Gather(mine, whole, 0)
            same(whole, everyone if me == 0 else np.zeros((P, n)))
            got = np.zeros(n)
            comm.Scatter(everyone if me == 0 else None, got)
            same(got, mine)
            got = np.zeros((P, n))
            comm.Alltoall(np.stack([mine + to for to in range(P)]), got)
            same(got, everyone + me)
            got = np.zeros(n)
            comm.Scan(mine, got)
            same(got, everyone[: me + 1].sum(0))

    phicoll.run(check, ranks=3, mode=mode)


# Buffers


def test_buffers_of_all_kinds(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        root = P - 1

        got = bytearray(b"....." if me != root else b"hello")
        comm.Bcast(got, root)
        assert bytes(got) == b"hello"
        got = array.array("i", [me, me])
        comm.Allreduce(phicoll.IN_PLACE, got)
        assert list(got) == [sum(range(P))] * 2
        numbers = (
            memoryview(array.array("d", [0.0] * 4)) if me != root else memoryview(array.array("d", range(4)))
        )
        comm.Bcast([numbers, 2, phicoll.DOUBLE], root)
        assert list(numbers) == ([0, 1, 2, 3] if me == root else [0, 1, 0, 0])
        comm.Bcast([numbers, (1, 3), phicoll.DOUBLE], root)
        assert list(numbers) == ([0, 1, 2, 3] if me == root else [0, 1, 0, 3])
        comm.Bcast(b"read only" if me == root else bytearray(9), root)

        # A scalar's array, Fortran's order as it lies in memory.
        number = np.array(float(me))
        comm.Allreduce(phicoll.IN_PLACE, number, phicoll.MAX)
        assert number == P - 1
        matrix = np.asfortranarray(np.arange(6.0).reshape(2, 3) * (me == root))
        comm.Bcast(matrix, root)
        same(np.ascontiguousarray(matrix), np.arange(6.0).reshape(2, 3))

        # With gaps: by way of a packed copy.
        wide = np.zeros((4, 6), np.int32)
        wide[:, ::2] = me + 1
        comm.Allreduce(wide[:, ::2].copy(), wide[:, 1::2])
        assert (wide[:, ::2] == me + 1).all()
        assert (wide[:, 1::2] == P * (P + 1) // 2).all()
        comm.Bcast(wide[:, 1::2], root)
        gathered = np.full((P, 8), -1, np.int64)
        comm.Allgatherv(np.arange(8)[::4] + 10 * me, [gathered[:, ::2], (2, 4)])
        assert (gathered[:, [0, 2]] == np.array([[0, 4]]) + 10 * np.arange(P)[:, None]).all()
        assert (gathered[:, [1, 3, 4, 5, 6, 7]] == -1).all()

        # In the shared heap.
        shared = comm.empty((3, 4), np.int16)
        assert shared.shape == (3, 4)
        assert shared.dtype == np.int16
        shared[...] = me
        received = comm.empty((P, 12), "i2")
        comm.Allgather(shared, received)
        same(np.array(received), np.repeat(np.arange(P, dtype=np.int16)[:, None], 12, 1))
        assert comm.empty(0).shape == (0,)
        assert comm.empty(5).dtype == np.float64
        return shared  # outlives the group

    found = run(check)
    for rank, shared in enumerate(found):
        assert (shared == rank).all()


def test_the_heap_s_memory_comes_back(run):
    def check(comm):
        for _ in range(200):
            comm.empty(1 << 20, np.uint8)[-1] = 1
        return True

    assert all(run(check, heap_limit=8 << 20))


# Objects


def test_objects(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        mine = {"rank": me, "text": "x" * (1000 * me), "array": np.arange(me)}
        everyone = [("of", rank, "x" * rank) for rank in range(P)]
        for root in range(P):
            assert comm.bcast(everyone[me], root) == everyone[root]
            found = comm.gather(everyone[me], root)
            assert found == (everyone if me == root else None)
            assert comm.scatter(everyone if me == root else None, root) == everyone[me]
            total = comm.reduce([me], phicoll.SUM, root)
            assert total == (list(range(P)) if me == root else None)
        found = comm.allgather(mine)
        assert [one["rank"] for one in found] == list(range(P))
        assert all(len(one["text"]) == 1000 * rank for rank, one in enumerate(found))
        assert comm.alltoall([(me, to) for to in range(P)]) == [(rank, me) for rank in range(P)]
        assert comm.allreduce(me) == sum(range(P))
        assert comm.allreduce((me % 2, me), phicoll.MAXLOC) == ((1, 1) if P > 1 else (0, 0))
        assert comm.allreduce("ab"[me % 2], operator.add) == "".join("ab"[rank % 2] for rank in range(P))
        assert comm.scan([me]) == list(range(me + 1))
        assert comm.exscan([me]) == (list(range(me)) if me else None)
        assert comm.allreduce(me + 1, phicoll.Op.Create(lambda x, y, t: x * y)) == np.prod(range(1, P + 1))
        assert comm.bcast((lambda: me) if me == 0 else None)() == 0
        comm.barrier()

    run(check)


# Communicators


def test_split_dup_and_free(run):
    def check(comm):
        P, me = comm.size, comm.rank  # noqa: N806
        for _ in range(3):
            part = comm.Split(me % 2, -me)
            members = [rank for rank in reversed(range(P)) if rank % 2 == me % 2]
            assert part.size == len(members)
            assert part.rank == members.index(me)
            assert part.allgather(me) == members
            got = np.zeros(part.size)
            part.Allgather(np.array([float(me)]), got)
            same(got, np.array(members, float))
            twin = part.Dup()
            assert twin.allreduce(1) == part.allreduce(1) == len(members)
            twin.Free()
            part.Free()
            with pytest.raises(phicoll.Error, match="freed"):
                part.Barrier()
        none = comm.Split(phicoll.UNDEFINED if me == 0 else 0)
        if me == 0:
            assert none is phicoll.COMM_NULL
            assert not none
            with pytest.raises(phicoll.Error, match="COMM_NULL"):
                none.Barrier()
        else:
            assert none.size == P - 1
        left = comm.Dup()  # never freed: ends with the group
        left.Barrier()
        with pytest.raises(phicoll.ArgumentError, match="Split or Dup"):
            comm.Free()
        alone = phicoll.COMM_SELF
        got = np.zeros(1)
        alone.Allreduce(np.ones(1), got)
        assert got[0] == 1
        assert alone.allgather("x") == ["x"]
        assert repr(alone) == "phicoll.COMM_SELF"
        assert repr(comm) == f"<phicoll.Comm rank {me} of {P}>"

    run(check)


def test_many_communicators_are_held_at_a_time():
    def check(comm):
        parts = [comm.Dup() for _ in range(100)]
        assert [part.allreduce(1) for part in parts] == [comm.size] * 100
        found = np.zeros(1 << 20)
        parts[-1].Allreduce(np.ones(1 << 20), found)
        assert (found == comm.size).all()

    phicoll.run(check, ranks=2)


def test_a_program_on_its_own_may_hold_hundreds_of_communicators():
    parts = [phicoll.COMM_SELF.Dup() for _ in range(300)]
    for part in parts:
        assert part.allgather("x") == ["x"]
        found = np.zeros(100_000)
        part.Allreduce(np.ones(100_000), found)
        assert found.sum() == 100_000


def test_an_algorithm_can_be_chosen_and_is_told(run):
    def check(comm):
        got = np.zeros(4)
        for algorithm in ("auto", "flat-tree", "recursive-doubling"):
            comm.Allreduce(np.ones(4), got, algorithm=algorithm)
            assert (got == comm.size).all()
        with pytest.raises(phicoll.ArgumentError, match=r"no-such-algorithm"):
            comm.Allreduce(np.ones(4), got, algorithm="no-such-algorithm")
        comm.Barrier()
        before = comm.why("allreduce", 32)
        comm.select("allreduce", "recursive-doubling")
        assert comm.why("allreduce", 32).startswith("recursive-doubling")
        comm.Allreduce(np.ones(4), got)
        assert (got == comm.size).all()
        comm.select("allreduce", "auto")
        assert comm.why("allreduce", 32) == before
        with pytest.raises(phicoll.ArgumentError, match=r"operation: got 'sorting'"):
            comm.why("sorting", 32)
        return before

    assert len(set(run(check))) == 1


def test_the_environment_chooses_an_algorithm_for_all_and_is_told(run, monkeypatch):
    def check(comm):
        got = np.full(4, float(comm.rank))
        comm.Bcast(got)
        assert (got == 0).all()
        return comm.why("broadcast", 32)

    monkeypatch.setenv("PHICOLL_BROADCAST", "binomial")
    for told in run(check):
        assert re.fullmatch(r"binomial.*: PHICOLL_BROADCAST in the environment", told)
    monkeypatch.setenv("PHICOLL_BROADCAST", "nope")
    with pytest.raises(phicoll.Error, match=r"PHICOLL_BROADCAST: got 'nope'; allowed: .*binomial"):
        run(check)


def test_the_environment_chooses_the_barrier_too(run, monkeypatch):
    def check(comm):
        comm.Barrier()
        before = comm.why("barrier")
        comm.select("barrier", "auto")
        comm.Barrier()
        part = comm.Dup()
        part.Barrier()
        return before, comm.why("barrier"), part.why("barrier")

    def select_first(comm):
        comm.select("barrier", "auto")
        return comm.why("barrier")

    monkeypatch.setenv("PHICOLL_BARRIER", "sense-reversing:reset=episode")
    for before, after, part in run(check):
        assert re.fullmatch(r"sense-reversing.*: PHICOLL_BARRIER in the environment", before)
        assert part == before
        assert "PHICOLL_BARRIER" not in after
    assert all("PHICOLL_BARRIER" not in told for told in run(select_first))
    monkeypatch.setenv("PHICOLL_BARRIER", "nope")
    with pytest.raises(phicoll.Error, match=r"PHICOLL_BARRIER: got 'nope'; allowed: .*dissemination"):
        run(check)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("PHICOLL_BCAST", "PHICOLL_BROADCAST"),
        ("PHICOLL_ALL_REDUCE", "PHICOLL_ALLREDUCE"),
        ("PHICOLL_Allreduce", "PHICOLL_ALLREDUCE"),
        ("PHICOLL_GATHERV", "PHICOLL_GATHER"),
        ("PHICOLL_EXSCAN", "PHICOLL_SCAN"),
        ("PHICOLL_REDUCE_SCATTER_BLOCK", "PHICOLL_REDUCE_SCATTER"),
        ("PHICOLL_BRODCAST", "PHICOLL_BROADCAST"),
    ],
)
def test_a_variable_that_would_be_ignored_is_refused(monkeypatch, wrong, right):
    monkeypatch.setenv(wrong, "ring")
    for call in ("Barrier", "bcast"):
        with pytest.raises(phicoll.Error, match=rf"^{wrong}: got 'ring'; allowed: {right} instead"):
            phicoll.run(
                lambda comm, call=call: getattr(comm, call)(*[1] * (call == "bcast")), ranks=1, mode="threads"
            )


def test_an_empty_variable_is_as_good_as_none(monkeypatch):
    for name in ("PHICOLL_BROADCAST", "PHICOLL_BARRIER", "PHICOLL_BCAST"):
        monkeypatch.setenv(name, "")

    def check(comm):
        comm.Barrier()
        return comm.bcast(5), comm.why("broadcast", 8), comm.why("barrier")

    for got, *why in phicoll.run(check, ranks=2, mode="threads"):
        assert got == 5
        assert not any("in the environment" in told for told in why)


def test_other_variables_are_left_alone(monkeypatch):
    for name in ("TUNING", "WAIT", "QUICK", "TEST_LONG", "TEST_SEED", "BENCH", "RANK_OF_MINE", "SCALE"):
        monkeypatch.setenv(f"PHICOLL_{name}", "none")
    assert phicoll.run(lambda comm: (comm.Barrier(), comm.allreduce(1))[1], ranks=2, mode="threads") == [2, 2]


def test_why_takes_the_names_of_all_calls(run):
    calls = [
        *("Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather"),
        *("Allgatherv", "Alltoall", "Alltoallv", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block"),
    ]

    def check(comm):
        for name in calls:
            assert hasattr(comm, name)
            assert comm.why(name, 4096) == comm.why(name.lower(), 4096)
        # Calls with counts have their own rule, independent of the bytes, if ranks do not know all counts.
        for name in ("gatherv", "scatterv", "alltoallv"):
            assert comm.why(name, 1 << 24) == comm.why(name) == comm.why(name, 1)
            assert "any counts" in comm.why(name)
        assert comm.why("exscan", 4096) == comm.why("scan", 4096)
        assert comm.why("gather", 8 << 20).startswith("single-copy")
        comm.select("gather", "single-copy")
        assert comm.why("gather", 8).startswith("single-copy")
        with pytest.raises(phicoll.ArgumentError, match="blocks of one size"):
            comm.why("gatherv", 8)
        assert comm.why("bcast", 4096) == comm.why("broadcast", 4096)

    run(check)


def test_who_accepts_other_last_bits_may_add_floats_by_bruck(run):
    def check(comm):
        send, got = values(comm.rank, 100, "float64"), np.zeros(100)
        if comm.size > 1:
            with pytest.raises(phicoll.ArgumentError, match="bit_identical=no"):
                comm.Allreduce(send, got, algorithm="bruck")
        comm.Allreduce(send, got, algorithm="bruck:bit_identical=no")
        assert (got == sum(values(r, 100, "float64") for r in range(comm.size))).all()

    run(check)


def test_no_communicator_can_be_sent(run):
    assert run(lambda comm: phicoll.COMM_NULL)[0] is phicoll.COMM_NULL


def test_create_group_gives_no_communicator_to_other_ranks(run):
    def check(comm):
        first = comm.Create_group(comm.Get_group().Incl([0]))
        assert (first is phicoll.COMM_NULL) == (comm.rank != 0)
        assert comm.Create_group(comm.Get_group().Incl([])) is phicoll.COMM_NULL
        if comm.rank == 0:
            assert first.allreduce(2) == 2
            first.Free()

    run(check)


# What is refused


EVERYONE_SEES = [
    ("comm.Create(None)", "group: got None; allowed: a Group"),
    ("comm.Create_group([0])", "group: got [0]; allowed: a Group"),
    ("comm.Bcast(np.ones(3), root=comm.size)", "root: got {P}; allowed: 0..{last}"),
    ("comm.Bcast(np.ones(3), root=-1)", "root: got -1"),
    ("comm.Reduce(np.ones(3), np.ones(3), root='x')", "root: got 'x'"),
    ("comm.bcast(1, root=comm.size)", "root: got {P}"),
    (
        "comm.Allreduce(np.ones(3), np.zeros(3), phicoll.BAND)",
        "op: got BAND on elements of float64; allowed: BAND on int8",
    ),
    (
        "comm.Allreduce(np.ones(3, 'F'), np.zeros(3, 'F'), phicoll.MAX)",
        "op: got MAX on elements of complex64",
    ),
    (
        "comm.Allreduce(np.ones(3), np.zeros(3), phicoll.MINLOC)",
        "op: got MINLOC on elements of float64; allowed: MINLOC on FLOAT_INT",
    ),
    (
        "comm.Allreduce(np.zeros(3, 'M8[s]'), np.zeros(3, 'M8[s]'))",
        "op: got SUM on elements of datetime64[s]; allowed: SUM on int8, int16, int32, int64, uint8, uint16, uint32, "
        f"uint64, float32, float64, complex64, complex128, float16, bfloat16, {np.dtype('g')}, "
        f"{np.dtype('G')}",
    ),
    (
        "comm.Allreduce(np.ones(3), np.zeros(3), phicoll.LAND)",
        "op: got LAND on elements of float64; allowed: LAND on int8, int16, int32, int64, uint8, uint16, uint32, "
        "uint64, bool",
    ),
    (
        "comm.Allreduce(np.ones(3), np.zeros(3), phicoll.REPLACE)",
        "op: got REPLACE on elements of float64; allowed: REPLACE on objects",
    ),
    ("comm.Allreduce(np.ones(3), np.zeros(3), max)", "op: got <built-in function max>"),
    ("comm.allreduce(3, 'sum')", "op: got 'sum'"),
]

ONE_SEES = [
    ("comm.Allreduce(np.ones(3), np.zeros(2))", "recvbuf: got 2 elements; allowed: as many as sendbuf, 3"),
    (
        "comm.Allreduce(np.ones(3), np.zeros(3, 'f'))",
        "recvbuf: got elements of float32; allowed: those of sendbuf, float64",
    ),
    (
        "comm.Allreduce(np.ones(3), b'x' * 24)",
        "recvbuf: got a read-only buffer; allowed: a writable one",
    ),
    ("comm.Allreduce(*overlapping())", "recvbuf: got memory that overlaps sendbuf"),
    (
        "comm.Bcast([np.ones(3), 4])",
        "buf: got a buffer of 24 bytes; allowed: at least 32 bytes for 4 elements of float64",
    ),
    ("comm.Bcast([np.ones(3), (2, 2), 'd'])", "buf: got a buffer of 24 bytes; allowed: at least 32 bytes"),
    ("comm.Bcast([np.ones(3), -1])", "buf: got count -1; allowed: a whole number from 0"),
    ("comm.Bcast([bytearray(7), phicoll.INT])", "buf: got a buffer of 7 bytes without a count"),
    ("comm.Bcast([np.ones(3), 3, 'no type'])", "buf: got type 'no type'"),
    ("comm.Bcast(np.array([None]))", "buf: got elements of object"),
    ("comm.Bcast(3.5)", "buf: got a float; allowed: a NumPy array"),
    ("comm.Bcast((1, 2, 3, 4, 5))", "buf: got 5 items"),
    ("comm.Gather(np.ones(3), np.ones(3 * comm.size - 1), root=comm.rank)", "recvbuf: got a buffer of"),
    (
        "comm.Gather(np.ones(2), np.ones(3 * comm.size), root=comm.rank)",
        "sendbuf: got 16 bytes; allowed: 24, this rank's block",
    ),
    (
        "comm.Allgatherv(np.ones(1), [np.ones(9), [1] * (comm.size + 1)])",
        "recvbuf: got {more} counts; allowed: {P}",
    ),
    ("comm.Alltoallv([np.ones(2), [2] * comm.size], np.ones(9))", "sendbuf: got a buffer of 16 bytes"),
    ("comm.alltoall([1] * (comm.size + 1))", "sendobj: got {more} items; allowed: {P} items"),
    ("comm.empty(-1)", "shape: got -1"),
    ("comm.empty(3, object)", "dtype: got elements of object"),
]


def overlapping():
    memory = np.ones(10)
    return memory[:6], memory[2:8]


@pytest.mark.parametrize(("ranks", "mode"), [(2, "threads"), (3, "processes")])
def test_what_everyone_sees_is_refused_without_effect(ranks, mode):
    cases = EVERYONE_SEES

    def check(comm):
        for call, words in cases:
            text = words.format(P=comm.size, last=comm.size - 1)
            with pytest.raises(phicoll.ArgumentError, match=re.escape(text)):
                eval(call, {"comm": comm, "np": np, "phicoll": phicoll})
            assert comm.allreduce(1) == comm.size

    phicoll.run(check, ranks=ranks, mode=mode)


@pytest.mark.parametrize(("call", "words"), ONE_SEES, ids=[call[:40] for call, _ in ONE_SEES])
def test_what_one_rank_sees_breaks_the_group(call, words):
    def check(comm, told):
        if comm.rank == 1:
            eval(call, {"comm": comm, "np": np, "phicoll": phicoll, "overlapping": overlapping})
        else:
            with pytest.raises(phicoll.BrokenGroupError) as caught:
                comm.Barrier()
            told.append(caught.value.rank)

    told = []
    text = words.format(P=3, more=4)
    with pytest.raises(phicoll.ArgumentError, match=re.escape(text)) as caught:
        phicoll.run(check, ranks=3, mode="threads", args=(told,))
    assert caught.value.rank == 1
    assert told == [1, 1]


def test_a_user_s_operator_that_raises_breaks_the_group(mode):
    def check(comm):
        def bad(left, inout, datatype):
            raise ZeroDivisionError("not today")

        got = np.zeros(3)
        comm.Allreduce(np.ones(3), got, phicoll.Op.Create(bad))

    with pytest.raises(ZeroDivisionError, match="not today") as caught:
        phicoll.run(check, ranks=3, mode=mode)
    assert caught.value.rank in range(3)


def test_what_is_not_there_is_told():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        phicoll.COMM_SELF.Nonsense  # noqa: B018


def test_reduce_local_and_names():
    got = np.array([3, 4], np.int32)
    phicoll.SUM.Reduce_local(np.array([1, 1], np.int32), got)
    assert list(got) == [4, 5]
    minus = phicoll.Op.Create(
        lambda a, b, t: np.subtract(
            np.frombuffer(a, t.dtype), np.frombuffer(b, t.dtype), np.frombuffer(b, t.dtype)
        )
    )
    minus.Reduce_local([np.array([10, 10], np.int32), 2, phicoll.INT], [got, 2, phicoll.INT])
    assert list(got) == [6, 5]
    with pytest.raises(phicoll.ArgumentError, match="inoutbuf: got 2 elements"):
        phicoll.SUM.Reduce_local(np.ones(3, np.int32), got)
    assert phicoll.DOUBLE_INT.Get_size() == 12
    assert phicoll.DOUBLE_INT.Get_extent() == (0, 16)
    assert phicoll.LONG == phicoll.INT64_T
    assert repr(phicoll.MAXLOC) == "phicoll.MAXLOC"
    for name in (*DATATYPES, *OPERATORS):
        assert getattr(phicoll, name) is (DATATYPES | OPERATORS)[name]


@pytest.mark.parametrize("name", ["comm", "from-multiprocessing"])
def test_the_pages_examples_run(name):
    page = (Path(__file__).parent.parent / "docs" / f"{name}.md").read_text()
    names = {"__name__": "page"}
    for code in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        exec(code, names)


@pytest.mark.parametrize("name", ["Allreduce", "Iallreduce", "Allreduce_init", "Send", "Get_rank"])
def test_errors_of_python_name_the_class_that_users_see(name):
    with pytest.raises(TypeError, match=rf"Comm\.{name}\(\)"):
        getattr(phicoll.Comm(), name)(no_such_argument=1)
