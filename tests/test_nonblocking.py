"""Nonblocking and persistent collectives from Python: results, order, what goes on meanwhile, and bad input."""

import gc
import random
import re
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

import phicoll
from conftest import expect_within, run
from phicoll import ArgumentError, BrokenGroupError, Request
from phicoll.comm import rank_processes


def arguments(comm, seed):
    """The arguments of each call, and the buffer in which its result is."""
    rank, size = comm.rank, comm.size
    n = 6
    counts = [r + 1 for r in range(size)]
    own = counts[rank]
    total = sum(counts)

    def send(count):
        return np.arange(count, dtype=np.int64) * (rank + 1) + seed

    def empty(count):
        return np.full(count, -1, np.int64)

    root = size - 1
    types = [phicoll.INT64_T] * size
    places = [8 * n * r for r in range(size)]
    made = {
        "barrier": ((), None),
        "bcast": ((buffer := send(n) if rank == root else empty(n), root), buffer),
        "reduce": ((send(n), result := empty(n), phicoll.SUM, root), result),
        "allreduce": ((send(n), result := empty(n), phicoll.MAX), result),
        "scan": ((send(n), result := empty(n)), result),
        "exscan": ((send(n), result := empty(n)), result),
        "reduce_scatter_block": ((send(n * size), result := empty(n)), result),
        "reduce_scatter": ((send(total), result := empty(own), counts), result),
        "gather": ((send(n), result := empty(n * size), root), result),
        "scatter": ((send(n * size), result := empty(n), root), result),
        "allgather": ((send(n), result := empty(n * size)), result),
        "alltoall": ((send(n * size), result := empty(n * size)), result),
        "gatherv": ((send(own), [result := empty(total), counts], root), result),
        "scatterv": (([send(total), counts], result := empty(own), root), result),
        "allgatherv": ((send(own), [result := empty(total), counts]), result),
        "alltoallv": (([send(own * size), [own] * size], [result := empty(total), counts]), result),
        "alltoallw": (
            (
                [send(n * size), [n] * size, places, types],
                [result := empty(n * size), [n] * size, places, types],
            ),
            result,
        ),
    }
    return made


def test_every_call_has_the_result_of_the_blocking_one(mode):
    def work(comm):
        plain = arguments(comm, 3)
        begun = arguments(comm, 3)
        again = arguments(comm, 3)
        requests = []
        for name, (given, _) in begun.items():
            requests.append(getattr(comm, "I" + name)(*given))
            assert requests[-1]
        for name, (given, _) in plain.items():
            getattr(comm, name.capitalize())(*given)
        Request.Waitall(requests)
        assert not any(requests)
        for name, (given, result) in again.items():
            request = getattr(comm, name.capitalize() + "_init")(*given)
            for _ in range(3):
                if result is not None and name != "bcast":
                    result[:] = -1
                request.Start()
                request.Wait()
            request.Free()
        for name, (_, wanted) in plain.items():
            if wanted is not None:
                assert begun[name][1].tolist() == wanted.tolist(), name
                assert again[name][1].tolist() == wanted.tolist(), name

    run(work, 3, mode)
    run(work, 1, mode)


def test_many_are_under_way_and_end_in_any_order():
    def work(comm):
        received = [np.empty(2**k) for k in range(15)]
        requests = [comm.Iallreduce(np.full(b.size, comm.rank + 1.0), b) for b in received]
        requests.append(comm.irecv(source=(comm.rank + 1) % comm.size))
        requests.append(comm.isend("a message", (comm.rank - 1) % comm.size))
        gc.collect()  # the sent arrays live in the requests alone
        ended = set()
        while True:
            place, found = Request.waitany(requests)
            if place == phicoll.UNDEFINED:
                break
            ended.add(place)
            assert found == ("a message" if place == 15 else None)
        assert ended == set(range(17))
        total = comm.size * (comm.size + 1) / 2
        assert all((b == total).all() for b in received)

    run(work, 4)


