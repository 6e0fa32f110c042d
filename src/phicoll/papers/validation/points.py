"""Points, which can be simulated anywhere and in any order, and checks, which ask for them.

A check is a generator. It yields the points that it needs, once; it is sent their results in the same order; it returns
its rows. The points of all checks thus run in parallel, and a point that two checks need runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import phicoll._core as _core

__all__ = [
    "MOST_SEEDS",
    "Barrier",
    "Check",
    "Collective",
    "Effort",
    "Explained",
    "Kernel",
    "Point",
    "Program",
    "changed",
    "work_through",
]

#: Seeds 1 to this, at most.
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Effort:
    """The amount of simulation."""

    samples: int  # of a latency, over all its seeds
    seeds: int  # 1 to this, of everything that is ranked
    rank_step: int  # of the sweep of rodchenko-2015, from 8 to 232
    calls: int  # of each point and seed, after one to warm up
    lines: int  # of each array and rank in STREAM

    @property
    def all_seeds(self) -> tuple[int, ...]:
        return tuple(range(1, self.seeds + 1))


@dataclass(frozen=True)
class Kernel:
    """A memory kernel; its result is a list of the measuring ranks' samples in nanoseconds."""

    machine: str
    spec: str
    ranks: int
    where: str
    samples: int
    seed: int = 1
    bandwidth: bool = False  # then one array, in GB/s

    def run(self) -> list[np.ndarray]:
        found = _core.simulate_kernel(
            self.machine, self.spec, self.ranks, self.where, self.samples, self.seed, "spin"
        )
        if found["wrong"]:
            raise AssertionError(
                f"{self.spec} with {self.ranks} ranks: {found['wrong']} samples had wrong data"
            )
        if self.bandwidth:
            return [np.asarray(found["gigabytes_a_second"])]
        return [np.asarray(ns) for ns in found["ns"] if len(ns)]


@dataclass(frozen=True)
class Barrier:
    """A barrier; its result is a dict with ``times_ns`` and ``counters`` for each seed."""

    machine: str
    spec: str
    ranks: int
    seeds: tuple[int, ...]
    calls: int
    warm_up: int = 1
    window: bool = False
    wait: str = "pause(1)"
    placement: str = "balanced"
    skew_ns: float = 1000.0

    def run(self) -> list[dict[str, Any]]:
        return [
            _core.barrier_times(self.machine, self.spec, self.placement, self.ranks, self.calls, self.warm_up,
                                self.window, self.skew_ns, self.wait, seed)
            for seed in self.seeds
        ]  # fmt: skip


@dataclass(frozen=True)
class Collective:
    """Back-to-back calls of an operation, of 0 bytes if it moves none; its result is each seed's median call in ns.

    ``type`` and ``op`` are of operations that combine; ``placement`` as for :func:`phicoll.sweep`.
    """

    machine: str
    operation: str
    spec: str
    ranks: int
    size: int
    seeds: int
    type: str = ""
    placement: str = "balanced"

    def run(self) -> np.ndarray:
        from phicoll.measuring import sweep

        combining = {"type": self.type, "op": "sum"} if self.type else {}
        found = sweep(self.operation, algorithm=self.spec, ranks=self.ranks, machine=self.machine, placement=self.placement, sizes=self.size or None,
                      rounds=self.seeds, calls=2, warm_up=1, seed=1, budget_s="none", jobs=1, progress=False, **combining)  # fmt: skip
        if found.unverified:
            raise AssertionError(f"{self.spec} with {self.ranks} ranks: wrong data")
        by_seed = found.to_dataframe().groupby("round")["ns"].median()
        return by_seed.to_numpy()


@dataclass(frozen=True)
class Program:
    """A parallel program such as ``cg.Y``; its result is each seed's time in ns, and the barriers of one run."""

    machine: str
    name: str
    spec: str
    ranks: int
    seeds: int
    calls: int = 2

    def run(self) -> tuple[np.ndarray, int]:
        from phicoll.measuring import sweep

        found = sweep(self.name, algorithm=self.spec, ranks=self.ranks, machine=self.machine, placement="balanced",
                      rounds=self.seeds, calls=self.calls, seed=1, budget_s="none", jobs=1, progress=False)  # fmt: skip
        (point,) = found.points
        if found.unverified:
            raise AssertionError(
                f"{self.name} by {self.spec} with {self.ranks} ranks: {point['verification']}"
            )
        return np.array([sample["value_ns"] for sample in found.samples]), point["verification"]["calls"]


@dataclass(frozen=True)
class Explained:
    """What a call counts on the machine; its result is the counters' means over two calls of seed 1."""

    machine: str
    operation: str
    spec: str
    ranks: int
    size: int

    def run(self) -> dict[str, float]:
        from phicoll.explaining.explanation import explain

        found = explain(
            self.operation, self.spec, self.machine, ranks=self.ranks, size=self.size, calls=2, warm_up=1
        ).data["counters"]
        return {name: value / found["calls"] for name, value in found.items() if name != "calls"}


Point: TypeAlias = Kernel | Barrier | Collective | Program | Explained
Check: TypeAlias = Generator[Sequence[Point], list[Any], list[Any]]


def simulate(point: Point) -> Any:
    return point.run()


def work_through(
    checks: Iterable[Check], executor: Executor, progress: Callable[[int, int, str], None] | None = None
) -> list[list[Any]]:
    """Run all checks and return the rows of each. Long points start first, so that no core waits for the last."""
    running = list(checks)
    wanted = [list(next(check)) for check in running]
    unique = dict.fromkeys(point for points in wanted for point in points)
    order = sorted(unique, key=cost, reverse=True)
    futures: dict[Point, Future[Any]] = {point: executor.submit(simulate, point) for point in order}
    try:
        for done, point in enumerate(order, 1):
            futures[point].result()
            if progress is not None:
                progress(done, len(order), point.spec)
        return [finish(check, [futures[p].result() for p in points])
                for check, points in zip(running, wanted, strict=True)]  # fmt: skip
    finally:
        for future in futures.values():
            future.cancel()


def cost(point: Point) -> float:
    if isinstance(point, Collective):
        return point.ranks * point.seeds * (100 + point.size / 64)
    if isinstance(point, Program):
        return point.ranks * point.seeds * point.calls * (3000 if point.name.startswith("cg") else 600)
    if isinstance(point, Explained):
        return point.ranks * point.size / 64
    if isinstance(point, Barrier):
        return point.ranks * len(point.seeds) * (point.calls + point.warm_up)
    return (
        point.ranks
        * point.samples
        * (30 if any(word in point.spec for word in ("stream", "lines=", "transfers=")) else 1)
    )


def finish(check: Check, results: list[Any]) -> list[Any]:
    try:
        check.send(results)
    except StopIteration as end:
        return list(end.value)
    raise AssertionError("a check asks for its points once")


def changed(machine: str, changes: str) -> str:
    """The machine's text with ``changes`` (``name=value:name=value``) replacing any earlier changes of the same."""
    new = changes.split(":") if changes else []
    given = {change.split("=")[0] for change in new}
    name, *old = machine.split(":")
    return ":".join([name, *(change for change in old if change.split("=")[0] not in given), *new])
