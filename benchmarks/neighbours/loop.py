"""The same loop of barriers as loop.c from Python. argv: a mode below, then loop.c's arguments.

Modes: phicoll's threads or processes, mpi4py, or `threading` for Python's own barrier among threads.
"""

import mmap
import os
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any


def come_late(awaiting: int, late_ms: int) -> list[float]:
    """Percent of a CPU that the last rank takes in its wait, from 10 ms to 1 s and from then on."""
    seen = []
    for begin, end in zip((0, 10, 1000), (10, 1000, late_ms), strict=True):
        time.sleep((end - begin) / 1000)
        seen.append((time.monotonic_ns(), time.clock_gettime_ns(awaiting)))
    return [100 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(seen, seen[1:], strict=False)]


def loop(comm: Any, ms: int, most: int, computing_ns: int) -> int:
    """As loop.c's."""
    calls, batch, before = 0, 1, time.monotonic_ns()
    end = before + ms * 10**6
    while batch > 0:
        for _ in range(batch):
            if computing_ns:
                over = time.thread_time_ns() + computing_ns
                while time.thread_time_ns() < over:
                    pass
            comm.barrier()
        calls += batch + 1
        if comm.rank == 0:
            now = time.monotonic_ns()
            took, before = now - before, now
            batch = 2 * batch if took < 2e6 else (batch + 1) // 2 if took > 8e6 else batch
            if now >= end or calls >= most:
                batch = 0
        batch = comm.bcast(batch, 0)
    return calls


def work(
    comm: Any, mode: str, loop_ms: int, computing_ns: int, late_ms: int, counts: str
) -> tuple[float, float, list[float], float]:
    with Path(counts).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as place:

        def count() -> int:
            return sum(struct.unpack(f"{len(place) // 8}L", place[:]))

        loop(comm, 100, 100, computing_ns)
        start, cpu_start, beside = time.monotonic_ns(), time.thread_time_ns(), count()
        calls = loop(comm, loop_ms, 1 << 40, computing_ns)
        ns = time.monotonic_ns() - start
        beside = (count() - beside) / ns * 1e9
    cpu = (time.thread_time_ns() - cpu_start) / calls
    mine = time.pthread_getcpuclockid(threading.get_ident())
    if mode not in ("threads", "threading"):
        mine = ~os.getpid() << 3 | 2  # as clock_getcpuclockid makes it
    last = comm.bcast(mine, comm.size - 1)
    comm.barrier()
    waiting = come_late(last, late_ms) if late_ms and comm.rank == 0 else [0.0, 0.0]
    comm.barrier()
    return ns / calls, cpu, waiting, beside


class Threading:
    """What the loop needs of a communicator, over threading.Barrier."""

    def __init__(self, rank: int, size: int, barrier: threading.Barrier, shared: list[Any]) -> None:
        self.rank, self.size, self.barrier = rank, size, barrier.wait
        self.shared, self.turn = shared, 0

    def bcast(self, value: Any, root: int) -> Any:
        # A place is written again after a barrier that the others enter when they have read it.
        self.turn ^= 1
        if self.rank == root:
            self.shared[self.turn] = value
        self.barrier()
        return self.shared[self.turn]


def threading_run(ranks: int, *arguments: Any) -> list[Any]:
    barrier, shared, results = threading.Barrier(ranks), [None, None], [None] * ranks

    def one(rank: int) -> None:
        results[rank] = work(Threading(rank, ranks, barrier, shared), *arguments)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


if __name__ == "__main__":
    mode, counts = sys.argv[1], sys.argv[-1]
    ranks, *numbers = map(int, sys.argv[2:-1])
    if mode == "mpi4py":
        from mpi4py import MPI

        results = MPI.COMM_WORLD.gather(work(MPI.COMM_WORLD, mode, *numbers, counts))
    elif mode == "threading":
        results = threading_run(ranks, mode, *numbers, counts)
    else:
        import phicoll

        results = phicoll.run(work, ranks, mode, (mode, *numbers, counts))
    if results:
        first, last = results[0], results[-1]
        print(f"{first[0]:.1f} {last[1]:.1f} {first[2][0]:.2f} {first[2][1]:.2f} {first[3]:.0f}")