def test_beginning_waits_for_nobody_and_what_began_goes_on_in_other_calls():
    def work(comm):
        found = np.empty(100_000)
        if comm.rank == 0:
            request = comm.Iallreduce(np.ones(100_000), found)
            assert not request.Test()
            comm.send("now", 1)
        else:
            assert comm.recv(source=0) == "now"
            request = comm.Iallreduce(np.ones(100_000), found)
        comm.Barrier()  # each goes on with the reduction while it waits here
        comm.barrier()
        until = time.monotonic() + 30
        while not request.Test():
            assert time.monotonic() < until
        assert (found == 2).all()

    run(work, 2)


def test_a_request_that_is_dropped_goes_on_and_keeps_its_memory():
    def work(comm):
        found = np.zeros(50_000)
        for _ in range(20):
            comm.Iallreduce(np.ones(50_000), found)
        gc.collect()
        last = comm.Ibarrier()
        last.Wait()
        assert (found == comm.size).all()
        comm.Iallreduce(np.ones(50_000), found)  # it ends before the rank leaves

    run(work, 3)


def test_strided_buffers_are_packed_at_every_start():
    def work(comm):
        send, receive = np.zeros((10, 2)), np.zeros((10, 3))
        request = comm.Allreduce_init(send[:, 1], receive[:, 0])
        for turn in range(3):
            send[:, 1] = turn + comm.rank
            request.Start()
            request.Wait()
            assert (receive[:, 0] == comm.size * turn + sum(range(comm.size))).all()
        comm.Iallreduce(send[:, 1], receive[:, 2]).Wait()
        assert (receive[:, 2] == receive[:, 0]).all()
        assert (receive[:, 1] == 0).all()

    run(work, 2)


def test_an_operator_of_ones_own_is_called(mode):
    def add(left, right):
        np.frombuffer(right, np.float64)[:] += np.frombuffer(left, np.float64)

    def work(comm):
        op = phicoll.Op.Create(lambda left, right, datatype: add(left, right), commute=True)
        found = np.empty(1000)
        comm.Iallreduce(np.full(1000, comm.rank + 1.0), found, op).Wait()
        assert (found == comm.size * (comm.size + 1) / 2).all()

        def fails(left, right, datatype):
            raise RuntimeError("this operator fails")

        comm.Iallreduce(np.ones(10), np.empty(10), phicoll.Op.Create(fails)).Wait()

    with pytest.raises((RuntimeError, BrokenGroupError), match="this operator fails"):
        run(work, 2, mode)


def test_subcommunicators_have_an_order_of_their_own():
    def work(comm):
        part = comm.Split(comm.rank % 2)
        whole, half = np.zeros(1), np.zeros(1)
        first, second = (comm, part) if comm.rank < 2 else (part, comm)
        requests = [one.Iallreduce(np.ones(1), whole if one is comm else half) for one in (first, second)]
        Request.Waitall(requests)
        assert (whole[0], half[0]) == (4, 2)
        part.Free()

    run(work, 4)


def test_bad_use_is_refused_in_words():
    def work(comm):
        buffer = np.ones(4)
        request = comm.Bcast_init(buffer)
        assert repr(request) == "<phicoll.Prequest, inactive>"
        request.Wait()  # inactive: returns at once
        request.Start()
        with pytest.raises(ArgumentError, match="request: got one that is active"):
            request.Start()
        with pytest.raises(ArgumentError, match="request: got one that is active"):
            request.Free()
        request.Wait()
        request.Wait()
        request.Free()
        with pytest.raises(ArgumentError, match="request: got one that was freed"):
            request.Start()
        begun = comm.Ibarrier()
        assert repr(begun) == "<phicoll.Request, a collective call under way>"
        with pytest.raises(ArgumentError, match="request: got a collective call; allowed: a receive"):
            begun.Cancel()
        begun.Wait()
        assert repr(begun) == "phicoll.REQUEST_NULL"
        with pytest.raises(ArgumentError, match="root: got 7"):
            comm.Ibcast(buffer, root=7)
        with pytest.raises(ArgumentError, match="op"):
            comm.Iallreduce(np.ones(2), np.ones(2), phicoll.BAND)
        comm.Barrier()

    run(work, 2)


def test_a_bad_buffer_of_one_rank_breaks_the_group():
    def work(comm):
        comm.Iallreduce(np.ones(2), np.ones(2 + comm.rank)).Wait()

    with pytest.raises(ArgumentError, match="recvbuf: got 3 elements"):
        run(work, 2)


