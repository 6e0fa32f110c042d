"""Times of calls from Python on one set of ranks: what `benchmarks/python_calls.py` starts, with mpi4py or phicoll.

    mpiexec -n 2 python benchmarks/python_calls_worker.py SECONDS [CALLS]
    phicoll launch --as-mpi4py -n 2 benchmarks/python_calls_worker.py SECONDS [CALLS]

CALLS is a regular expression, that names measured calls.

Rank 0 prints one line of JSON: each call's name and its seconds. With one rank that is the least of many batches: the
cost of the call alone. With more it is the median of batches, each after a barrier, of at least 16 calls or 50 ms.
A batch lasts from the first rank's start to the last rank's end: a root that leaves early does
not end a call.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
SMALL, LARGE = [8, 256, 4096], [32 << 10, 256 << 10, 1 << 20, 16 << 20]
#: How many messages follow one another where bandwidth is measured.
STREAMED = 16
RECORD = {"step": 17, "residual": 0.25, "name": "a small record", "shape": (3, 4, 5), "more": list(range(10))}


def text_of(nbytes: int) -> str:
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if nbytes >= unit:
            return f"{nbytes // unit} {name}"
    return f"{nbytes} B"


def ping_pong(send: Callable[[int], None], receive: Callable[[int], None]) -> Callable[[], None]:
    def turn() -> None:
        if rank == 0:
            send(1)
            receive(1)
        elif rank == 1:
            receive(0)
            send(0)

    return turn


def stream(buffer: np.ndarray, count: int) -> Callable[[], None]:
    """Messages one after the other in one direction, and a short answer to all (OSU's bandwidth)."""
    answer = np.ones(0)

    def window() -> None:
        if rank == 0:
            MPI.Request.Waitall([comm.Isend(buffer, 1) for _ in range(count)])
            comm.Recv(answer, 1)
        elif rank == 1:
            MPI.Request.Waitall([comm.Irecv(buffer, 0) for _ in range(count)])
            comm.Send(answer, 0)

    return window


def calls() -> dict[str, Callable[[], object]]:
    made: dict[str, Callable[[], object]] = {"Barrier": comm.Barrier}
    for nbytes in [8] if size == 1 else SMALL + LARGE:
        count = nbytes // 8
        send, receive = np.ones(count), np.ones(count)
        block = np.ones(max(1, count // size))
        name = text_of(nbytes)
        made[f"Allreduce {name}"] = lambda s=send, r=receive: comm.Allreduce(s, r)
        made[f"Bcast {name}"] = lambda s=send: comm.Bcast(s)
        made[f"Reduce {name}"] = lambda s=send, r=receive: comm.Reduce(s, r)
        blocks, others = np.ones(block.size * size), np.ones(block.size * size)
        made[f"Allgather {name}"] = lambda s=block, r=blocks: comm.Allgather(s, r)
        made[f"Alltoall {name}"] = lambda s=blocks, r=others: comm.Alltoall(s, r)
        if size > 1:
            made[f"Send and Recv {name}"] = ping_pong(
                lambda to, s=send: comm.Send(s, to), lambda source, r=receive: comm.Recv(r, source)
            )
            if nbytes in LARGE:
                made[f"{STREAMED} Isend and Irecv {name}"] = stream(receive, STREAMED)
                # The limit of a message: one copy, by one rank, in its own memory.
                made[f"copy of {name}"] = lambda s=send, r=receive: np.copyto(r, s) if rank == 0 else None
            if size == 2:
                made[f"Sendrecv {name}"] = lambda s=send, r=receive: comm.Sendrecv(
                    s, 1 - rank, 0, r, 1 - rank, 0
                )
    send, receive = np.ones(1), np.ones(1)
    kind, counts = MPI.DOUBLE, [1] * size
    everyone = np.ones(size)
    made["Allreduce of [buffer, type] 8 B"] = lambda: comm.Allreduce([send, kind], [receive, kind])
    made["Allgatherv 8 B"] = lambda: comm.Allgatherv([send, kind], [everyone, counts, None, kind])
    right, left = (rank + 1) % size, (rank - 1) % size
    made["Irecv, Isend, Waitall 8 B"] = lambda: MPI.Request.Waitall(
        [comm.Irecv([receive, kind], left), comm.Isend([send, kind], right)]
    )
    again = [comm.Recv_init(receive, left, 1), comm.Send_init(send, right, 1)]
    made["Startall, Waitall of messages 8 B"] = lambda: (
        MPI.Prequest.Startall(again),
        MPI.Request.Waitall(again),
    )
    made["Iallreduce and Wait 8 B"] = lambda: comm.Iallreduce(send, receive).Wait()
    made["Ibarrier and Wait"] = lambda: comm.Ibarrier().Wait()
    if hasattr(comm, "Allreduce_init") and MPI.VERSION >= 4:
        request = comm.Allreduce_init(send, receive)
        made["Start and Wait of Allreduce 8 B"] = lambda: (request.Start(), request.Wait())
    if size > 1:
        made.update(hidden(256 << 10))
    made["allreduce of a float"] = lambda: comm.allreduce(1.5)
    made["bcast of a small dict"] = lambda: comm.bcast(RECORD)
    made["allgather of a small dict"] = lambda: comm.allgather(RECORD)
    if size > 1:
        made["send and recv of a small dict"] = ping_pong(
            lambda to: comm.send(RECORD, to), lambda source: comm.recv(source=source)
        )
    return made


def hidden(nbytes: int) -> dict[str, Callable[[], object]]:
    """A reduction alone, computing alone with eight looks at a request, and the two together (IMB-NBC)."""
    send, receive = np.ones(nbytes // 8), np.empty(nbytes // 8)
    matrix = np.ones((64, 64))

    def computing(request: MPI.Request) -> None:
        for _ in range(8):
            matrix.dot(matrix)
            request.Test()

    def together() -> None:
        request = comm.Iallreduce(send, receive)
        computing(request)
        request.Wait()

    name = text_of(nbytes)
    return {
        f"Iallreduce and Wait {name}": lambda: comm.Iallreduce(send, receive).Wait(),
        "computing": lambda: computing(MPI.REQUEST_NULL),
        f"Iallreduce {name}, computing, Wait": together,
    }


def batch(call: Callable[[], object], times: int) -> tuple[float, float]:
    """When this rank began and ended a batch, in seconds of a clock that all ranks share."""
    comm.Barrier()
    start = time.monotonic()
    for _ in range(times):
        call()
    return start, time.monotonic()


def slowest(batches: list[tuple[float, float]]) -> list[float]:
    """The duration of each batch: from the first rank's start to the last rank's end."""
    return [
        max(end for _, end in ranks) - min(start for start, _ in ranks)
        for ranks in zip(*comm.allgather(batches), strict=True)
    ]


def measured(call: Callable[[], object], seconds: float) -> float:
    """All ranks measure as many batches, of as many calls, as follow from the slowest rank's first ones."""
    batch(call, 10)
    one = slowest([batch(call, 20)])[0] / 20
    times = max(1, min(50 if size == 1 else 200, int(max(2e-3, min(16 * one, 50e-3)) / one)))
    batches = max(3, min(3000, int(seconds / (one * times))))
    found = sorted(slowest([batch(call, times) for _ in range(batches)]))
    return (found[0] if size == 1 else found[len(found) // 2]) / times


def main() -> None:
    seconds = float(sys.argv[1])
    wanted = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    chosen = {name: call for name, call in calls().items() if wanted.search(name)}
    found = {name: measured(call, seconds / len(chosen)) for name, call in chosen.items()}
    if rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
