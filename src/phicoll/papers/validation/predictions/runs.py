"""The simulated and measured collectives with which the models are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phicoll.results import Results

__all__ = [
    "ACKNOWLEDGED",
    "CROWD",
    "FULL",
    "MACHINE",
    "OCCUPIED",
    "QUICK",
    "REDUCE",
    "RUNS",
    "SLOW_CACHE",
    "STARTS",
    "TABLE_4_1",
    "Effort",
    "Run",
    "measure_host",
    "medians_by_seed",
    "simulate",
]

MACHINE = "xeon-phi-5110p"
STARTS = ("evicted", "warm")
#: Chapter 4's flag that a broadcast's structures are in use, the first R_I of equation 4.6.
OCCUPIED = ":occupied=yes"
#: The trees of figure 4.4; all 8 bytes travel in the line that announces them.
TREES = tuple(
    f"{tree}{OCCUPIED}"
    for tree in ("model-tree", "flat", "binomial", "k-nomial", "fibonacci", "fibonacci:overhead=quarter")
)
#: As section 4.3 has it: a parent's buffers are contiguous lines of its own.
REDUCE = "model-tree:buffers=parent"
ACKNOWLEDGED_BARRIER = "dissemination-acknowledged"
LARGE = ("flat-large", "pipelined-slices")
#: What table 4.1 has a model of: operation, name and size of figures 4.5 to 4.8.
TABLE_4_1 = (
    ("broadcast", TREES[0], 8),
    *(("broadcast", name, 8192) for name in LARGE),
    ("barrier", ACKNOWLEDGED_BARRIER, 0),
    ("reduce", REDUCE, 8),
)
ALLREDUCES = ("recursive-doubling", "rabenseifner", "bruck")
#: Algorithms whose time grows with the square of the ranks: not simulated with long messages on many.
DEAR = ("flat-tree", "all-reads-all")


@dataclass(frozen=True)
class Effort:
    """The amount of simulation and measurement."""

    seeds: int
    few_seeds: int  # of what takes long to simulate
    calls: int  # of a point and seed, after one to warm up
    ranks: tuple[int, ...]  # of what takes little to simulate
    few_ranks: tuple[int, ...]
    samples: int  # of a latency
    launches: int  # on the host
    rounds: int
    budget_s: float


FULL = Effort(20, 8, 2, (2, 3, 4, 6, 8, 12, 16, 20, 24, 26, 28, 30, 34, 38, 42, 46, 50, 54, 58, 60), (2, 4, 8, 16, 30, 60),
              400, 12, 4, 24.0)  # fmt: skip
QUICK = Effort(2, 2, 1, (4, 30), (4,), 60, 2, 1, 2.0)


@dataclass(frozen=True)
class Run:
    """Algorithms of one operation side by side; ``most``: the largest number of ranks."""

    operation: str
    algorithms: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    few: bool = False
    most: int = 60


RUNS = (
    Run("broadcast", TREES, (8,)),
    Run("barrier", (ACKNOWLEDGED_BARRIER, "dissemination:store=plain")),
    Run("reduce", (REDUCE,), (8,)),
    Run("broadcast", LARGE, (8192,), few=True),
    Run("broadcast", LARGE, (65536,), few=True, most=30),
    Run("allreduce", ALLREDUCES, (8, 8192), few=True),
    Run("allreduce", DEAR, (8,), few=True),
)

#: The algorithms by which section 4.1.1's ways to acknowledge are compared.
ACKNOWLEDGED = (Run("broadcast", ("flat", "flat:ack=line-per-child"), (8,), few=True),)

#: What 004-36's cause is tried on: all read the root's lines, which its cache answers in 3 cycles each.
CROWD = (Run("broadcast", ("flat-large",), (8192,), few=True),)
SLOW_CACHE = f"{MACHINE}:owner.service=24"


def simulate(
    start: str,
    effort: Effort,
    machine: str = MACHINE,
    runs: Iterable[Run] = RUNS,
    step: Callable[[str], None] | None = None,
) -> Results:
    """Simulate: each call from the last entry to the last exit, all ranks entering at once, one rank a core."""
    from phicoll.measuring import sweep

    found: Results | None = None
    for run in runs:
        if step is not None:
            step(f"{run.operation}, {start} start")
        more: dict[str, Any] = {"sizes": list(run.sizes)} if run.sizes else {}
        if run.operation == "allreduce":
            more["type"] = "int32"  # Bruck's is for what may be combined in any order
        ranks = [n for n in (effort.few_ranks if run.few else effort.ranks) if n <= run.most]
        results = sweep(
            run.operation, algorithm=list(run.algorithms), ranks=ranks, machine=machine, placement="scatter",
            definition="window", start=start, skew_ns=0, rounds=effort.few_seeds if run.few else effort.seeds, calls=effort.calls, warm_up=1,
            seed=1, budget_s="none", progress=False, **more,
        )  # fmt: skip
        found = results if found is None else found + results
    assert found is not None
    return found


#: Of the host: two ranks, sizes that fit a line and that do not.
HOST_RUNS = (
    Run("barrier", (ACKNOWLEDGED_BARRIER, "dissemination")),
    Run("broadcast", ("model-tree", "pipelined-slices", "flat-large"), (8, 1024, 8192, 65536)),
    Run("reduce", ("model-tree",), (8, 1024)),
    Run("allreduce", ALLREDUCES, (8, 1024, 8192, 65536)),
)


def measure_host(effort: Effort, ranks: int = 2, seed: int = 1) -> Results:
    """Measure the same between threads of this host, both starts, each rank on a CPU of its own."""
    from phicoll.measuring import sweep

    found: Results | None = None
    for start in STARTS:
        for run in HOST_RUNS:
            more: dict[str, Any] = {"sizes": list(run.sizes)} if run.sizes else {}
            if run.operation == "allreduce":
                more["type"] = "int32"
            results = sweep(
                run.operation, algorithm=list(run.algorithms), ranks=ranks, mode="threads", definition="window",
                start=start, launches=effort.launches, rounds=effort.rounds, budget_s=effort.budget_s / 8, seed=seed,
                progress=False, **more,
            )  # fmt: skip
            found = results if found is None else found + results
    assert found is not None
    return found


def medians_by_seed(results: Results) -> dict[tuple[str, str, int, int], np.ndarray]:
    """The median call of each seed, ns: by operation, short name, ranks and bytes."""
    from phicoll.results.reading.names import short_name

    found: dict[tuple[str, str, int, int], dict[int, list[float]]] = {}
    for subject, observations in results.observations.by_subject.items():
        key = (subject.operation, short_name(subject), subject.ranks, subject.size_bytes)
        of = found.setdefault(key, {})
        for o in observations:
            of.setdefault(o.round, []).extend(o.call_values())
    return {key: np.array([np.median(of[seed]) for seed in sorted(of)]) for key, of in found.items()}
