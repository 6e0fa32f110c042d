"""Whatever a rank has begun goes on in each call that only looks, on any of its communicators."""

import time
from functools import partial

import numpy as np

import phicoll
from conftest import run
from phicoll import Request

WORD = 3  # the tag of what is polled
COUNT = 200_000  # doubles of a collective
LARGE = 40_000  # of a message that does not fit its channel
ENOUGH = 20  # seconds for what takes milliseconds


def started(request):
    request.Start()
    return [request]


def isend(size, times, comm):
    """The requests of sends to rank 1, and its part."""

    def begin():
        return [comm.Isend(np.full(size, float(i)), 1) for i in range(times)]

    def meet():
        got = np.empty(size)
        for i in range(times):
            comm.Recv(got, 0)
            assert (got == i).all()

    return begin, meet


def isend_object(comm):
    return (
        lambda: [comm.isend({"array": np.arange(float(LARGE))}, 1)],
        lambda: comm.recv(source=0)["array"].sum(),
    )


def persistent_send(comm):
    return lambda: started(comm.Send_init(np.ones(LARGE), 1)), lambda: comm.Recv(np.empty(LARGE), 0)


def irecv(comm):
    return lambda: [comm.Irecv(np.empty(LARGE), 1)], lambda: comm.Ssend(np.ones(LARGE), 0)


MESSAGES = [
    partial(isend, LARGE, 1),
    partial(isend, 10 * LARGE, 1),
    partial(isend, 4, 80),
    isend_object,
    persistent_send,
    irecv,
]


def collective(name, root, form, comm):
    """All ranks' parts of it are the same: the other rank waits, this one does not."""

    def begin():
        one, two = np.ones(COUNT), np.ones(2 * COUNT)
        counts = [COUNT] * 2
        found, both = np.empty(COUNT), np.empty(2 * COUNT)
        given = {
            "barrier": (),
            "bcast": (one, root),
            "reduce": (one, found, phicoll.SUM, root),
            "allreduce": (one, found),
            "scan": (one, found),
            "exscan": (one, found),
            "reduce_scatter_block": (two, found),
            "reduce_scatter": (two, found, counts),
            "gather": (one, both, root),
            "scatter": (two, found, root),
            "allgather": (one, both),
            "alltoall": (two, both),
            "gatherv": (one, [both, counts], root),
            "scatterv": ([two, counts], found, root),
            "allgatherv": (one, [both, counts]),
            "alltoallv": ([two, counts], [both, counts]),
        }[name]
        if form == "persistent":
            return started(getattr(comm, name.capitalize() + "_init")(*given))
        return [getattr(comm, "I" + name)(*given)]

    return begin, lambda: Request.Waitall(begin())


ROOTED = ["bcast", "reduce", "gather", "scatter", "gatherv", "scatterv"]
SYMMETRICAL = ["allreduce", "allgather", "alltoall", "reduce_scatter_block", "reduce_scatter"]
OTHERS = ["barrier", "scan", "exscan", "allgatherv", "alltoallv"]
COLLECTIVES = [
    *(partial(collective, name, root, "nonblocking") for name in ROOTED for root in range(2)),
    *(partial(collective, name, 0, "nonblocking") for name in SYMMETRICAL + OTHERS),
    *(partial(collective, name, 0, "persistent") for name in ROOTED + SYMMETRICAL + OTHERS),
]
A_FEW = [
    partial(collective, "allgather", 0, "nonblocking"),
    partial(collective, "reduce_scatter_block", 0, "persistent"),
]


def looks_at_a_receive(look, comm):
    request = comm.Irecv(np.empty(1), 1, tag=WORD)
    return partial(look, request)


def iprobe(comm):
    def look():
        if not comm.Iprobe(1, WORD):
            return False
        comm.Recv(np.empty(1), 1, tag=WORD)
        return True

    return look


def improbe(comm):
    def look():
        message = comm.Improbe(1, WORD)
        if message is None:
            return False
        message.Recv(np.empty(1))
        return True

    return look


POLLERS = {
    "Test": partial(looks_at_a_receive, lambda request: request.Test()),
    "test": partial(looks_at_a_receive, lambda request: request.test()[0]),
    "Testany": partial(looks_at_a_receive, lambda request: Request.Testany([request])[1]),
    "Testall": partial(looks_at_a_receive, lambda request: Request.Testall([request])),
    "testall": partial(looks_at_a_receive, lambda request: Request.testall([request])[0]),
    "Testsome": partial(looks_at_a_receive, lambda request: Request.Testsome([request]) == [0]),
    "Get_status": partial(looks_at_a_receive, lambda request: request.Get_status()),
    "Get_status_all": partial(looks_at_a_receive, lambda request: Request.Get_status_all([request])),
    "Get_status_any": partial(looks_at_a_receive, lambda request: Request.Get_status_any([request])[1]),
    "Get_status_some": partial(looks_at_a_receive, lambda request: Request.Get_status_some([request]) == [0]),
    "Iprobe": iprobe,
    "Improbe": improbe,
}
#: Pollers, what has been begun, and whether on another communicator.
MATRIX = [
    *(
        (poller, work, other)
        for poller in POLLERS
        for work, other in zip(MESSAGES[:1] + A_FEW, [1, 0, 1], strict=True)
    ),
    *((poller, work, other) for poller in ["Test", "Iprobe"] for work in MESSAGES for other in range(2)),
    *(("Test", work, i % 2) for i, work in enumerate(COLLECTIVES)),
]


def test_what_is_begun_goes_on_while_its_rank_only_looks(mode):
    def work_and_look(comm):
        communicators = comm, comm.Dup()
        for poller, work, other in MATRIX:
            begin, meet = work(communicators[other])
            if comm.rank == 1:
                meet()
                comm.Send(np.empty(1), 0, tag=WORD)
                continue
            requests, look = begin(), POLLERS[poller](comm)
            late = time.monotonic() + ENOUGH
            while not look():
                if time.monotonic() > late:
                    raise AssertionError(f"{poller} lets nothing go on of {work}, other: {other}")
            Request.Waitall(requests)
        communicators[1].Free()

    run(work_and_look, 2, mode)


def test_a_test_of_a_collective_lets_all_go_on(mode):
    def work(comm):
        other = comm.Dup()
        for begun_on in [comm, other]:
            for begin, meet in [made(begun_on) for made in MESSAGES + A_FEW]:
                if comm.rank == 1:
                    meet()
                requests = begin() if comm.rank == 0 else []
                barrier = other.Ibarrier()
                while not barrier.Test():
                    pass
                Request.Waitall(requests)
        other.Free()

    run(work, 2, mode)


def test_what_is_begun_goes_on_where_no_call_has_to_wait(mode):
    def work(comm):
        """Two ranks make calls that mostly end at once, until the third has a message that one of them has begun to send."""
        pair = comm.Split(comm.rank // 2)
        if comm.rank == 2:
            comm.Recv(np.empty(10 * LARGE), 0)
            comm.Send(np.ones(1), 1, tag=WORD)
            return
        request = (
            comm.Isend(np.ones(10 * LARGE), 2) if comm.rank == 0 else comm.Irecv(np.empty(1), 2, tag=WORD)
        )
        ended = np.zeros(1)
        late = time.monotonic() + ENOUGH
        while not ended[0]:
            pair.Barrier()
            pair.Allreduce(np.array([float(comm.rank == 1 and request.Test())]), ended)
            assert time.monotonic() < late
        request.Wait()

    run(work, 3, mode)
