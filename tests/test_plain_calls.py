"""The calls that C++ makes without Python: the same results, errors and manners as the functions in whose place it stands."""

from __future__ import annotations

import inspect
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phicoll

PLAIN = [
    "Barrier",
    "Bcast",
    "Reduce",
    "Allreduce",
    "Scan",
    "Exscan",
    "Gather",
    "Scatter",
    "Allgather",
    "Alltoall",
    "Send",
    "Recv",
    "Sendrecv",
    "send",
    "recv",
]


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_call_looks_like_its_function(name: str) -> None:
    method = getattr(phicoll.Comm, name)
    function = method.__wrapped__
    assert method.__name__ == name
    assert method.__doc__ == function.__doc__
    assert inspect.signature(method) == inspect.signature(function)
    assert inspect.isroutine(method)
    assert inspect.ismethod(getattr(phicoll.COMM_WORLD, name))


def test_only_methods_with_plain_calls_are_taken() -> None:
    def other() -> None: ...

    with pytest.raises(phicoll.ArgumentError, match="function: got other"):
        phicoll._core.plain_call(other)


def both_ways(comm: phicoll.Comm, name: str, *arguments: Any, **named: Any) -> None:
    """Make a call twice, by C++ and by the function, each with its own copies of the arrays."""
    found = []
    for call in (getattr(type(comm), name), getattr(type(comm), name).__wrapped__):
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        assert call(comm, *own, **named) is None
        found.append([a for a in own if isinstance(a, np.ndarray)])
    for plain, general in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, general)


def every_call(comm: phicoll.Comm) -> None:
    size, rank = comm.size, comm.rank
    generator = np.random.default_rng(rank)
    both_ways(comm, "Barrier")
    for dtype in ("f8", "i4", "u1", "c16", ">i4", "S3"):
        reduced = dtype in ("f8", "i4", "u1", "c16")
        for count in (1, 7, 5000):
            own = generator.integers(0, 50, count).astype(dtype)
            many = generator.integers(0, 50, count * size).astype(dtype)
            one, all_ = np.zeros(count, dtype), np.zeros(count * size, dtype)
            for root in (0, size - 1):
                both_ways(comm, "Bcast", own, root)
                both_ways(comm, "Gather", own, all_ if rank == root else None, root=root)
                both_ways(comm, "Scatter", many if rank == root else None, one, root)
                if reduced:
                    both_ways(comm, "Reduce", own, one if rank == root else None, phicoll.SUM, root)
                    both_ways(comm, "Reduce", own, one, root=root, op=phicoll.PROD)
            # Plain and general in turn: what one sends is received by the other too.
            right, left = (rank + 1) % size, (rank - 1) % size
            if size > 1 and count < 5000:  # a large message waits for its receive
                for tag in (0, 7):
                    request = comm.Irecv(one.copy(), left, 99)
                    both_ways(comm, "Send", own, right, tag)
                    both_ways(comm, "Recv", one, left, tag=tag)
                    comm.Send(own, dest=right, tag=99)
                    request.Wait()
                    both_ways(comm, "Sendrecv", own, right, tag, one, left, tag)
                    both_ways(comm, "Sendrecv", own, right, recvbuf=one, source=left)
                    both_ways(comm, "send", "text", dest=right)
                    assert comm.recv(source=left) == "text"
                    assert type(comm).recv.__wrapped__(comm, source=left) == "text"
            both_ways(comm, "Allgather", own, all_)
            both_ways(comm, "Alltoall", many, all_)
            if reduced:
                for name in ("Allreduce", "Scan", "Exscan"):
                    both_ways(comm, name, own, one)
                    both_ways(comm, name, phicoll.IN_PLACE, own, op=phicoll.PROD)
                    both_ways(comm, name, None, own, phicoll.SUM)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_plain_call_gives_what_its_function_gives(ranks: int, mode: str) -> None:
    phicoll.run(every_call, ranks=ranks, mode=mode, timeout=120)


def look_until_ended(request: phicoll.Request) -> None:
    while not request.Test():
        pass


def ask_requests(comm: phicoll.Comm) -> None:
    own, found, strided = np.full(4, comm.rank + 1.0), np.zeros(4), np.zeros(8)
    total = comm.size * (comm.size + 1) / 2
    assert phicoll.REQUEST_NULL.Test()
    again = comm.Allreduce_init(own, found)
    assert again.Test()  # not begun
    for _ in range(3):
        found[:] = 0
        again.Start()
        look_until_ended(again)
        assert (found == total).all()
        assert again.Test()
    request = comm.Iallreduce(own, strided[::2])
    look_until_ended(request)
    assert not request
    assert (strided[::2] == total).all()
    request = comm.Ibarrier()
    assert request  # has a Python object now
    look_until_ended(request)
    assert not request
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    received, short = comm.Irecv(found, before, 1), comm.Irecv(np.zeros(2), before, 2)
    object_received = comm.irecv(source=before, tag=3)
    for tag in (1, 2):
        comm.Isend(own, after, tag).Wait()
    sent = comm.isend({"of": comm.rank}, after, 3)
    look_until_ended(received)
    assert not received
    assert found[0] == before + 1
    with pytest.raises(phicoll.ArgumentError):
        look_until_ended(short)
    assert not short
    assert short.Test()
    comm.Recv(found, before, 2)  # the message that did not fit
    look_until_ended(object_received)
    sent.Wait()
    assert not object_received
    assert not sent


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_test_ends_a_request_as_a_wait_does(ranks: int, mode: str) -> None:
    phicoll.run(ask_requests, ranks=ranks, mode=mode, timeout=120)