@pytest.mark.parametrize("other", ["Barrier", "Recv", "leaves"])
def test_a_wait_that_cannot_end_is_an_error_within_a_second(other):
    def work(comm):
        if comm.rank == 0:
            comm.Ibarrier().Wait()
        elif other == "Barrier":
            comm.Barrier()
        elif other == "Recv":
            comm.Recv(np.empty(1), source=0, tag=4)

    def took():
        before = time.monotonic()
        with pytest.raises(BrokenGroupError) as raised:
            run(work, 2)
        assert re.search("nonblocking call 1|waits for a message|left", str(raised.value))
        return time.monotonic() - before

    expect_within(5, took)


def test_different_calls_are_found():
    def work(comm):
        one = np.ones(1)
        (comm.Ibcast(one) if comm.rank == 0 else comm.Iallreduce(one, np.empty(1))).Wait()

    with pytest.raises(BrokenGroupError, match=r"allreduce|broadcast"):
        run(work, 2)


def test_ctrl_c_ends_a_wait(monkeypatch):
    def work(comm):
        if comm.rank == 0:
            threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
        else:
            time.sleep(1000)
        comm.Ibarrier().Wait()

    monkeypatch.setattr(rank_processes, "GRACE_S", 0.3)
    with pytest.raises((KeyboardInterrupt, BrokenGroupError)):
        run(work, 2)  # an error of another kind after a minute if the wait goes on


def test_ctrl_c_ends_a_free_that_waits(monkeypatch):
    def work(comm):
        part = comm.Dup()
        if comm.rank == 0:
            part.Ibarrier()
            threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
            part.Free()
        else:
            time.sleep(1000)

    monkeypatch.setattr(rank_processes, "GRACE_S", 0.3)
    with pytest.raises((KeyboardInterrupt, BrokenGroupError)):
        run(work, 2)


def random_calls(comm, seed):
    """Calls of all kinds, in one random order on all ranks, waited for in each rank's own."""
    shared, own = random.Random(seed), random.Random(100 * seed + comm.rank)
    part, other = comm.Split(comm.rank % 2), comm.Dup()
    begun = []
    for step in range(800):
        on = shared.choice([comm, part, other])
        kind, count = shared.randrange(7), shared.choice([1, 5, 100, 5000, 40_000])
        send = np.full(count, on.rank + step)
        receive = np.empty_like(send)
        total = sum(range(on.size)) + on.size * step
        if kind == 0:
            begun.append((on.Iallreduce(send, receive), receive, total))
        elif kind == 1:
            begun.append((on.Ibcast(send, root=on.size - 1), send, on.size - 1 + step))
        elif kind == 2:
            begun.append((on.Iscan(send, receive), receive, sum(range(on.rank + 1)) + (on.rank + 1) * step))
        elif kind == 3:
            left = (comm.rank - 1) % comm.size
            begun.append((comm.Irecv(receive, left, tag=step), receive, left))
            comm.Isend(np.full(count, comm.rank), (comm.rank + 1) % comm.size, tag=step)
        elif kind == 4:
            on.Allreduce(send, receive)
            assert (receive == total).all()
        elif kind == 5:
            on.Barrier()
        else:
            own.shuffle(begun)
            while begun:
                request, found, wanted = begun.pop()
                request.Wait()
                assert (found == wanted).all(), step
        if own.random() < 0.02:
            time.sleep(2e-3 * own.random())
    Request.Waitall([request for request, _, _ in begun])
    part.Free()
    other.Free()


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_calls_of_all_kinds_in_random_order(mode, ranks):
    phicoll.run(random_calls, ranks=ranks, mode=mode, args=(ranks,), timeout=60)


