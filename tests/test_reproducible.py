"""Reductions whose bits depend on the operands alone: beside a plain computation, one rank after the other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import phicoll
from phicoll.comm import OPERATORS

#: All that combines in the order of ranks.
IN_ORDER = {
    "Allreduce": [
        "flat-tree",
        "flat-tree:transfer=put-get",
        "all-reads-all",
        "all-reads-all:transfer=load-store",
        "reduce-broadcast:reduce=mailbox",
        "one-shot:cell=512",
        "sliced:chunk=1024:cells=4",
    ],
    "Reduce": [
        "mailbox:cell=512",
        "sliced:chunk=1024",
        "piece-per-rank:order=ranks",
        "model-tree:into=common",
    ],
    "Scan": ["linear:buffer=512", "one-shot:cell=512"],
    "Reduce_scatter_block": ["pairwise", "pairwise:transfer=put-get", "one-shot:part=512"],
}
TYPES = ["float16", "float32", "float64", "complex64"]


def operands(ranks, count, dtype):
    """What all ranks have, of sizes so different that each order of additions rounds otherwise."""
    random = np.random.default_rng(7 * ranks + count)
    real = random.standard_normal((ranks, count)) * 2.0 ** random.integers(-4, 5, (ranks, count))
    return real.astype(dtype)


def sums_of(comm):
    """All reductions of this rank are what the fold of all ranks' operands in their order gives, bit for bit."""
    ranks, rank = comm.size, comm.rank
    comm.reproducible()
    random = np.random.default_rng(ranks)
    told = comm.why("allreduce", 8)
    for dtype, count in itertools.product(TYPES, [1, int(random.integers(2, 200)), 4000]):
        rows = operands(ranks, count * ranks, dtype)
        folds = np.array(list(itertools.accumulate(rows)))
        whole, block = folds[-1], slice(rank * count, (rank + 1) * count)
        root = int(random.integers(ranks))
        expected = {
            "Allreduce": whole,
            "Iallreduce": whole,
            "Reduce": whole if rank == root else np.zeros_like(whole),
            "Scan": folds[rank],
            "Exscan": folds[rank - 1] if rank else np.zeros_like(whole),
            "Reduce_scatter_block": whole[block],
        }
        for call, wanted in expected.items():
            named = (
                IN_ORDER.get(call, []) if count < 4000 else []
            )  # small cells make many pieces of large data
            for algorithm in [None, *named]:
                got = np.zeros_like(wanted)
                more = {"root": root} if call == "Reduce" else {}
                request = getattr(comm, call)(rows[rank], got, algorithm=algorithm, **more)
                if request is not None:
                    request.Wait()
                assert got.tobytes() == wanted.tobytes(), (call, algorithm, dtype, count)
    products = operands(ranks, 500, "float32")
    comm.Allreduce(products[rank], got := np.empty(500, "float32"), OPERATORS["PROD"])
    assert got.tobytes() == list(itertools.accumulate(products, np.multiply))[-1].tobytes()
    comm.reproducible(False)
    comm.Allreduce(rows[rank], np.empty_like(whole), algorithm="auto:reproducible=yes")
    return told, comm.why("allreduce", 8)


@pytest.mark.parametrize("ranks", range(2, 9))
def test_reductions_have_the_bits_of_one_order(ranks):
    mode = "processes" if ranks in (3, 8) else "threads"
    told = phicoll.run(sums_of, ranks=ranks, mode=mode)
    assert len(set(told)) == 1


def test_the_order_matters_to_the_operands_of_these_tests():
    rows = operands(4, 1000, "float32")
    assert (((rows[0] + rows[1]) + rows[2]) + rows[3] != (rows[0] + rows[1]) + (rows[2] + rows[3])).any()


def test_a_user_asks_for_it_by_the_environment_too(monkeypatch):
    def algorithm(comm):
        comm.Allreduce(np.ones(3), got := np.empty(3))
        assert (got == comm.size).all()
        return comm.why("allreduce", 24)

    monkeypatch.setenv("PHICOLL_ALLREDUCE", "auto:reproducible=yes")
    assert len(set(phicoll.run(algorithm, ranks=3))) == 1
    monkeypatch.setenv("PHICOLL_ALLREDUCE", "auto:reproducible=perhaps")
    with pytest.raises(
        phicoll.Error, match=r"PHICOLL_ALLREDUCE .auto:reproducible.: got 'perhaps'; allowed: no, yes"
    ):
        phicoll.run(algorithm, ranks=2)
    monkeypatch.delenv("PHICOLL_ALLREDUCE")
    with pytest.raises(phicoll.ArgumentError, match=r"reproducible"):
        phicoll.COMM_SELF.select("broadcast", "auto:reproducible=yes")
    with pytest.raises(phicoll.ArgumentError, match=r"on: got 1"):
        phicoll.COMM_SELF.reproducible(1)