def what_is_not_plain(comm: phicoll.Comm) -> None:
    a = np.arange(12.0)
    for buffer in (
        a[::2].copy(),
        a[::2],
        a.reshape(3, 4).T,
        memoryview(a.copy()),
        [a, 4],
        [a, "d"],
        np.zeros(0),
    ):
        comm.Bcast(buffer)
    with pytest.raises(phicoll.ArgumentError, match="root"):
        comm.Bcast(a, comm.size)
    with pytest.raises(phicoll.ArgumentError, match="root"):
        comm.Bcast(a, root=-1)
    with pytest.raises(phicoll.ArgumentError, match="dest"):
        comm.Send(a, comm.size)
    with pytest.raises(phicoll.ArgumentError, match="tag"):
        comm.Recv(a, 0, -5)
    with pytest.raises(TypeError):
        comm.Send(a)
    with pytest.raises(phicoll.ArgumentError, match=r"op: got 'sum'"):
        comm.Allreduce(a, a.copy(), "sum")
    with pytest.raises(phicoll.ArgumentError, match=r"op: got BAND"):
        comm.Allreduce(a, a.copy(), op=phicoll.BAND)
    for arguments, named in [((), {}), ((a, 0, 1), {}), ((a,), {"rot": 1}), ((a, 0), {"root": 0})]:
        with pytest.raises(TypeError):
            comm.Bcast(*arguments, **named)


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_is_not_plain_is_the_function_s(ranks: int) -> None:
    phicoll.run(what_is_not_plain, ranks=ranks, mode="threads", timeout=60)


@pytest.mark.parametrize(
    ("send", "receive", "argument"),
    [
        (np.ones(3), np.ones(4), "recvbuf"),
        (np.ones(3), np.ones(3, "i4"), "recvbuf"),
        (np.ones(3), np.ones(3)[:0], "recvbuf"),
        (np.array([None]), np.array([None]), "recvbuf"),
        (np.ones(3), bytes(24), "recvbuf"),
    ],
)
def test_errors_are_the_function_s(send: Any, receive: Any, argument: str) -> None:
    def call(comm: phicoll.Comm) -> None:
        comm.Allreduce(send, receive)

    with pytest.raises(phicoll.ArgumentError, match=argument):
        phicoll.run(call, ranks=2, mode="threads", timeout=60)


def test_overlapping_buffers_are_refused() -> None:
    def call(comm: phicoll.Comm) -> None:
        whole = np.ones(10)
        comm.Allreduce(whole[:6], whole[4:])

    with pytest.raises(phicoll.ArgumentError, match="overlaps"):
        phicoll.run(call, ranks=2, mode="threads", timeout=60)


def test_many_types_and_operators_are_not_confused() -> None:
    comm = phicoll.COMM_WORLD
    for turn in range(100):
        dtype = np.dtype([("a", "i4"), (f"b{turn}", "f8")])
        sent, received = np.array([(turn, turn)], dtype), np.zeros(1, dtype)
        comm.Allgather(sent, received)
        assert received[0].tolist() == (turn, turn)
    for dtype in "bhilqBHILQfdFD":
        for op in (phicoll.SUM, phicoll.PROD, phicoll.SUM):
            given, result = np.full(3, 2, dtype), np.zeros(3, dtype)
            comm.Allreduce(given, result, op)
            assert (result == given).all()


def test_a_user_s_operator_is_refused_after_it_was_freed() -> None:
    def largest(left: memoryview, right: memoryview, datatype: Any) -> None:
        np.maximum(np.frombuffer(left), np.frombuffer(right), out=np.frombuffer(right))

    op = phicoll.Op.Create(largest, commute=True)
    a, b = np.ones(2), np.zeros(2)
    phicoll.COMM_WORLD.Allreduce(a, b, op)
    assert (b == 1).all()
    op.Free()
    with pytest.raises(phicoll.ArgumentError, match="freed"):
        phicoll.COMM_WORLD.Allreduce(a, b, op)


def test_a_null_communicator_is_refused() -> None:
    with pytest.raises(phicoll.Error, match="COMM_NULL"):
        phicoll.COMM_NULL.Barrier()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, path.name
        time.sleep(0.01)


def beside_a_wait(comm: phicoll.Comm, told: Path) -> None:
    """Rank 0 comes when another thread of rank 1, which waits for it, has slept a hundred times."""
    if comm.rank == 0:
        wait_for(told)
        comm.Barrier()
        return

    def count() -> None:
        for _ in range(100):
            time.sleep(0.001)
        told.touch()

    thread = threading.Thread(target=count)
    thread.start()
    comm.Barrier()
    thread.join()


def test_other_threads_run_while_a_rank_waits(mode: str, tmp_path: Path) -> None:
    phicoll.run(beside_a_wait, ranks=2, mode=mode, args=(tmp_path / "counted",), timeout=60)


def two_threads(comm: phicoll.Comm, told: Path) -> list[str]:
    """What the one of rank 1's threads heard that called while the other waited for rank 0."""
    if comm.rank == 0:
        wait_for(told)
        comm.Barrier()
        return []
    refused: list[str] = []

    def call() -> None:
        try:
            comm.Barrier()
        except phicoll.Error as error:
            refused.append(str(error))
            told.touch()

    thread = threading.Thread(target=call)
    thread.start()
    call()
    thread.join()
    return refused


def test_a_second_call_at_once_is_refused(mode: str, tmp_path: Path) -> None:
    found = phicoll.run(two_threads, ranks=2, mode=mode, args=(tmp_path / "refused",), timeout=60)
    assert len(found[1]) == 1
    assert "in a call already" in found[1][0]
