"""Collectives of objects: what travels in a frame, what follows it, and what cannot be pickled."""

from __future__ import annotations

import collections
import json
import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import phicoll
from conftest import run
from phicoll import MPI


class Whole(int):
    """Not an int itself: it has to arrive as what it is."""


Pair = collections.namedtuple("Pair", "left right")

#: Around the room of a frame, 248 bytes and, of more than 16 ranks, 56; numbers at their limits; what is no text in UTF-8.
OBJECTS: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    10**40,
    Whole(7),
    1.5,
    -0.0,
    math.inf,
    np.float64(2.5),
    "",
    "phicoll",
    "ü" * 28,
    "ü" * 124,
    "\udc80",
    *("x" * n for n in (55, 56, 57, 247, 248, 249, 100_000)),
    *(bytes(n) for n in (1, 30, 40, 41, 42, 43, 44, 45, 220, 230, 231, 232, 233, 234, 235, 240, 300_000)),
    {"name": [1, 2.0, None]},
    (),
    # Written without a pickle, or nearly so: lengths, depths, numbers, types and keys at what that takes, and beyond.
    {"step": 17, "residual": 0.25, "name": "a small record", "shape": (3, 4, 5), "more": list(range(10))},
    {1: -128, 127: 128, (): [[]], None: b"\x00\xff", 2.5: {}, ("ü", True): ()},
    [[[[[[[[1]]]]]]]],
    [[[[[[[["deep"]]]]]]]],
    [2**63 - 1, -(2**63), 2**63, math.inf],
    ["\udc80"],
    [Whole(7), 1],
    collections.OrderedDict(a=1),
    Pair(1, "two"),
    *([0] * n for n in (20, 21, 27, 28, 110, 111, 112, 220, 222, 223, 255, 256)),
    *(["x" * n] for n in (50, 51, 52, 53, 218, 219, 220, 221, 222)),
]


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    assert repr(found) == repr(expected)


def all_calls(comm: phicoll.Comm) -> None:
    size, rank = comm.size, comm.rank
    for turn, one in enumerate(OBJECTS):
        root = turn % size
        same(comm.bcast(one if rank == root else None, root), one)
        mine = OBJECTS[(turn + rank) % len(OBJECTS)]
        everything = [OBJECTS[(turn + r) % len(OBJECTS)] for r in range(size)]
        for found, expected in zip(comm.allgather(mine), everything, strict=True):
            same(found, expected)
        gathered = comm.gather(mine, root)
        if rank != root:
            assert gathered is None
        else:
            assert gathered is not None
            for found, expected in zip(gathered, everything, strict=True):
                same(found, expected)
        same(comm.scatter(everything if rank == root else None, root), mine)
        exchanged = comm.alltoall([OBJECTS[(turn + rank * size + r) % len(OBJECTS)] for r in range(size)])
        for r, found in enumerate(exchanged):
            same(found, OBJECTS[(turn + r * size + rank) % len(OBJECTS)])


@pytest.mark.parametrize(
    ("ranks", "mode"),
    [(1, "threads"), (3, "threads"), (3, "processes"), pytest.param(17, "threads", marks=pytest.mark.long)],
)
def test_objects_arrive_as_they_were(ranks: int, mode: str) -> None:
    phicoll.run(all_calls, ranks=ranks, mode=mode, timeout=200)


def test_what_stands_in_two_places_still_does() -> None:
    """As pickle keeps it: one list in two places arrives as one list."""
    one: list[Any] = [1]
    inner = ([2],)
    circle: list[Any] = []
    circle.append(circle)
    empty: list[Any] = []
    bare: dict[Any, Any] = {}
    given = [
        [one, one],
        {"a": one, "b": one},
        [one, [one]],
        [inner, inner],
        circle,
        [empty, [empty], bare, bare],
    ]

    def call(comm: phicoll.Comm) -> list[Any]:
        comm.send(given, (comm.rank + 1) % comm.size)
        for kept in given:
            comm.send(kept, (comm.rank + 1) % comm.size)
        found = comm.recv()
        return [found, *(comm.recv() for _ in given)]

    found = phicoll.run(call, ranks=2, mode="threads")
    for whole, pair, table, nested, inners, round_again, empties in found:
        assert pair[0] is pair[1]
        assert table["a"] is table["b"]
        assert nested[0] is nested[1][0]
        assert inners[0][0] is inners[1][0]
        assert round_again[0] is round_again
        assert empties[0] is empties[1][0]
        assert empties[2] is empties[3]
        assert whole[0][0] is whole[1]["b"] is whole[2][1][0]


