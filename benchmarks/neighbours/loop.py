"""The same loop of barriers as loop.c by phicoll's own ranks. argv: threads or processes, then loop.c's arguments."""

import sys
import time

import phicoll


def work(comm: phicoll.Comm, calls: int, computing_ns: int, late_ms: int) -> tuple[float, float, float]:
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
    comm.barrier()
    if late_ms and comm.rank == 0:
        time.sleep(late_ms / 1000)
    before = time.thread_time_ns()
    comm.barrier()
    return took, cpu, (time.thread_time_ns() - before) / late_ms / 1e4 if late_ms else 0.0


if __name__ == "__main__":
    mode, (ranks, calls, computing_ns, late_ms) = sys.argv[1], map(int, sys.argv[2:])
    results = phicoll.run(work, ranks, mode, (calls, computing_ns, late_ms))
    print(f"{results[0][0]:.1f} {results[-1][1]:.1f} {results[-1][2]:.2f}")
