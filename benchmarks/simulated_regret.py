"""The regret of `auto` on a simulated machine, where all candidates' times can be had exactly (regret.py --machine).

    python benchmarks/regret.py --machine epyc-7742 --ranks 16,64,128 --sizes 8,4K,256K --budget 600 --cache times.jsonl

A time is simulated once and kept in the cache, which names it by machine, point and the algorithm's values in effect.
After a change of `auto`'s rules alone, only choices that no candidate made are simulated. An algorithm that took FAR
times as long as the best at the next smaller size is left out.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from points import Point, size_text
from tables import number, table

import phicoll
from phicoll import _core
from phicoll.models.tuning import candidates

#: The most that buffers of all ranks may take (sim_collectives.hpp).
MOST_BYTES = 512 << 20
#: Parameters for the size of a piece: of the values that hold the whole call, one is tried.
PIECES = ("cell", "chunk", "piece", "slice", "part", "buffer")
#: Between processes their copies go through the kernel, which a simulated machine leaves out. `auto` does not know
#: where buffers lie and takes none of them, so they stand apart.
BY_KERNEL = frozenset({"single-copy", "piece-per-rank", "root-copies", "flat-large", "pipelined-slices"})
SEED = 1
FAR = 3.0
#: A loop has this many calls where a message is small, so that rings fill and the first calls count for little.
LOOP_CALLS, LOOP_BYTES = 24, 24 << 10


@dataclass(frozen=True)
class Setting:
    machine: str
    placement: str
    definition: str
    calls: int
    warm_up: int
    only: frozenset[str] = frozenset()  # names of algorithms; empty: all

    def calls_at(self, point: Point) -> int:
        if self.definition != "loop":
            return self.calls
        return max(self.calls, min(LOOP_CALLS, LOOP_BYTES // max(1, point.size)))


@dataclass
class Row:
    point: Point
    auto: str
    auto_ns: float
    best: str
    best_ns: float
    tried: int
    by_kernel_ns: (
        float  # of the best candidate whose copies go through the kernel between processes; infinite: none
    )

    @property
    def ratio(self) -> float:
        return self.auto_ns / self.best_ns

    @property
    def whole_ratio(self) -> float:
        """Over the best of all candidates."""
        return self.auto_ns / min(self.best_ns, self.by_kernel_ns)


class Times:
    """Simulated times by point and algorithm, kept in a file of JSON lines."""

    def __init__(self, setting: Setting, path: Path | None) -> None:
        self.setting = setting
        self.path = path
        self.digest = phicoll.load_machine(setting.machine).digest
        self.known: dict[str, float | None] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry["ns"]

    def key(self, point: Point, spec: str) -> str:
        s = self.setting
        setting = (self.digest, s.placement, s.definition, s.calls_at(point), s.warm_up)
        return " ".join(map(str, (*setting, point.operation, point.ranks, point.size, spec)))

    def get(self, point: Point, spec: str) -> float | None:
        return self.known.get(self.key(point, spec))

    def missing(self, point: Point, specs: Iterable[str]) -> list[str]:
        return [spec for spec in specs if self.key(point, spec) not in self.known]

    def simulate(self, point: Point, spec: str) -> None:
        """A call's mean time; none where the result is wrong or the point cannot be simulated."""
        setting, ns = self.setting, None
        try:
            data = {} if point.operation == "barrier" else {"sizes": point.size, "buffers": "fresh"}
            found = phicoll.measure(
                spec, operation=point.operation, ranks=point.ranks, machine=setting.machine,
                placement=setting.placement, definition=setting.definition, calls=setting.calls_at(point),
                warm_up=setting.warm_up, rounds=1, seed=SEED, jobs=1, progress=False, **data,
            )  # fmt: skip
            values = [v for subject in found.subjects for v in found.observations.values(subject)]
            ns = statistics.median(values) if values and not found.unverified else None
        except phicoll.ArgumentError as error:
            print(f"{point}: {spec}: {error}", flush=True)
        self.known[self.key(point, spec)] = ns
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"key": self.key(point, spec), "ns": ns}) + "\n")


def whole(point: Point) -> int:
    """The bytes of a call's largest piece."""
    return point.size * (point.ranks if point.operation in ("alltoall", "reduce_scatter_block") else 1)


def tried(point: Point, setting: Setting) -> dict[str, str]:
    """Candidates by their values in effect, each effect at this point once."""
    found: dict[str, str] = {}
    seen = set()
    for spec in candidates(point.operation):
        if setting.only and spec.split(":")[0] not in setting.only:
            continue
        one = _core.candidate(
            operation=point.operation, spec=spec, size=point.size, ranks=point.ranks, placement=setting.placement,
            machine=setting.machine,
        )  # fmt: skip
        name, *values = one["effective"].split(":")
        same = [name]
        for value in values:
            key, _, text = value.partition("=")
            if key in PIECES and text.isdigit() and int(text) >= whole(point):
                text = "whole"
            if key == "cells" and any(piece.endswith("=whole") for piece in same):
                text = "whole"
            same.append(f"{key}={text}")
        if not one["unfit"] and tuple(same) not in seen:
            seen.add(tuple(same))
            found[one["effective"]] = one["spec"]
    return found


def auto(point: Point, setting: Setting) -> str:
    found = _core.choose(
        operation=point.operation, size=point.size, ranks=point.ranks, mode="simulated", placement=setting.placement,
        machine=setting.machine, tuning="", foreign="", type="float32", op="sum", vector=False, commutative=True,
        memory_limit=1 << 40,
    )  # fmt: skip
    return str(found["choice"]["spec"])


