"""A group of one, as a notebook has: a bad call raises, and the next good one works."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import phicoll


def overlapping(comm):
    both = np.ones(8)
    comm.Alltoall(both[:7], both[1:])


# Bad input that breaks a group of several ranks, as only one of them may see it.
BAD_CALLS = {
    "no buffer": lambda comm: comm.Bcast(5),
    "another count": lambda comm: comm.Allreduce(np.ones(3), np.ones(2)),
    "overlap": overlapping,
    "too small": lambda comm: comm.Gather([np.ones(2), 3], np.ones(3)),
    "read-only": lambda comm: comm.Scan(np.ones(1), np.broadcast_to(np.ones(1), 1)),
    "counts": lambda comm: comm.Reduce_scatter(np.ones(3), np.ones(3), [1, 2]),
    "what cannot be pickled": lambda comm: comm.allgather(threading.Lock()),
    "items": lambda comm: comm.scatter([1, 2]),
    "color": lambda comm: comm.Split("red"),
    "shape": lambda comm: comm.empty(-1),
}


@pytest.mark.parametrize("bad", BAD_CALLS.values(), ids=BAD_CALLS.keys())
@pytest.mark.parametrize("name", ["COMM_WORLD", "COMM_SELF", "of one", "part of two"])
def test_a_bad_call_does_not_break_it(bad, name):
    def check(comm):
        alone = {"of one": comm, "part of two": comm}.get(name) or getattr(phicoll, name)
        if name == "part of two":
            alone = comm.Split(comm.rank)
        with pytest.raises((phicoll.ArgumentError, TypeError)):
            bad(alone)
        alone.Barrier()
        total = np.empty(2)
        alone.Allreduce(np.ones(2), total)
        assert list(total) == [1, 1]
        assert alone.allgather("one") == ["one"]
        return comm.allreduce(1)

    if name.startswith("COMM"):
        check(getattr(phicoll, name))
    else:
        ranks = 2 if name == "part of two" else 1
        assert phicoll.run(check, ranks, "threads", timeout=20) == [ranks] * ranks