def sums(comm: phicoll.Comm) -> list[Any]:
    r = comm.rank + 1
    return [
        comm.allreduce(r * 0.1),
        comm.allreduce(r, phicoll.PROD),
        comm.allreduce(2**62),
        comm.allreduce(r if comm.rank else float(r)),
        comm.allreduce(str(r)),
        comm.allreduce([r], lambda x, y: x + y),
        comm.allreduce(r, op=phicoll.MAX),
        comm.scan(r * 0.1),
        comm.exscan(r),
        comm.reduce(r * 0.1, root=1),
    ]


def test_objects_are_combined_in_the_ranks_order(mode: str) -> None:
    found = phicoll.run(sums, ranks=3, mode=mode, timeout=60)
    total = 0.1 + 2 * 0.1 + 3 * 0.1
    for rank, values in enumerate(found):
        assert values[:7] == [total, 6, 3 * 2**62, 6.0, "123", [1, 2, 3], 3]
        assert values[7:] == [
            [0.1, 0.1 + 0.2, total][rank],
            [None, 1, 3][rank],
            total if rank == 1 else None,
        ]


@pytest.mark.parametrize("call", ["bcast", "gather", "allgather", "scatter", "alltoall"])
def test_what_cannot_be_pickled_ends_the_call_on_all_ranks(call: str) -> None:
    def unpicklable(comm: phicoll.Comm) -> None:
        one: Any = threading.Lock() if comm.rank == 0 else 0
        getattr(comm, call)([one] * comm.size if call in ("scatter", "alltoall") else one)

    with pytest.raises(TypeError, match="lock"):
        phicoll.run(unpicklable, ranks=2, mode="threads", timeout=30)


def test_an_object_that_cannot_be_pickled_leaves_a_group_of_one_whole() -> None:
    with pytest.raises(TypeError, match="lock"):
        phicoll.COMM_WORLD.bcast(threading.Lock())
    assert phicoll.COMM_WORLD.bcast(3) == 3


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, ValueError])
def test_what_is_raised_while_an_object_is_pickled_is_not_lost(kind: type[BaseException]) -> None:
    """Another attempt might succeed; only what pickle cannot take goes to cloudpickle."""

    class Once:
        attempts = 0

        def __reduce__(self) -> Any:
            Once.attempts += 1
            if Once.attempts == 1:
                raise kind
            return int, ()

    with pytest.raises(kind):
        phicoll.COMM_WORLD.bcast(Once())


class Unloadable:
    def __reduce__(self) -> Any:
        return exec, ("raise ValueError('cannot be loaded')",)


def test_an_object_that_cannot_be_loaded_raises_where_it_is_loaded() -> None:
    with pytest.raises(ValueError, match="cannot be loaded"):
        phicoll.run(lambda comm: comm.bcast(Unloadable()), ranks=2, mode="threads", timeout=30)


def arrays_of(rank):
    """Objects with large buffers: one, several, in other orders and layouts, read-only."""
    plain = np.arange(50_000.0) + rank
    fixed = np.full(40_000, rank, np.int32)
    fixed.flags.writeable = False
    return [
        plain,
        [plain, {"second": plain[::2] * 2}, fixed],
        np.asfortranarray(plain.reshape(500, 100)),
        np.zeros((300, 300), [("a", "f8"), ("b", "i4")]),
        bytearray(b"x" * 100_000),
        b"y" * 100_000,
        (rank, np.arange(3), np.ones(2500, np.longdouble)),
    ]


def alike(a, b):
    if isinstance(a, np.ndarray):
        same = a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
        return (
            same and a.flags.writeable == b.flags.writeable and a.flags.f_contiguous == b.flags.f_contiguous
        )
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    return bool(a == b)


def test_large_buffers_arrive_as_they_were(mode):
    def work(comm):
        rank, size = comm.rank, comm.size
        right, left = (rank + 1) % size, (rank - 1) % size
        for item in range(len(arrays_of(0))):
            mine = arrays_of(rank)[item]
            theirs = [arrays_of(other)[item] for other in range(size)]
            assert alike(comm.bcast(mine if rank == 1 else None, 1), theirs[1])
            assert alike(comm.allgather(mine), theirs)
            found = comm.gather(mine)
            assert (alike(found, theirs)) if rank == 0 else (found is None)
            assert alike(comm.scatter(theirs if rank == 0 else None), mine)
            assert alike(comm.alltoall([mine] * size), theirs)
            assert alike(comm.sendrecv(mine, right, source=left), theirs[left])
            requests = [comm.isend(mine, right, 1), comm.issend(mine, right, 2)]
            assert alike(comm.recv(source=left, tag=2), theirs[left])
            assert alike(comm.irecv(source=left, tag=1).wait(), theirs[left])
            phicoll.Request.waitall(requests)
            comm.Barrier()
        return True

    assert phicoll.run(work, ranks=3, mode=mode, timeout=60) == [True] * 3


