"""Times phicoll.shmem's calls between PE 0 and PE 1, or shmem4py's if the first argument is that.

As ``calls.c``: one JSON object, nanoseconds a call, medians of batches; PE 1 waits in a barrier meanwhile, but for
what both take part in.
"""

import json
import statistics
import sys
import time

import numpy as np

if sys.argv[1:] == ["shmem4py"]:
    from shmem4py import shmem
else:
    from phicoll import shmem

    shmem.init()

BATCHES = 15


def timed(calls, function, *arguments, both=False):
    """The median time of a call, in nanoseconds."""
    times = []
    for _ in range(BATCHES):
        shmem.barrier_all()
        start = time.perf_counter_ns()
        if both or shmem.my_pe() == 0:
            for _ in range(calls):
                function(*arguments)
        times.append((time.perf_counter_ns() - start) / calls)
        shmem.barrier_all()
    return statistics.median(times)


def main():
    word, more, result = shmem.zeros(1, "i8"), shmem.zeros(1 << 17, "i8"), shmem.zeros(1, "i8")
    number, many = np.ones(1, "i8"), np.ones(1 << 17, "i8")
    found = {
        "put 8 B": timed(2000, shmem.put, word, number, 1),
        "get 8 B": timed(2000, shmem.get, number, word, 1),
        "put 1 MB": timed(50, shmem.put, more, many, 1),
        "get 1 MB": timed(50, shmem.get, many, more, 1),
        "atomic_add": timed(2000, shmem.atomic_add, word, 1, 1),
        "atomic_fetch_add": timed(2000, shmem.atomic_fetch_add, word, 1, 1),
        "barrier_all": timed(2000, shmem.barrier_all, both=True),
        "sum_reduce 8 B": timed(1000, shmem.sum_reduce, result, word, both=True),
    }
    if shmem.my_pe() == 0:
        print(json.dumps(found), flush=True)


main()
