"""The same loop of barriers as loop.c from Python. argv: threads, processes or mpi4py, then loop.c's arguments."""

import os
import sys
import threading
import time
from typing import Any


def come_late(awaiting: int, late_ms: int) -> list[float]:
    """Percent of a CPU that the last rank takes in its wait, from 10 ms to 1 s and from then on."""
    seen = []
    for begin, end in zip((0, 10, 1000), (10, 1000, late_ms), strict=True):
        time.sleep((end - begin) / 1000)
        seen.append((time.monotonic_ns(), time.clock_gettime_ns(awaiting)))
    return [100 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(seen, seen[1:], strict=False)]


def work(
    comm: Any, mode: str, calls: int, computing_ns: int, late_ms: int
) -> tuple[float, float, list[float]]:
    for _ in range(100):
        comm.barrier()
    start, cpu_start = time.monotonic_ns(), time.thread_time_ns()
    for _ in range(calls):
        if computing_ns:
            end = time.thread_time_ns() + computing_ns
            while time.thread_time_ns() < end:
                pass
        comm.barrier()
    took = (time.monotonic_ns() - start) / calls
    cpu = (time.thread_time_ns() - cpu_start) / calls
    mine = time.pthread_getcpuclockid(threading.get_ident())
    if mode != "threads":
        mine = ~os.getpid() << 3 | 2  # as clock_getcpuclockid makes it
    last = comm.bcast(mine, comm.size - 1)
    comm.barrier()
    waiting = come_late(last, late_ms) if late_ms and comm.rank == 0 else [0.0, 0.0]
    comm.barrier()
    return took, cpu, waiting


if __name__ == "__main__":
    mode, (ranks, *numbers) = sys.argv[1], map(int, sys.argv[2:])
    if mode == "mpi4py":
        from mpi4py import MPI

        results = MPI.COMM_WORLD.gather(work(MPI.COMM_WORLD, mode, *numbers))
    else:
        import phicoll

        results = phicoll.run(work, ranks, mode, (mode, *numbers))
    if results:
        print(f"{results[0][0]:.1f} {results[-1][1]:.1f} {results[0][2][0]:.2f} {results[0][2][1]:.2f}")