def test_select_reaches_calls_that_do_not_block(mode):
    """Calls by different algorithms do not match. One rank selects, the others name the algorithm of each call."""
    names = ["recursive-doubling", "flat-tree", "all-reads-all"]

    def work(comm):
        selects = comm.rank == 0
        send, receive = np.full(2, comm.rank + 1.0), [np.empty(2) for _ in range(4)]

        def named(number):
            if selects:
                comm.select("allreduce", names[number])
            return {} if selects else {"algorithm": names[number]}

        again = comm.Allreduce_init(send, receive[3], **named(0))
        comm.Iallreduce(send, receive[0], **named(0)).Wait()
        again.Start()
        again.Wait()
        # Not begun here before the first has ended, if a rank is late.
        first = comm.Iallreduce(send, receive[0], **named(1))
        second = comm.Iallreduce(send, receive[1], **named(2))
        third = comm.Iallreduce(send, receive[2], **named(1))
        Request.Waitall([third, first, second])
        comm.select("barrier", "sense-reversing")
        fence = comm.Barrier_init()
        for name in ("dissemination", "auto", "sense-reversing"):
            fence.Start()
            comm.select("barrier", name)
            comm.Ibarrier().Wait()
            fence.Wait()
        return [float(array[0]) for array in receive]

    total = sum(range(1, 4))
    assert run(work, 3, mode) == [[total] * 4] * 3

    def differ(comm):
        comm.select("allreduce", names[comm.rank])
        comm.Iallreduce(np.ones(1), np.empty(1)).Wait()

    with pytest.raises((ArgumentError, BrokenGroupError, phicoll.Error), match="recursive-doubling"):
        run(differ, 2, mode)


def test_a_communicator_that_goes_ends_what_it_began():
    def work(comm):
        found, lost = np.zeros(1), np.zeros(1)
        part = comm.Split(0)
        request, again = part.Iallreduce(np.ones(1), found), part.Barrier_init()
        part.Free()
        request.Wait()
        assert found[0] == comm.size
        with pytest.raises(phicoll.Error, match="freed"):
            again.Start()
        part = comm.Split(0)
        part.Iallreduce(np.ones(1), lost)
        del part
        gc.collect()
        comm.Barrier()

    run(work, 3)


def test_an_operator_may_not_call_its_own_communicator():
    def work(comm):
        op = phicoll.Op.Create(lambda left, right, datatype: comm.Ibarrier().Wait())
        request = comm.Iallreduce(np.ones(3), np.empty(3), op)
        comm.Dup().Barrier()
        request.Wait()

    with pytest.raises((phicoll.Error, BrokenGroupError), match=r"in a call already|an operator of a call"):
        run(work, 2)


def test_a_request_may_be_freed_while_its_call_begins(mode):
    """It goes on. Here an operator's function frees it, as another thread might."""

    def work(comm):
        freed = []

        def add(left, right, datatype):
            if comm.rank == 0 and not freed:
                freed.append(request)
                request.Free()
            sums = np.frombuffer(right)
            sums += np.frombuffer(left)

        found = np.zeros(4)
        request = comm.Allreduce_init(np.full(4, comm.rank + 1.0), found, phicoll.Op.Create(add))
        if comm.rank == 1:
            request.Start()
            comm.send(None, 0)
        else:
            comm.recv(source=1)
            request.Start()
            assert freed
            with pytest.raises(ArgumentError, match="active"):
                request.Free()
        request.Wait()
        return found.tolist()

    assert run(work, 2, mode) == [[3.0] * 4] * 2


def test_an_operator_may_not_free_its_own_communicator(mode):
    def work(comm):
        part, other = comm.Dup(), comm.Dup()
        request = part.Iallreduce(np.ones(3), np.empty(3), phicoll.Op.Create(lambda *given: part.Free()))
        other.Barrier()
        request.Wait()

    with pytest.raises((phicoll.Error, BrokenGroupError), match=r"in a call already|an operator of a call"):
        run(work, 2, mode)


ONE_BUFFER = ["Allreduce", "Scan", "Exscan", "Reduce_scatter_block", "Alltoall", "Alltoallv", "Alltoallw"]
FORMS = {
    "blocking": lambda comm, name, *given, **named: getattr(comm, name)(*given, **named),
    "nonblocking": lambda comm, name, *given, **named: getattr(comm, f"I{name.lower()}")(
        *given, **named
    ).Wait(),
    "persistent": lambda comm, name, *given, **named: again(getattr(comm, f"{name}_init")(*given, **named)),
}


def again(request):
    request.Start()
    request.Wait()


