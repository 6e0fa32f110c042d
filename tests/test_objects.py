"""Collectives of objects: what travels in a frame, what follows it, and what cannot be pickled."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import phicoll


class Whole(int):
    """Not an int itself: it has to arrive as what it is."""


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
    ("ranks", "mode"), [(1, "threads"), (3, "threads"), (3, "processes"), (17, "threads")]
)
def test_objects_arrive_as_they_were(ranks: int, mode: str) -> None:
    phicoll.run(all_calls, ranks=ranks, mode=mode, timeout=200)


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


@pytest.mark.parametrize("mode", ["threads", "processes"])
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


class Unloadable:
    def __reduce__(self) -> Any:
        return exec, ("raise ValueError('cannot be loaded')",)


def test_an_object_that_cannot_be_loaded_raises_where_it_is_loaded() -> None:
    with pytest.raises(ValueError, match="cannot be loaded"):
        phicoll.run(lambda comm: comm.bcast(Unloadable()), ranks=2, mode="threads", timeout=30)