def near(point: Point, specs: dict[str, str], times: Times, below: Point | None) -> list[str]:
    """The candidates whose algorithms were not far from the best at the next smaller size."""
    if below is None:
        return list(specs)
    best: dict[str, float] = {}
    for spec in tried(below, times.setting):
        ns = times.get(below, spec)
        if ns is not None:
            name = spec.split(":")[0]
            best[name] = min(ns, best.get(name, ns))
    least = min(best.values(), default=0.0)
    return [spec for spec in specs if best.get(spec.split(":")[0], 0.0) <= FAR * least]


def simulate_all(points: Sequence[Point], times: Times, seconds: float, jobs: int) -> int:
    """Simulates missing times, small sizes first. Returns how many are left when time is up."""
    end = time.monotonic() + seconds
    left = 0

    def one(task: tuple[Point, str]) -> None:
        nonlocal left
        if time.monotonic() >= end:
            left += 1
        else:
            times.simulate(*task)

    below: dict[tuple[str, int], Point] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for size in sorted({point.size for point in points}):
            wanted = []
            for point in sorted((p for p in points if p.size == size), key=lambda p: p.ranks):
                key = (point.operation, point.ranks)
                specs = [
                    auto(point, times.setting),
                    *near(point, tried(point, times.setting), times, below.get(key)),
                ]
                below[key] = point
                wanted += [(point, spec) for spec in dict.fromkeys(times.missing(point, specs))]
            list(pool.map(one, wanted))
    return left


def regrets(points: Sequence[Point], times: Times) -> list[Row]:
    """A row for each point at which auto's time and a candidate's are known."""
    rows = []
    for point in points:
        mine = auto(point, times.setting)
        auto_ns = times.get(point, mine)
        by = {spec: ns for spec in tried(point, times.setting) if (ns := times.get(point, spec)) is not None}
        kernel = [by.pop(spec) for spec in list(by) if spec.split(":")[0] in BY_KERNEL]
        if auto_ns is None or not by:
            continue
        best = min(by, key=lambda spec: by[spec])
        rows.append(Row(point, mine, auto_ns, best, by[best], len(by), min(kernel, default=math.inf)))
    return rows


def mean(ratios: Sequence[float]) -> float:
    """Geometric mean. Where auto is ahead of the best candidate, its regret is none."""
    return math.exp(statistics.fmean(max(0.0, math.log(ratio)) for ratio in ratios))


def means(rows: Sequence[Row]) -> str:
    """The geometric mean of each operation at each number of ranks, and of all."""
    counts = sorted({row.point.ranks for row in rows})
    lines = []

    def cell(of: Sequence[Row]) -> str:
        if not of:
            return "-"
        return f"{mean([row.ratio for row in of]):.2f} ({mean([row.whole_ratio for row in of]):.2f})"

    for operation in [*sorted({row.point.operation for row in rows}), "all"]:
        of = [row for row in rows if operation in ("all", row.point.operation)]
        cells = [[row for row in of if row.point.ranks == count] for count in counts]
        lines.append([operation, *map(cell, cells), cell(of), str(len(of))])
    return table(["operation", *(f"{count} ranks" for count in counts), "all", "points"], lines)


def text_of(rows: Sequence[Row], setting: Setting, left: int) -> str:
    title = f"# The regret of auto on {setting.machine}"
    if not rows:
        return f"{title}\n\nNo point has been simulated; {left} simulations are left.\n"
    worst = max(rows, key=lambda row: row.ratio)
    words = (
        f"Simulated; `auto`'s time over that of the best candidate; {setting.calls} calls, {setting.definition}, fresh "
        f"buffers, {setting.placement}. {len(rows)} points: geometric mean {mean([row.ratio for row in rows]):.3f}; "
        f"worst {worst.ratio:.2f} at {worst.point}. In brackets: over the best of all, also of "
        f"{', '.join(sorted(BY_KERNEL))}, whose copies between processes go through the kernel, which is not simulated."
    )
    if setting.only:
        words += f" Candidates: {', '.join(sorted(setting.only))}."
    if left:
        words += f" Time was up with {left} simulations left."
    points = table(
        ["operation", "ranks", "bytes", "auto", "best", "regret", "of", "auto took", "best is"],
        [
            [
                row.point.operation, str(row.point.ranks), size_text(row.point.size), number(row.auto_ns),
                number(row.best_ns), f"{row.ratio:.2f}", str(row.tried), row.auto, row.best,
            ]
            for row in rows
        ],
        (0, 7, 8),
    )  # fmt: skip
    return "\n\n".join([title, words, means(rows), points]) + "\n"


def run(
    operations: Sequence[str], ranks: Sequence[int], sizes: Sequence[int], setting: Setting, *,
    seconds: float, jobs: int, cache: Path | None,
) -> str:  # fmt: skip
    """The report of all points that can be simulated."""
    points = [
        point
        for operation in operations
        for count in ranks
        for size in (sizes if operation != "barrier" else [0])
        if (point := Point(operation, count, setting.definition, "fresh", size)).total_bytes <= MOST_BYTES
    ]
    times = Times(setting, cache)
    left = simulate_all(points, times, seconds, jobs)
    return text_of(regrets(points, times), setting, left)