def as_blocks(comm, name, buffer):
    """The whole buffer, as the call takes it."""
    each = buffer.size // comm.size
    if name == "Alltoallv":
        return [buffer, [each] * comm.size]
    if name == "Alltoallw":
        places = [8 * each * rank for rank in range(comm.size)]
        return [buffer, [each] * comm.size, places, [phicoll.DOUBLE] * comm.size]
    return buffer


@pytest.mark.parametrize("name", ONE_BUFFER)
def test_the_same_memory_twice_is_in_place_and_other_overlap_is_refused(name):
    def in_place(comm):
        for call in FORMS.values():
            buffer = np.arange(6.0) + 10 * comm.rank
            expected = buffer.copy()
            getattr(comm, name)(phicoll.IN_PLACE, as_blocks(comm, name, expected))
            part = buffer[:3] if name == "Reduce_scatter_block" else buffer
            call(comm, name, as_blocks(comm, name, buffer), as_blocks(comm, name, part))
            assert (buffer == expected).all()

    run(in_place, 2, "threads")

    def overlapping(comm, form):
        buffer = np.arange(9.0)
        part = buffer[3:6] if name == "Reduce_scatter_block" else buffer[3:]
        FORMS[form](comm, name, as_blocks(comm, name, buffer[:6]), as_blocks(comm, name, part))

    for form in FORMS:
        with pytest.raises(ArgumentError, match=r"recvbuf: got memory that overlaps sendbuf; .*IN_PLACE"):
            run(partial(overlapping, form=form), 2, "threads")


#: Faults that all ranks see alike.
FAULTS = {
    "no such algorithm": ("Bcast", (np.ones(4),), {"algorithm": "fastest"}),
    "another operation's": ("Bcast", (np.ones(4),), {"algorithm": "recursive-doubling"}),
    "a bad parameter": ("Allreduce", (np.ones(4), np.ones(4)), {"algorithm": "ring:cells=0"}),
    "no such root": ("Gather", (np.ones(4), np.ones(8), 7), {}),
    "no operator of the type": ("Allreduce", (np.ones(4), np.ones(4), phicoll.BAND), {}),
    "no room": ("Bcast", (np.ones(4),), {"algorithm": "ring:cell=1048576:cells=256"}),
    "no room for a reduction": (
        "Allreduce",
        (np.ones(4), np.ones(4)),
        {"algorithm": "reduce-broadcast:broadcast=ring:cell=1048576:cells=256"},
    ),
}


def test_a_fault_that_all_ranks_see_is_raised_alike_by_every_form_and_leaves_the_group_whole(mode):
    def work(comm):
        for fault, (name, given, named) in FAULTS.items():
            raised = {}
            for form, call in FORMS.items():
                for behind in range(2):
                    before = comm.Ibarrier() if behind else phicoll.REQUEST_NULL  # it may still be under way
                    try:
                        call(comm, name, *given, **named)
                    except phicoll.Error as error:
                        raised[form, behind] = type(error), str(error)
                    before.Wait()
            assert len(raised) == 2 * len(FORMS), fault
            assert len({kind for kind, _ in raised.values()}) == 1, raised
            if (
                "room" not in fault
            ):  # a communicator's nonblocking calls have less memory, which the words tell
                assert len(set(raised.values())) == 1, raised
            assert comm.allreduce(1) == comm.size
        found = np.empty(1)
        comm.Iallreduce(np.ones(1), found).Wait()
        assert found[0] == comm.size

    run(work, 2, mode)


def begin_and_let_go(comm):
    """Whether memory is the caller's again as soon as a wait has returned, on ranks that wait for no other too."""
    for name in ("Ibcast", "Ireduce", "Igather", "Iscatter", "Iallreduce"):
        for turn in range(20):
            own, other = bytearray(8), bytearray(8 * comm.size)
            given = {
                "Ibcast": ([own],),
                "Ireduce": ([own], [other[:8]], phicoll.MAX),
                "Igather": ([own], [other]),
                "Iscatter": ([other], [own]),
                "Iallreduce": ([own], [bytearray(8)], phicoll.MAX),
            }[name]
            request = getattr(comm, name)(*(arg[0] if isinstance(arg, list) else arg for arg in given))
            request.Wait()
            own.append(turn)
            other.append(turn)


def test_a_wait_gives_the_memory_back(mode):
    run(begin_and_let_go, 2, mode=mode)
