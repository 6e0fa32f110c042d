"""The calls that C++ makes: the same from buffers that it reads and from those that Python reads for it, with Python's manners."""

from __future__ import annotations

import inspect
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phicoll

COLLECTIVE = [
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
]
VECTOR = [
    "Gatherv",
    "Scatterv",
    "Allgatherv",
    "Alltoallv",
    "Alltoallw",
    "Reduce_scatter_block",
    "Reduce_scatter",
]
FORMS = {
    "": str,
    "I": lambda name: "I" + name.lower(),
    "_init": lambda name: name + "_init",
}
PLAIN = [
    *(form(name) for form in FORMS.values() for name in [*COLLECTIVE, *VECTOR]),
    *("Send", "Recv", "Isend", "Irecv", "Sendrecv", "Sendrecv_replace", "Probe", "Iprobe"),
    *("send", "recv", "isend", "irecv", "bcast", "gather", "allgather", "barrier", "Get_rank", "Get_size"),
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


def strided(argument: Any) -> Any:
    """A copy that C++ does not read."""
    if isinstance(argument, (np.ndarray, memoryview, bytearray)):
        return np.repeat(np.asarray(argument), 2)[::2]
    return argument


def both_ways(comm: phicoll.Comm, name: str, *arguments: Any, **named: Any) -> None:
    """Make a call twice, each with its own copies of the arrays: C++ reads those of the first."""
    found = []
    for copy in (copied, strided_copy):
        given = [copy(argument) for argument in arguments]
        assert getattr(comm, name)(*(own for own, _ in given), **named) is None
        found.append([array for _, arrays in given for array in arrays])
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
                    assert comm.recv(source=np.int64(left)) == "text"
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


def described(array: np.ndarray[Any, Any], datatype: phicoll.Datatype) -> list[Any]:
    """Ways to say what all of an array's elements are."""
    n = array.size
    return [array, [array, datatype], (array, datatype), [array, n, datatype], [memoryview(array), datatype]]


def copied(argument: Any) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """An argument with arrays of its own, and those."""
    if isinstance(argument, np.ndarray):
        own = argument.copy()
        return own, [own]
    if isinstance(argument, memoryview):
        own = np.array(argument)
        return memoryview(own), [own]
    if isinstance(argument, bytearray):
        changed = bytearray(argument)
        return changed, [np.frombuffer(changed, "u1")]
    if isinstance(argument, (list, tuple)) and argument and isinstance(argument[0], (np.ndarray, memoryview)):
        first, arrays = copied(argument[0])
        return type(argument)([first, *argument[1:]]), arrays
    return argument, []


def strided_copy(argument: Any) -> tuple[Any, list[np.ndarray[Any, Any]]]:
    """As copied, of memory that Python packs."""
    if isinstance(argument, (list, tuple)) and argument and isinstance(argument[0], (np.ndarray, memoryview)):
        first = strided(argument[0])
        return type(argument)([first, *argument[1:]]), [first]
    if isinstance(argument, (np.ndarray, memoryview, bytearray)):
        first = strided(argument)
        return first, [first]
    return argument, []


def in_both_ways(comm: phicoll.Comm, name: str, *arguments: Any, **named: Any) -> None:
    """As both_ways, of arguments that describe arrays; a request is started, if it is persistent, and waited for."""
    found = []
    for copy in (copied, strided_copy):
        given = [copy(argument) for argument in arguments]
        result = getattr(comm, name)(*(own for own, _ in given), **named)
        for _ in range(2 if isinstance(result, phicoll.Prequest) else 1):
            if isinstance(result, phicoll.Prequest):
                result.Start()
            if isinstance(result, phicoll.Request):
                result.Wait()
        found.append([array for _, arrays in given for array in arrays])
    for plain, general in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, general)