def test_an_array_lies_in_the_memory_that_received_it():
    def work(comm):
        mine = np.full(100_000, float(comm.rank))
        found = [
            comm.bcast(mine, 0),
            comm.allgather(mine)[1 - comm.rank],
            comm.sendrecv(mine, 1 - comm.rank, source=1 - comm.rank),
        ]
        assert [array.flags.owndata for array in found] == [comm.rank == 0, False, False]
        found[2][:] = 7  # and is this rank's alone
        return comm.sendrecv(mine, 1 - comm.rank, source=1 - comm.rank)[0]

    assert phicoll.run(work, ranks=2, timeout=60) == [1, 0]


def test_a_request_keeps_what_it_sends():
    def work(comm):
        if comm.rank == 0:
            request = comm.isend([np.full(400_000, 3.0), np.full(300_000, 4.0)], 1)
            comm.Barrier()
            request.wait()
            return True
        comm.Barrier()
        first, second = comm.recv(source=0)
        return bool((first == 3).all() and (second == 4).all())

    assert phicoll.run(work, ranks=2, timeout=60) == [True, True]


@pytest.fixture
def the_programs_pickle():
    yield MPI.pickle
    MPI.pickle.__init__()


def test_a_program_s_own_pickle_carries_all_objects(mode, the_programs_pickle):
    """JSON makes lists of tuples, and so tells that it was used."""

    def work(comm):
        MPI.pickle.__init__(lambda obj: json.dumps(obj).encode(), json.loads)
        comm.barrier()  # threads share it
        found = [comm.bcast((1, 2), root=comm.size - 1)]  # a root keeps its object
        found += [comm.allgather((comm.rank,)), comm.gather("x" * 1000, root=0)]
        found += [comm.alltoall([(7,), (8,)]), comm.scatter([(3,), (3,)])]
        request = comm.isend(("sent",), 1 - comm.rank)
        found.append(comm.recv())
        request.wait()
        with pytest.raises(TypeError, match="JSON serializable"):
            comm.send({1, 2}, 1 - comm.rank)
        comm.barrier()
        MPI.pickle.__init__()
        comm.barrier()
        return [*found, comm.bcast((1, 2))]

    for rank, found in enumerate(run(work, 2, mode)):
        same_object, texts = ([1, 2], ["x" * 1000] * 2) if rank == 0 else ((1, 2), None)
        assert found == [same_object, [[0], [1]], texts, [[7 + rank]] * 2, [3], ["sent"], (1, 2)]


def test_a_pickle_has_functions_a_protocol_and_a_threshold(the_programs_pickle):
    obj = {"text": "a", "numbers": np.arange(1000.0)}
    own = MPI.Pickle(threshold=4000)
    assert (own.PROTOCOL, own.THRESHOLD) == (pickle.HIGHEST_PROTOCOL, 4000)
    data, buffers = own.dumps_oob(obj)
    assert len(data) < 1000
    assert [buffer.raw().nbytes for buffer in buffers] == [8000]
    assert (own.loads_oob(data, buffers)["numbers"] == obj["numbers"]).all()
    own.THRESHOLD = None
    assert own.dumps_oob(obj)[1] == []
    assert own.loads(own.dumps(lambda: 7))() == 7  # by cloudpickle
    own.PROTOCOL = 2
    assert own.dumps(1) == pickle.dumps(1, 2)
    given = []
    other = MPI.Pickle(lambda *args: given.append(args) or b"", bytes)
    assert other.PROTOCOL is None
    assert other.dumps(5) == other.loads(b"") == b""
    assert given == [(5,)]
    assert phicoll.COMM_WORLD.bcast((1,)) == (1,)  # with none of these
    the_programs_pickle.PROTOCOL = 0
    assert the_programs_pickle.dumps(1) == pickle.dumps(1, 0)
    assert phicoll.COMM_WORLD.alltoall([(1,)]) == [(1,)]


LOCKED = {"lock": threading.Lock()}


@pytest.mark.parametrize(
    "call",
    [
        "send(obj, 0)",
        "isend(obj, 0)",
        "ssend(obj, 0)",
        "issend(obj, 0)",
        "bsend(obj, 0)",
        "sendrecv(obj, 0, source=0)",
        "bcast(obj)",
        "gather(obj)",
        "allgather(obj)",
        "allreduce(obj)",
        "reduce(obj)",
        "scan(obj)",
        "scatter([obj] * 2)",
        "alltoall([obj] * 2)",
    ],
)
def test_an_object_that_cannot_be_pickled_is_shown(call: str) -> None:
    def work(comm: phicoll.Comm) -> None:
        if comm.rank == 0:
            eval(f"comm.{call}", {"comm": comm, "obj": LOCKED})
        else:
            comm.recv()

    words = "object: got {'lock': <.*}: cannot pickle '_thread.lock' object; allowed: what pickle takes"
    with pytest.raises(TypeError, match=words) as caught:
        run(work, 2, "threads")
    assert type(caught.value) is TypeError
