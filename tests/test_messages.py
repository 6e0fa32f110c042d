"""Messages between two ranks from Python: mpi4py's calls, requests, statuses, objects, and bad input."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import numpy as np
import pytest

import phicoll
from conftest import MODES, expect_within, run
from phicoll import ANY_SOURCE, ANY_TAG, PROC_NULL, Request, Status


def test_arrays_go_round_and_statuses_tell_of_them(mode):
    def work(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for count in (0, 1, 13, 1000, 100_000):
            sent = np.arange(count, dtype=np.float64) + comm.rank
            got = np.full(count + 5, -1.0)
            status = Status()
            comm.Sendrecv(sent, right, 3, got, left, 3, status)
            assert (got[:count] == np.arange(count) + left).all()
            assert (got[count:] == -1).all()
            assert (status.Get_source(), status.Get_tag(), status.Get_count(phicoll.DOUBLE)) == (
                left,
                3,
                count,
            )
            assert status.Get_count(phicoll.BYTE) == 8 * count

    run(work, 3, mode)


SEVERAL = [
    *(
        "waitall",
        "Waitall",
        "testall",
        "Testall",
        "get_status_all",
        "waitany",
        "Waitany",
        "testany",
        "Testany",
    ),
    *("waitsome", "Waitsome", "testsome", "Testsome"),
]


@pytest.mark.parametrize("call", SEVERAL)
def test_what_is_no_request_is_refused_in_words(call):
    several = getattr(Request, call)
    with pytest.raises(TypeError, match=r"requests\[1\]: got 1; allowed: a Request"):
        several([phicoll.REQUEST_NULL, 1])
    with pytest.raises(TypeError, match=r"requests: got 1; allowed: a list of Request objects"):
        several(1)


def test_what_is_no_status_or_persistent_request_is_refused_in_words():
    with pytest.raises(TypeError, match=r"statuses\[0\]: got 'x'; allowed: a Status"):
        Request.Waitall([phicoll.REQUEST_NULL], ["x"])
    with pytest.raises(TypeError, match=r"requests\[0\]: got .*; allowed: a Prequest"):
        phicoll.MPI.Prequest.Startall([phicoll.REQUEST_NULL])


@pytest.mark.parametrize("call", ["Waitall", "testall", "Get_status_all", "Waitsome", "testsome"])
def test_what_is_no_list_of_statuses_is_refused_in_words(call):
    with pytest.raises(TypeError, match=r"statuses: got 5; allowed: a list of Status objects or None"):
        getattr(Request, call)([phicoll.REQUEST_NULL], 5)
    with pytest.raises(TypeError, match=r"statuses\[0\]: got None; allowed: a Status"):
        getattr(Request, call)([phicoll.REQUEST_NULL], [None])


def with_status(comm, status):
    """Each call that takes a status and would wait, or find nothing, if the status were right."""
    buf = np.zeros(1)
    request = comm.Irecv(buf, 0, 9)
    yield from (
        lambda: comm.Recv(buf, 0, 9, status),
        lambda: comm.Recv(buf, 0, 9, status=status),
        lambda: comm.recv(None, 0, 9, status),
        lambda: comm.Sendrecv(buf, 0, 8, buf.copy(), 0, 9, status),
        lambda: comm.sendrecv(None, 0, 8, None, 0, 9, status),
        lambda: comm.Sendrecv_replace(buf, 0, 8, 0, 9, status),
        *(partial(getattr(comm, name), 0, 9, status) for name in ("Probe", "probe", "Iprobe", "iprobe")),
        *(partial(getattr(comm, name), 0, 9, status) for name in ("Mprobe", "mprobe", "Improbe", "improbe")),
        *(partial(getattr(phicoll.MPI.Message, name), comm, 0, 9, status) for name in ("Probe", "Iprobe")),
        *(partial(getattr(request, name), status) for name in ("Wait", "wait", "Test", "test", "Get_status")),
        *(partial(getattr(Request, name), [request], status) for name in ("Waitany", "waitany")),
        *(partial(getattr(Request, name), [request], status) for name in ("Testany", "testany")),
    )
    request.Cancel()


def test_what_is_no_status_is_refused_before_the_call_waits(mode):
    def work(comm):
        for call in with_status(comm, 5):
            with pytest.raises(TypeError, match=r"status: got 5; allowed: a Status or None"):
                call()
        assert not comm.Iprobe()  # nothing was sent
        comm.Barrier()

    run(work, 1, mode)


def test_arrays_of_many_bytes_arrive_whole_from_any_address(mode):
    def work(comm):
        count = (8 << 20) + 12345
        sent = np.arange(count + 8, dtype=np.uint32).view(np.uint8)
        got = np.zeros(sent.size, np.uint8)
        for skipped in (0, 1, 7, 63):
            if comm.rank == 0:
                comm.Send(sent[skipped : skipped + count], 1)
            else:
                got[:] = 0
                comm.Recv(got[skipped : skipped + count], 0)
                assert (got[skipped : skipped + count] == sent[skipped : skipped + count]).all()
                assert not got[:skipped].any()
                assert not got[skipped + count :].any()

    run(work, 2, mode)


def test_a_strided_array_is_received_in_place():
    def work(comm):
        if comm.rank == 0:
            comm.Send(np.arange(6.0)[::2], 1)
            return None
        whole = np.zeros(6)
        comm.Recv(whole[1::2], 0)
        later = np.zeros((2, 2))
        assert not comm.Iprobe()
        return whole.tolist(), later.tolist()

    assert run(work, 2)[1][0] == [0, 0, 0, 2, 0, 4]


OBJECTS = [
    None,
    True,
    3,
    -(2**70),
    1.5,
    "text",
    "x" * 5000,
    {"a": [1, 2]},
    b"\0" * 100_000,
    (1, (2, 3)),
    np.arange(3),
]


def same(a, b):
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b and type(a) is type(b)


def test_objects_arrive_as_they_were(mode):
    def work(comm):
        other = 1 - comm.rank
        for found in OBJECTS:
            assert same(comm.sendrecv(found, other, 5, source=other, recvtag=5), found)
        sent = [comm.isend(found, other, tag) for tag, found in enumerate(OBJECTS)]
        received = [comm.irecv(source=other, tag=tag) for tag in reversed(range(len(OBJECTS)))]
        found = Request.waitall(received)
        assert all(map(same, found, reversed(OBJECTS)))
        assert Request.waitall(sent) == [None] * len(OBJECTS)
        status = Status()
        comm.send("last", other)
        assert comm.recv(status=status) == "last"
        assert status.source == other

    run(work, 2, mode)


def test_messages_of_one_sender_keep_their_order():
    def work(comm):
        if comm.rank:
            for i in range(200):
                comm.send((comm.rank, i), 0, tag=i % 3)
            return True
        heard = {rank: [] for rank in range(1, comm.size)}
        status = Status()
        for _ in range(200 * (comm.size - 1)):
            rank, i = comm.recv(source=ANY_SOURCE, tag=ANY_TAG, status=status)
            assert (status.source, status.tag) == (rank, i % 3)
            heard[rank].append(i)
        return all(found == list(range(200)) for found in heard.values())

    assert run(work, 4)[0]


def test_requests_end_one_by_one_and_are_null_then():
    def work(comm):
        if comm.rank == 0:
            comm.Barrier()
            comm.send("second", 1, 2)
            comm.Barrier()
            comm.send("first", 1, 1)
            return
        requests = [comm.irecv(source=0, tag=1), comm.irecv(source=0, tag=2)]
        assert requests[0].test() == (False, None)
        assert Request.testany(requests) == (phicoll.UNDEFINED, False, None)
        assert Request.testsome(requests) == ([], [])
        comm.Barrier()
        assert Request.waitany(requests) == (1, "second")
        assert not requests[1]
        assert repr(requests[1]) == "phicoll.REQUEST_NULL"
        assert requests[1].wait() is None
        comm.Barrier()
        assert Request.waitsome(requests) == ([0], ["first"])
        assert Request.waitsome(requests) == (None, None)
        assert Request.waitany(requests) == (phicoll.UNDEFINED, None)
        assert Request.Testall(requests)

    run(work, 2)


def test_a_request_keeps_its_buffer_and_goes_on_when_it_is_dropped():
    def work(comm):
        if comm.rank == 0:
            comm.Isend(np.full(200_000, 7.0), 1)  # dropped, with its array
            comm.Barrier()
            comm.Barrier()
            return
        comm.Barrier()
        got = np.zeros(200_000)
        comm.Recv(got, 0)
        assert (got == 7).all()
        comm.Barrier()

    run(work, 2, "threads")

    def waited(comm):
        if comm.rank == 0:
            comm.Isend(np.full(200_000, 7.0), 1).Wait()
            return True
        got = np.zeros(200_000)
        comm.Recv(got, 0)
        return bool((got == 7).all())

    assert run(waited, 2) == [True, True]


def test_a_persistent_request_is_started_again_and_again():
    def work(comm):
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        sent, got = np.zeros(3), np.zeros(6)
        requests = [comm.Send_init(sent, right, 4), comm.Recv_init(got[::2], left, 4)]
        for turn in range(5):
            sent[:] = 10 * turn + comm.rank
            phicoll.MPI.Prequest.Startall(requests)
            with pytest.raises(phicoll.ArgumentError, match="one that is active"):
                requests[1].Start()
            with pytest.raises(phicoll.ArgumentError, match="one that is active"):
                requests[1].Free()
            Request.Waitall(requests)
            assert got.tolist() == [10 * turn + left, 0] * 3
        assert Request.Waitany(requests) == phicoll.UNDEFINED
        for request in requests:
            request.Free()
        with pytest.raises(phicoll.ArgumentError, match="one that was freed"):
            requests[0].Start()

    run(work, 3)


def test_a_subclass_names_the_same_communicator():
    class Named(phicoll.Comm):
        def __new__(cls, comm):
            return super().__new__(cls, comm)

    def work(comm):
        named = Named(comm)
        assert named == comm
        return named.allreduce(1)

    assert run(work, 2, "threads") == [2, 2]


def test_probe_finds_what_a_receive_takes(mode):
    def work(comm):
        if comm.rank == 0:
            comm.Send(np.arange(5, dtype=np.int32), 1, 8)
            comm.Barrier()
            return
        status = Status()
        comm.Probe(0, ANY_TAG, status)
        assert (status.tag, status.Get_count(phicoll.INT)) == (8, 5)
        assert comm.Iprobe(0, 8)
        assert not comm.Iprobe(0, 9)
        got = np.zeros(status.Get_count(phicoll.INT), np.int32)
        comm.Recv(got)
        assert got.tolist() == [0, 1, 2, 3, 4]
        assert not comm.Iprobe()
        comm.Barrier()

    run(work, 2, mode)


def test_a_synchronous_send_waits_for_its_receive():
    def work(comm):
        if comm.rank == 0:
            request = comm.issend("now", 1)
            assert not request.Test()
            comm.Barrier()
            request.Wait()
            comm.Ssend(np.ones(1), 1)
            return
        comm.Barrier()
        assert comm.recv() == "now"
        comm.Recv(np.ones(1))

    run(work, 2)


def test_no_rank_and_itself():
    def work(comm):
        comm.Send(np.ones(3), PROC_NULL)
        got = np.zeros(3)
        status = Status()
        comm.Recv(got, PROC_NULL, status=status)
        assert (status.source, status.Get_count()) == (PROC_NULL, 0)
        assert comm.recv(source=PROC_NULL) is None
        request = comm.Irecv(got, comm.rank)
        comm.Send(np.full(3, 2.0), comm.rank)
        request.Wait()
        assert got.tolist() == [2, 2, 2]
        comm.Sendrecv_replace(got, (comm.rank + 1) % comm.size, 1, (comm.rank - 1) % comm.size, 1)

    run(work, 2)
    work(phicoll.COMM_SELF)


def test_halos_of_a_grid_are_what_one_rank_alone_computes():
    rows, columns, steps = 12, 7, 5
    start = np.arange(rows * columns, dtype=float).reshape(rows, columns) % 5

    def step(padded):
        return (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4

    def work(comm):
        share = rows // comm.size
        own = np.zeros((share + 2, columns + 2))
        own[1:-1, 1:-1] = start[comm.rank * share : (comm.rank + 1) * share]
        up = comm.rank - 1 if comm.rank else PROC_NULL
        down = comm.rank + 1 if comm.rank + 1 < comm.size else PROC_NULL
        for _ in range(steps):
            requests = [
                comm.Irecv(own[0], up, 1),
                comm.Irecv(own[-1], down, 2),
                comm.Isend(own[1], up, 2),
                comm.Isend(own[-2], down, 1),
            ]
            Request.Waitall(requests)
            own[1:-1, 1:-1] = step(own)
        return own[1:-1, 1:-1]

    alone = np.zeros((rows + 2, columns + 2))
    alone[1:-1, 1:-1] = start
    for _ in range(steps):
        alone[1:-1, 1:-1] = step(alone)
    assert np.allclose(np.vstack(run(work, 3)), alone[1:-1, 1:-1])


def refused(comm, words, call, *arguments):
    with pytest.raises(phicoll.ArgumentError, match=words):
        call(*arguments)


def test_bad_input_names_the_argument():
    def work(comm):
        one = np.ones(1)
        refused(comm, r"dest: got 2; allowed: 0..1 or PROC_NULL \(-2\)", comm.Send, one, 2)
        refused(comm, "dest: got 1.5; allowed: a whole number", comm.Send, one, 1.5)
        refused(comm, "dest: got -1", comm.send, "x", ANY_SOURCE)
        refused(comm, "source: got 5", comm.Recv, one, 5)
        refused(comm, "tag: got -2", comm.send, "x", 0, -2)
        refused(comm, "tag: got 2147483648", comm.send, "x", 0, 2**31)
        refused(comm, "buf: got an int", comm.Send, 5, 0)
        refused(comm, "read-only", comm.Recv, b"abc", 0)
        comm.isend("x", comm.rank).Cancel()  # has no effect
        with pytest.raises(Exception, match="pickle"):
            comm.send((i for i in range(3)), 0)
        assert comm.recv(source=comm.rank) == "x"

    run(work, 2)


def test_a_message_that_does_not_fit_stays():
    def work(comm):
        if comm.rank == 0:
            comm.Send(np.arange(4.0), 1, 6)
            comm.send("an object", 1, 7)
            return
        refused(comm, "room for 32 bytes, the message from rank 0 with tag 6", comm.Recv, np.zeros(3), 0, 6)
        refused(comm, "float64, as the message", comm.Recv, np.zeros(4, np.int64), 0, 6)
        refused(comm, "a receive of data", lambda: comm.recv(source=0, tag=6))
        refused(comm, "a receive of an object", comm.Recv, np.zeros(4), 0, 7)
        got = np.zeros(4)
        comm.Recv(got, 0, 6)
        assert got.tolist() == [0, 1, 2, 3]
        assert comm.recv(source=0, tag=7) == "an object"

    run(work, 2)


def test_a_receive_can_be_taken_back():
    def work(comm):
        request = comm.irecv(source=0, tag=77)
        request.Cancel()
        status = Status()
        assert request.wait(status) is None
        assert status.Is_cancelled()
        assert not request

    run(work, 2)


def test_ranks_that_wait_for_each_other_are_told_within_seconds(mode):
    def work(comm):
        comm.recv(source=1 - comm.rank, tag=30 + comm.rank)

    def took():
        start = time.monotonic()
        with pytest.raises(phicoll.BrokenGroupError) as error:
            run(work, 2, mode)
        words = str(error.value)
        assert "waits for a message from rank" in words
        assert "with tag 30" in words
        assert "with tag 31" in words
        return time.monotonic() - start

    expect_within(10, took)


@pytest.mark.parametrize("call", ["Waitany", "waitsome", "Waitall"])
def test_ranks_that_wait_for_requests_of_each_other_are_told_of_these(call, mode):
    def work(comm):
        tags = (30 + comm.rank, 40 + comm.rank)
        getattr(Request, call)([comm.irecv(source=1 - comm.rank, tag=tag) for tag in tags])

    with pytest.raises(phicoll.BrokenGroupError) as error:
        run(work, 2, mode)
    words = str(error.value)
    for rank in range(2):
        other = f" or a message from rank {1 - rank} with tag {40 + rank}" * (call != "Waitall")
        assert f"waits for a message from rank {1 - rank} with tag {30 + rank}{other}" in words


def test_a_rank_that_dies_ends_a_receive():
    def work(comm):
        if comm.rank == 1:
            raise ValueError("no more")
        comm.recv(source=1)

    with pytest.raises(ValueError, match="no more"):
        run(work, 2)


LARGE = 200_000  # elements of 8 bytes: more than a ring holds


def large_send_then_barrier(comm):
    if comm.rank == 0:
        request = comm.Isend(np.full(LARGE, 3.0), 1)
        comm.Barrier()
        request.Wait()
        return True
    got = np.zeros(LARGE)
    comm.Recv(got, 0)
    comm.Barrier()
    return bool((got == 3).all())


def posted_receive_then_barrier(comm):
    if comm.rank == 1:
        comm.Send(np.full(LARGE, 4.0), 0)
        comm.Barrier()
        return True
    got = np.zeros(LARGE)
    request = comm.Irecv(got, 1)
    comm.Barrier()
    request.Wait()
    return bool((got == 4).all())


def many_sends_then_a_collective(comm):
    if comm.rank == 0:
        requests = [comm.isend(i, 1) for i in range(100)]
        assert comm.bcast("all", 0) == "all"
        Request.waitall(requests)
        return True
    found = [comm.recv(source=0) for _ in range(100)]
    return comm.bcast(None, 0) == "all" and found == list(range(100))


def dropped_sends_at_the_end(comm):
    if comm.rank == 0:
        comm.Bsend(np.full(LARGE, 5.0), 1)
        for i in range(60):
            comm.bsend(i, 1)
        return True
    time.sleep(0.4)
    got = np.zeros(LARGE)
    comm.Recv(got, 0)
    return bool((got == 5).all()) and [comm.recv() for _ in range(60)] == list(range(60))


def dropped_sends_on_a_dropped_communicator(comm):
    part = comm.Dup()
    if comm.rank == 0:
        part.Bsend(np.full(LARGE, 5.0), 1)
        return True
    time.sleep(0.4)
    got = np.zeros(LARGE)
    part.Recv(got, 0)
    return bool((got == 5).all())


# More than a channel has cells, so the sender waits for room before it makes the call that its receiver waits for.
MORE_THAN_A_CHANNEL = 100


def many_sends_then_a_barrier(comm):
    if comm.rank == 0:
        for i in range(MORE_THAN_A_CHANNEL):
            comm.send(i, 1)
        comm.Barrier()
        return True
    comm.Barrier()
    return [comm.recv(source=0) for _ in range(MORE_THAN_A_CHANNEL)] == list(range(MORE_THAN_A_CHANNEL))


def many_sends_before_one_to_another(comm, receive=lambda comm: comm.recv(source=1)):
    if comm.rank == 0:
        for i in range(MORE_THAN_A_CHANNEL):
            comm.send(i, 2)
        comm.send("go", 1)
        return True
    if comm.rank == 1:
        comm.send(comm.recv(source=0), 2)
        return True
    assert receive(comm) == "go"
    return [comm.recv(source=0) for _ in range(MORE_THAN_A_CHANNEL)] == list(range(MORE_THAN_A_CHANNEL))


def many_sends_to_one_that_tests(comm):
    def receive(comm):
        request = comm.irecv(source=1)
        found = False
        while not found:
            found, received = request.test()
        return received

    return many_sends_before_one_to_another(comm, receive)


def many_sends_to_one_that_sends_synchronously(comm):
    if comm.rank == 0:
        comm.ssend("mine", 1)
        return [comm.recv(source=1) for _ in range(MORE_THAN_A_CHANNEL)] == list(range(MORE_THAN_A_CHANNEL))
    for i in range(MORE_THAN_A_CHANNEL):
        comm.send(i, 0)
    return comm.recv(source=0) == "mine"


def many_sends_on_another_communicator(comm, other, wait):
    if comm.rank == 0:
        for i in range(MORE_THAN_A_CHANNEL):
            other.Send(np.full(4, i, dtype=np.int64), 1)
            other.send({"number": i}, 1)
    wait(comm)
    good = True
    if comm.rank == 1:
        for i in range(MORE_THAN_A_CHANNEL):
            got = np.empty(4, dtype=np.int64)
            other.Recv(got, 0)
            good = good and bool((got == i).all()) and other.recv(source=0) == {"number": i}
    comm.Barrier()
    other.Free()
    return good


def wait_for_a_word_from_another_rank(comm):
    if comm.rank == 1:
        assert comm.recv(source=2) == "go"
    elif comm.rank == 0:
        comm.send("go", 2)
    else:
        comm.send(comm.recv(source=0), 1)


def many_sends_on_a_duplicate_then_a_barrier(comm):
    return many_sends_on_another_communicator(comm, comm.Dup(), lambda comm: comm.Barrier())


def many_sends_on_a_part_then_a_collective(comm):
    part = comm.Split(comm.rank // 2, 0)
    return many_sends_on_another_communicator(comm, part, lambda comm: comm.allreduce(1))


def many_sends_on_a_duplicate_to_one_that_receives(comm):
    return many_sends_on_another_communicator(comm, comm.Dup(), wait_for_a_word_from_another_rank)


def many_sends_on_a_duplicate_to_one_that_tests(comm):
    def test(comm):
        request = comm.Ibarrier()
        while not request.Test():
            pass

    return many_sends_on_another_communicator(comm, comm.Dup(), test)


def a_send_on_another_communicator(comm):
    other = comm.Dup()
    if comm.rank == 0:
        request = other.Isend(np.full(LARGE, 6.0), 1)
        assert comm.recv(source=1) == "go"
        request.Wait()
        done = True
    else:
        got = np.zeros(LARGE)
        other.Recv(got, 0)
        comm.send("go", 0)
        done = bool((got == 6).all())
    other.Free()
    return done


def large_objects_by_requests(comm):
    if comm.rank:
        comm.send(bytes([comm.rank]) * 10_000, 0, 11)
        comm.send("b" * 20_000, 0, 12)
        return True
    requests = [comm.irecv(source=ANY_SOURCE, tag=11) for _ in range(comm.size - 1)]
    found = Request.waitall(requests)
    assert sorted(found) == [bytes([rank]) * 10_000 for rank in range(1, comm.size)]
    requests = [comm.irecv(tag=12) for _ in range(comm.size - 1)]
    places = {Request.waitany(requests)[0] for _ in requests}
    return places == set(range(comm.size - 1))


def many_large_messages_out_of_order(comm):
    other = 1 - comm.rank
    sent = [comm.Isend(np.full(5000, float(tag)), other, tag) for tag in range(80)]
    more = [comm.issend(tag, other, 100 + tag) for tag in range(20)]
    good = True
    for tag in reversed(range(80)):
        got = np.zeros(5000)
        comm.Recv(got, other, tag)
        good = good and bool((got == tag).all())
    good = good and [comm.recv(None, other, 100 + tag) for tag in reversed(range(20))] == list(
        reversed(range(20))
    )
    Request.Waitall([*sent, *more])
    return good


def a_stream_beside_another_receive(comm):
    if comm.rank == 0:
        comm.Send(np.full(LARGE, 7.0), 1)
        comm.send("go", 2)
    elif comm.rank == 1:
        got = np.zeros(LARGE)
        request = comm.Irecv(got, 0)
        request.Test()
        assert comm.recv(source=2) == "came"
        request.Wait()
        return bool((got == 7).all())
    else:
        assert comm.recv(source=0) == "go"
        comm.send("came", 1)
    return True


def both_send_first(comm):
    other = 1 - comm.rank
    for i in range(100):
        comm.send(i, other)
    return [comm.recv(source=other) for _ in range(100)] == list(range(100))


def a_group_of_one_made_beside_a_split(comm):
    for _ in range(20):
        part = comm.Split(0, comm.rank)
        if comm.rank == 0:
            comm.Create_group(comm.Get_group().Incl([0])).Free()
        part.Barrier()
        part.Free()
    return True


def a_refused_exchange(comm):
    if comm.rank == 0:
        with pytest.raises(phicoll.ArgumentError, match="room for"):
            comm.Sendrecv(np.full(LARGE, 8.0), 1, 0, np.zeros(1), 1, 0)
        comm.Recv(np.zeros(2), 1)
        return True
    got = np.zeros(LARGE)
    request = comm.Isend(np.ones(2), 0)
    comm.Recv(got, 0)
    request.Wait()
    return bool((got == 8).all())


@pytest.mark.parametrize(
    ("ranks", "work"),
    [
        (2, large_send_then_barrier),
        (2, posted_receive_then_barrier),
        (2, many_sends_then_a_collective),
        (2, dropped_sends_at_the_end),
        (2, dropped_sends_on_a_dropped_communicator),
        (2, many_sends_then_a_barrier),
        (3, many_sends_before_one_to_another),
        (3, many_sends_to_one_that_tests),
        (2, many_sends_to_one_that_sends_synchronously),
        (2, many_sends_on_a_duplicate_then_a_barrier),
        (3, many_sends_on_a_part_then_a_collective),
        (3, many_sends_on_a_duplicate_to_one_that_receives),
        (2, many_sends_on_a_duplicate_to_one_that_tests),
        (2, a_send_on_another_communicator),
        (3, large_objects_by_requests),
        (2, many_large_messages_out_of_order),
        (3, a_stream_beside_another_receive),
        (2, both_send_first),
        (2, a_group_of_one_made_beside_a_split),
        (2, a_refused_exchange),
    ],
    ids=lambda work: getattr(work, "__name__", None),
)
def test_what_is_begun_goes_on(work, ranks, mode):
    assert run(work, ranks, mode) == [True] * ranks


def test_an_exception_in_waitany_ends_the_waits_of_other_threads(mode):
    def work(comm):
        other = comm.Dup()
        if comm.rank == 1:
            time.sleep(2)
            return
        thread = threading.Thread(target=lambda: other.recv(source=1), daemon=True)
        thread.start()

        def alarm(*_):
            raise ZeroDivisionError("from the handler")

        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        Request.Waitany([comm.irecv(source=1)])

    if mode == "threads":
        pytest.skip("a thread that is not the main one handles no signals")
    with pytest.raises(ZeroDivisionError, match="from the handler"):
        run(work, 2, mode)


def test_a_fork_that_ends_leaves_its_parent_s_sends_alone(tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(
        textwrap.dedent("""
        import os, sys, time
        import numpy as np
        from phicoll import COMM_WORLD as comm

        if comm.rank == 0:
            mine = comm.empty(1 << 16)
            mine[:] = 3
            request = comm.Isend(mine, 1)
            if os.fork() == 0:
                sys.exit(0)
            os.wait()
            request.Wait()
        else:
            time.sleep(0.5)
            got = np.empty(1 << 16)
            comm.Recv(got, 0)
            print("right" if (got == 3).all() else "wrong")
        """)
    )
    ran = subprocess.run(
        [sys.executable, "-m", "phicoll.launch", "-n", "2", str(script)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stdout) == (0, "[1] right\n"), ran.stderr


def test_the_world_of_the_module_is_the_running_rank_s():
    from phicoll import MPI

    def work(comm):
        return MPI.COMM_WORLD.size, comm == MPI.COMM_WORLD

    assert MPI.COMM_WORLD.size == 1
    for mode in MODES:
        assert run(work, 2, mode) == [(2, True)] * 2


def test_a_part_s_ranks_are_named_as_the_whole_group_s():
    def work(comm):
        if comm.rank == 0:
            comm.Split(phicoll.UNDEFINED)
            return None
        part = comm.Split(0, -comm.rank)
        if part.rank == 1:  # rank 1, which waits for rank 2 while rank 0 has left
            return part.recv(source=0)
        time.sleep(1.2)
        part.send("late", 1)
        return None

    assert run(work, 3) == [None, "late", None]


def test_threads_whose_group_breaks_in_a_large_copy_end_with_an_error():
    def work(comm):
        data = np.zeros(20_000_000)
        if comm.rank == 0:
            comm.Send(data, 1)
        elif comm.rank == 1:
            comm.Recv(data, 0)
            comm.recv(source=0)
        else:
            time.sleep(0.03)
            raise ValueError("enough")

    for _ in range(3):
        with pytest.raises(ValueError, match="enough"):
            run(work, 3, "threads")


def test_a_request_is_null_after_an_error_and_the_message_stays():
    def work(comm):
        if comm.rank == 0:
            for tag in range(4):
                comm.Send(np.arange(4.0), 1, tag)
            return
        small = np.zeros(2)
        ends = [
            lambda request: request.Wait(),
            lambda request: wait_for_test(request),
            lambda request: Request.Waitany([request]),
            lambda request: Request.Waitsome([Request(), request]),
        ]
        for tag, end in enumerate(ends):
            request = comm.Irecv(small, 0, tag)
            with pytest.raises(phicoll.ArgumentError, match="room for 32 bytes"):
                end(request)
            assert not request
            assert request.Test()
            comm.Recv(np.zeros(4), 0, tag)
        again = comm.Recv_init(small, 0, 9)
        again.Start()
        again.Cancel()
        again.Wait()
        again.Free()

    run(work, 2)


def wait_for_test(request):
    while not request.Test():
        pass


def test_a_wait_takes_requests_of_several_communicators(mode):
    def work(comm):
        other = comm.Dup()
        if comm.rank == 0:
            other.send("on the other", 1)
            comm.Barrier()
            comm.send("on this", 1)
            other.Free()
            return True
        requests = [comm.irecv(source=0), other.irecv(source=0)]
        assert Request.waitany(requests) == (1, "on the other")
        comm.Barrier()
        assert Request.waitsome(requests) == ([0], ["on this"])
        with pytest.raises(phicoll.ArgumentError, match="elements"):
            comm.Irecv([np.zeros(1), 2], 0)
        other.Free()
        return True

    assert run(work, 2, mode) == [True, True]


def test_a_matched_message_is_received_by_its_own_receive_alone(mode):
    def work(comm):
        if comm.rank == 0:
            for tag, found in enumerate(["first", "second", "third"]):
                comm.send(found, 1, min(tag, 1))
            comm.Send(np.full(LARGE, 2.0), 1, 5)
            return True
        status = Status()
        message = comm.mprobe(0, 1, status)
        assert (status.source, status.tag) == (0, 1)
        assert comm.recv(source=0, tag=1) == "third"
        assert comm.recv(source=0) == "first"
        assert message.recv() == "second"
        assert message == phicoll.MPI.MESSAGE_NULL
        with pytest.raises(phicoll.ArgumentError, match="MESSAGE_NULL"):
            message.recv()
        found = None
        while found is None:
            found = comm.Improbe(0, 5)
        assert not comm.Iprobe(0, 5)
        got = np.zeros(LARGE)
        request = found.Irecv(got)
        request.Wait(status)
        assert (got == 2).all()
        assert status.Get_count(phicoll.DOUBLE) == LARGE
        none = comm.Mprobe(PROC_NULL)
        assert none == phicoll.MPI.MESSAGE_NO_PROC
        none.Recv(None, status)
        assert status.source == PROC_NULL
        assert comm.improbe() is None
        return True

    assert run(work, 2, mode) == [True, True]


def test_a_send_and_a_receive_in_one_request():
    def work(comm):
        other = 1 - comm.rank
        mine, theirs = np.full(LARGE, float(comm.rank)), np.zeros(LARGE)
        request = comm.Isendrecv(mine, other, 3, theirs, other, 3)
        mine[:] = -1  # it was copied
        request.Wait()
        assert (theirs == other).all()
        comm.Isendrecv_replace(theirs, other, source=other).Wait()
        assert (theirs == comm.rank).all()

    run(work, 2)


def test_a_char_is_as_good_as_a_byte():
    def work(comm):
        if comm.rank == 0:
            comm.Send([b"chars", phicoll.CHAR], 1)
            comm.Send([b"bytes", phicoll.BYTE], 1)
            comm.Send([bytearray(b"\1\xff"), "c"], 1)
            comm.Send([b"bytes", phicoll.BYTE], 1)
            return None
        chars, octets, signed = bytearray(5), np.zeros(5, np.int8), bytearray(2)
        comm.Recv(chars, 0)
        comm.Recv(octets, 0)
        comm.Recv([signed, phicoll.BYTE], 0)
        text = np.zeros(1, "S5")
        comm.Recv([text, phicoll.CHAR], 0)
        return bytes(chars), octets.tobytes(), bytes(signed), text[0]

    assert run(work, 2)[1] == (b"chars", b"bytes", b"\1\xff", b"bytes")


def test_errors_name_types_that_are_not_the_core_s():
    def work(comm):
        if comm.rank == 0:
            comm.Send(np.zeros(3, "m8[s]"), 1)
            comm.Send(np.zeros(3), 1)
            return
        words = "24 bytes of float64; allowed: a type that this rank has not used"
        refused(comm, words, comm.Recv, np.zeros(3), 0)
        comm.Recv(np.zeros(3, "m8[s]"), 0)
        refused(comm, r"24 bytes of timedelta64\[s\]", comm.Recv, np.zeros(3, "m8[s]"), 0)
        comm.Recv(np.zeros(3), 0)

    run(work, 2)


def another_thread_ends_the_wait(comm):
    """Both ranks wait for longer than ranks that are stuck do."""
    other = comm.Dup()
    if comm.rank == 0:

        def help_later():
            time.sleep(1.5)
            other.send("help", 1)

        helper = threading.Thread(target=help_later)
        helper.start()
        found = comm.recv(source=1)
        helper.join()
    else:
        found = other.recv(source=0)
        comm.send("thanks", 0)
    other.Free()
    return found


def test_a_rank_with_another_thread_is_not_stuck(mode):
    assert run(another_thread_ends_the_wait, 2, mode) == ["thanks", "help"]


def test_two_threads_of_a_rank_use_two_communicators_at_once(mode):
    """Each goes on with what the other has begun, so they meet on both."""

    def work(comm):
        other = 1 - comm.rank
        parts = [comm.Dup(), comm.Dup()]
        wrong = []

        def talk(part, seed):
            for turn in range(40):
                size = [3, 4000, 60_000][turn % 3]
                got = np.zeros(size)
                requests = [part.Isend(np.full(size, float(seed + turn)), other), part.Irecv(got, other)]
                Request.Waitall(requests)
                if not (got == seed + turn).all():
                    wrong.append((seed, turn))

        threads = [threading.Thread(target=talk, args=(part, 100 * i)) for i, part in enumerate(parts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return wrong

    assert run(work, 2, mode) == [[], []]


SHARED = {
    "overlapping": lambda b: (b[:5], b[3:]),
    "the same": lambda b: (b, b),
    "by counts": lambda b: ([b, 5, phicoll.DOUBLE], [b, (5, 4), phicoll.DOUBLE]),
    "every other": lambda b: (b, b[::2]),
}


@pytest.mark.parametrize("buffers", SHARED.values(), ids=SHARED)
def test_sendrecv_refuses_buffers_that_share_memory(buffers, mode):
    words = "recvbuf: got memory that overlaps sendbuf; allowed: .*Sendrecv_replace"

    def work(comm):
        b = np.arange(10.0)
        sent, received = buffers(b)
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        with pytest.raises(phicoll.ArgumentError, match=words):
            comm.Sendrecv(sent, right, 0, received, left, 0)
        with pytest.raises(phicoll.ArgumentError, match=words):
            comm.Isendrecv(sent, right, 0, received, left, 0)
        # Nothing was sent, and buffers side by side are apart.
        comm.Sendrecv([b, 5], right, 0, [b, (5, 5)], left, 0)
        comm.Sendrecv(b[1::2], right, 0, b[::2], left, 0)
        comm.Sendrecv_replace(b, right, 0, left, 0)
        comm.Isendrecv_replace(b, right, 0, left, 0).Wait()
        return b.tolist()

    # b[5:] becomes 0 to 4, then b[::2] what b[1::2] is.
    assert run(work, 2, mode) == [[1, 1, 3, 3, 0, 0, 2, 2, 4, 4]] * 2