def call_with_descriptions(comm: phicoll.Comm) -> None:
    size, rank = comm.size, comm.rank
    own, many = np.arange(6) + 10.0 * rank, np.arange(6 * size) + 100.0 * rank
    one, all_ = np.zeros(6), np.zeros(6 * size)
    kind = phicoll.DOUBLE
    for form in FORMS.values():

        def both(name: str, *arguments: Any, form: Any = form, **named: Any) -> None:
            in_both_ways(comm, form(name), *arguments, **named)

        for send, receive in zip(described(own, kind), described(one, kind), strict=True):
            both("Bcast", send)
            both("Bcast", send, root=size - 1)
            both("Allreduce", send, receive)
            both("Reduce", send, receive, phicoll.MAX, size - 1)
        for blocks in described(all_, kind)[:3]:
            both("Allgather", own, blocks)
            both("Alltoall", described(many, kind)[1], blocks)
            both("Gather", own, blocks, size - 1)
            both("Scatter", described(many, kind)[2], one)
            both("Reduce_scatter_block", many, [one, kind])
        both("Allgather", [own, 6, kind], [all_, 6, kind])
        both("Alltoall", [many, 6, kind], [all_, 6, kind])
        counts = [1 + r for r in range(size)]
        total = sum(counts)
        gaps = [sum(counts[:r]) + 2 * r for r in range(size)]
        mine, room = np.arange(counts[rank]) + 10.0 * rank, np.zeros(total + 2 * size)
        for blocks in (
            [room, counts],
            [room, (counts, gaps)],
            (room, counts, gaps, kind),
            [room, (counts, gaps), kind],
            [room, counts, None, kind],
            [room, np.array(counts), kind],
            [room, (np.array(counts, "i4"), np.array(gaps)), kind],
        ):
            both("Allgatherv", mine, blocks)
            both("Gatherv", [mine, kind], blocks, size - 1)
            both("Scatterv", blocks, mine, root=size - 1)
        out = [room + np.arange(room.size), [counts[rank]] * size, [0] * size, kind]
        both("Alltoallv", out, [np.zeros(room.size), counts, gaps, kind])
        both("Alltoallv", [many, [6] * size], [all_, [6] * size])
        both("Reduce_scatter", np.arange(float(total)), mine, counts)
        both("Reduce_scatter", np.arange(float(total)), mine, np.array(counts), op=phicoll.PROD)
    in_both_ways(comm, "Bcast", bytearray(b"some bytes"))
    in_both_ways(comm, "Bcast", [np.arange(6.0), phicoll.BYTE])
    assert comm.Get_rank() == comm.rank
    assert comm.Get_size() == comm.size
    comm.barrier()


@pytest.mark.parametrize("ranks", [1, 3])
def test_descriptions_and_counts_are_read_as_the_function_reads_them(ranks: int, mode: str) -> None:
    phicoll.run(call_with_descriptions, ranks=ranks, mode=mode, timeout=120)


def send_with_descriptions(comm: phicoll.Comm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    own, status = np.arange(6) + 10.0 * comm.rank, phicoll.Status()
    wanted = np.arange(6) + 10.0 * left
    for room in (np.zeros(6), np.zeros(12)[::2]):
        for source in (left, phicoll.ANY_SOURCE):
            for form in range(5):
                found = room
                found[:] = 0
                request = comm.Isend(described(own, phicoll.DOUBLE)[form], right, 5)
                comm.Recv(described(found, phicoll.DOUBLE)[form], source, phicoll.ANY_TAG, status)
                request.Wait()
                assert (status.source, status.tag, status.nbytes) == (left, 5, 48)
                np.testing.assert_array_equal(found, wanted)
    found = np.zeros(6)
    for source in (left, phicoll.ANY_SOURCE):
        request = comm.Irecv([found, phicoll.DOUBLE], source)
        comm.Send(own, right, 8)
        assert request.Wait(status)
        assert not request
        assert (status.source, status.tag, status.nbytes) == (left, 8, 48)
        request = comm.Irecv(found, source=source, tag=9)
        assert comm.Isend(own, dest=right, tag=9).Test(status) in (True, False)
        while not request.Test(status):
            pass
        assert (status.source, status.tag) == (left, 9)
    assert request.Wait(status)
    assert (status.source, status.tag, status.nbytes) == (phicoll.ANY_SOURCE, phicoll.ANY_TAG, 0)
    # Probes, and what they find.
    assert not comm.Iprobe(left, 77)
    comm.Send(own, right, 3)
    assert comm.Probe(left, 3, status)
    assert (status.source, status.tag, status.nbytes) == (left, 3, 48)
    assert comm.Iprobe(status=status)
    comm.Recv(found, status.source, status.tag)
    # One buffer for both.
    shifted = own.copy()
    comm.Sendrecv_replace([shifted, phicoll.DOUBLE], right, 1, left, 1, status)
    np.testing.assert_array_equal(shifted, wanted)
    assert (status.source, status.tag) == (left, 1)
    with pytest.raises(TypeError, match="status"):
        comm.Recv(found, left, 1, 3)
    # Objects.
    sent = comm.isend({"of": comm.rank}, dest=right, tag=2)
    request = comm.irecv(None, left, 2)
    assert request.wait() == {"of": left}
    sent.wait()
    comm.send([comm.rank], right)
    assert comm.recv(source=left, status=status) == [left]
    assert status.source == left
    everyone = [f"of {r}" for r in range(comm.size)]
    for kind in (int, np.int64):
        root = kind(comm.size - 1)
        assert comm.bcast({"of": comm.rank}, root) == {"of": comm.size - 1}
        assert comm.bcast(obj=comm.rank) == 0
        assert comm.allgather(everyone[comm.rank]) == everyone
        assert comm.gather(everyone[comm.rank], root=root) == (
            everyone if comm.rank == comm.size - 1 else None
        )
        with pytest.raises(phicoll.ArgumentError, match="root"):
            comm.gather(1, kind(comm.size))


@pytest.mark.parametrize("ranks", [1, 3])
def test_messages_are_described_in_every_way(ranks: int, mode: str) -> None:
    phicoll.run(send_with_descriptions, ranks=ranks, mode=mode, timeout=120)


def end_several(comm: phicoll.Comm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    own, found = [np.full(3, comm.rank + 10.0 * i) for i in range(4)], [np.zeros(3) for _ in range(4)]

    def begun() -> list[phicoll.Request]:
        for array in found:
            array[:] = -1
        received = [comm.Irecv(array, left, tag) for tag, array in enumerate(found)]
        return [
            *received,
            phicoll.REQUEST_NULL,
            *(comm.Isend(array, right, tag) for tag, array in enumerate(own)),
        ]

    def check(requests: Any) -> None:
        assert not any(requests)
        for i, array in enumerate(found):
            assert (array == left + 10.0 * i).all()

    request_class = phicoll.Request
    for take in (list, tuple):
        requests = take(begun())
        assert request_class.Waitall(requests) is True
        check(requests)
        requests = take(begun())
        assert request_class.waitall(requests) == [None] * 9
        check(requests)
        requests = take(begun())
        while not request_class.Testall(requests):
            pass
        check(requests)
        requests = take(begun())
        places = sorted(request_class.Waitany(requests) for _ in range(8))
        assert places == [0, 1, 2, 3, 5, 6, 7, 8]
        check(requests)
        assert request_class.Waitany(requests) == phicoll.UNDEFINED
    # One that does not fit ends the wait with its error, and is null; the rest go on.
    short = comm.Irecv(np.zeros(1), left, 9)
    fine = comm.Irecv(found[0], left, 9)
    comm.Send(own[0], right, 9)
    comm.Send(own[1], right, 9)
    with pytest.raises(phicoll.ArgumentError, match="24 bytes"):
        request_class.Waitall([short, fine])
    assert not short
    assert request_class.Waitall([short, fine])
    comm.Recv(found[1], left, 9)
    # Objects among buffers.
    mixed = [comm.irecv(source=left, tag=1), comm.Irecv(found[0], left, 2)]
    comm.send("text", right, 1)
    comm.Send(own[0], right, 2)
    assert request_class.waitall(mixed) == ["text", None]
    with pytest.raises(TypeError, match=r"requests\[1\]"):
        request_class.Waitall([phicoll.REQUEST_NULL, 3])


@pytest.mark.parametrize("ranks", [1, 3])
def test_several_requests_end_together(ranks: int, mode: str) -> None:
    phicoll.run(end_several, ranks=ranks, mode=mode, timeout=120)


class OwnRequest(phicoll.Request):
    """Waits in its own way."""

    waited = 0

    def wait(self, status: phicoll.Status | None = None) -> Any:
        self.waited += 1
        return super().wait(status)


def end_oddly(comm: phicoll.Comm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    own, found, status = np.full(3, comm.rank + 1.0), np.zeros(3), phicoll.Status()
    # A receive that was withdrawn says so.
    for end in (
        lambda request: request.Wait(status),
        lambda request: request.wait(status),
        lambda request: request.Test(status),
        lambda request: phicoll.Request.Waitall([request], [status]),
        lambda request: phicoll.Request.Waitany([request], status),
    ):
        request = comm.Irecv(found, left, 55)
        request.Cancel()
        status.cancelled = False
        end(request)
        assert status.Is_cancelled()
        assert not request
    # Only Start's own arguments start.
    again = comm.Recv_init(found, left, 56)
    with pytest.raises(TypeError):
        again.Start(5)
    assert again.Test()
    # A class's own ways are heard.
    sent = OwnRequest(comm.Isend(own, right, 57))
    phicoll.Request.Waitall([sent])
    assert sent.waited == 1  # of this rank: others are threads of the same process
    comm.Recv(found, left, 57)
    with pytest.raises(TypeError, match="requests"):
        phicoll.Request.Waitall([phicoll._core.RequestObject()])
    # What was looked at meanwhile is null too once a test has told its end.
    for _ in range(50):
        received = comm.Irecv(found, left, 58)
        seen = [received == phicoll.REQUEST_NULL, repr(received)]
        comm.Send(own, right, 58)
        look_until_ended(received)
        assert not received
        assert seen


@pytest.mark.parametrize("ranks", [1, 3])
def test_requests_end_as_their_functions_end_them(ranks: int, mode: str) -> None:
    phicoll.run(end_oddly, ranks=ranks, mode=mode, timeout=60)


def replace_much(comm: phicoll.Comm, way: str) -> None:
    """Rank 1 receives what rank 0 sends after a barrier, which rank 0 must reach before."""
    much = np.full(1 << 22, comm.rank + 1.0)[:: 1 if way == "plain" else 2]
    if comm.rank == 0:
        comm.Sendrecv_replace(much, 1, 1, 1, 2)
        comm.Barrier()
        assert (much == 2).all()
    else:
        comm.Send(much, 0, 2)
        comm.Barrier()
        comm.Recv(much, 0, 1)
        assert (much == 1).all()


@pytest.mark.parametrize("way", ["plain", "general"])
def test_replacing_does_not_wait_for_the_receiver(way: str, mode: str) -> None:
    phicoll.run(replace_much, ranks=2, mode=mode, args=(way,), timeout=60)


def test_a_list_that_changes_while_it_is_read_is_read_as_it_was() -> None:
    comm = phicoll.COMM_WORLD
    array = np.zeros(24, np.uint8)
    stop = threading.Event()
    spec: list[Any] = []

    def change() -> None:
        while not stop.is_set():
            spec.clear()
            spec.extend([array, phicoll.BYTE])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for turn in range(2000):
            new = np.zeros(1, np.dtype([(f"c{turn}", "u1", (24,))]))
            try:
                comm.Bcast([new, phicoll.BYTE])
                comm.Bcast(spec)
            except phicoll.ArgumentError:  # it was empty
                pass
    finally:
        stop.set()
        thread.join()


def test_references_to_objects_are_not_overwritten() -> None:
    comm = phicoll.COMM_WORLD
    objects = np.array([None] * 4)
    for spec in ([objects, phicoll.DOUBLE], [objects, (2, 0), phicoll.DOUBLE], [objects, 2, phicoll.DOUBLE]):
        with pytest.raises(phicoll.ArgumentError, match="references to objects"):
            comm.Bcast(spec)


def start_messages_again(comm: phicoll.Comm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    own, found, strided = np.zeros(4), np.zeros(4), np.zeros(8)
    pairs = [
        (comm.Send_init(own, right), comm.Recv_init(found, left)),
        (comm.Ssend_init([own, phicoll.DOUBLE], right, 1), comm.Recv_init([found, 4, phicoll.DOUBLE], tag=1)),
        (comm.Send_init(own, right, 2), comm.Recv_init(strided[::2], left, 2)),
    ]
    for turn in range(3):
        for sent, received in pairs:
            own[:] = comm.rank + 10 * turn
            found[:] = strided[:] = -1
            phicoll.MPI.Prequest.Startall([received, sent])
            with pytest.raises(phicoll.ArgumentError, match="active"):
                received.Start()
            assert phicoll.Request.Waitall([received, sent])
            assert (found == left + 10 * turn).all() or (strided[::2] == left + 10 * turn).all()
            received.Start()
            sent.Start()
            received.Wait()
            sent.Wait()
            assert sent.Test()
    for sent, received in pairs:
        sent.Free()
        received.Free()
        with pytest.raises(phicoll.ArgumentError, match="freed"):
            phicoll.MPI.Prequest.Startall([received])
    nothing = comm.Send_init(own, phicoll.MPI.PROC_NULL)
    nothing.Start()
    nothing.Wait()
    with pytest.raises(phicoll.ArgumentError, match="dest: got 99"):
        comm.Send_init(own, 99)
    with pytest.raises(phicoll.ArgumentError, match="tag: got -9"):
        comm.Send_init(own, right, -9)
    with pytest.raises(phicoll.ArgumentError, match="tag: got -9"):
        comm.Recv_init(own, left, -9)
    with pytest.raises(phicoll.ArgumentError, match="source: got 99"):
        comm.Recv_init(own, 99)
    with pytest.raises(phicoll.ArgumentError, match="read-only"):
        comm.Recv_init(b"abc", left)
    with pytest.raises(phicoll.ArgumentError, match="dest: got 99"):
        comm.Bsend_init(own, 99)


@pytest.mark.parametrize("ranks", [1, 3])
def test_persistent_messages_are_checked_once_and_sent_again(ranks: int, mode: str) -> None:
    phicoll.run(start_messages_again, ranks=ranks, mode=mode, timeout=120)


def keep_while_begun(comm: phicoll.Comm) -> None:
    other = 1 - comm.rank
    memory = bytearray(64)
    request = comm.Irecv(memory, other, 0)
    with pytest.raises(BufferError):
        memory.append(0)
    # The list's array is kept although the list loses it.
    sent = [np.full(1 << 18, comm.rank + 1.0), phicoll.DOUBLE]
    large = comm.Isend(sent, other, 1)
    sent[0] = None
    comm.Send(bytes(range(64)), other)
    request.Wait()
    assert memory == bytes(range(64))
    del request
    memory.append(0)
    found = np.zeros(1 << 18)
    comm.Recv(found, other, 1)
    large.Wait()
    assert (found == other + 1).all()


def test_what_a_call_under_way_uses_is_kept(mode: str) -> None:
    phicoll.run(keep_while_begun, ranks=2, mode=mode, timeout=60)


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


def counted(comm: phicoll.Comm) -> tuple[list[float], list[float], list[float]]:
    """An allgather, a prepared one and a reduce-scatter whose blocks have counts, one of them 0."""
    counts = [rank % 4 for rank in range(comm.size)]
    mine = np.full(counts[comm.rank], comm.rank, float)
    once, again = np.empty(sum(counts)), np.empty(sum(counts))
    comm.Allgatherv(mine, [once, counts])
    request = comm.Allgatherv_init(mine, [again, counts])
    del counts[:]  # what was prepared has its own
    request.Start()
    request.Wait()
    counts = [rank % 4 for rank in range(comm.size)]
    part = np.empty(counts[comm.rank])
    comm.Reduce_scatter(np.arange(sum(counts), dtype=float), part, counts)
    return once.tolist(), again.tolist(), part.tolist()


@pytest.mark.parametrize("ranks", [3, 9])
def test_counts_of_few_and_of_many_ranks_reach_the_core(ranks: int) -> None:
    """Those of up to eight ranks lie beside the buffer, those of more elsewhere."""
    expected = [float(rank) for rank in range(ranks) for _ in range(rank % 4)]
    for rank, (once, again, part) in enumerate(phicoll.run(counted, ranks=ranks, timeout=60)):
        assert once == again == expected
        first = sum(other % 4 for other in range(rank))
        assert part == [float(ranks * (first + i)) for i in range(rank % 4)]
