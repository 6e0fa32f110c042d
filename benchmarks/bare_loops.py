"""The bare loops: what a host allows if a call does nothing but copy into a ring and out of it.

    python benchmarks/bare_loops.py                                            (part of make bench)
    python benchmarks/bare_loops.py --operations allgather --sizes 32K,256K --rounds 40

phicoll-bench has one such loop with parameters (src/cpp/phicoll/measure/bare_loop.hpp). Each parameter is varied in
rounds around the ways to copy that a host may prefer; the best loop at each point is shown with the time of its copies
in the writer and in the reader. In a report the best few take part in the rounds of phicoll and the MPIs, as the limit
(`limits_of`).
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mpi_peers
from points import Point, Taken, size_text
from rounds import Systems, take
from states import states
from tables import number, table
from verdicts import LOOP, best_of, split

#: Operations with bare loops; one direction and an exchange are enough to tell the ways apart.
SERVED = ("broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall")
TOLD_APART = "broadcast,allgather"
SIZES = "4K,16K,64K,256K,1M,2M"
#: Smaller calls have another limit: the transfer of a line.
LEAST_BYTES = 4 << 10
#: Of all rings together. A group's region has 64 MB.
MOST_BYTES = 48 << 20
#: How many loops of each kind, through the caches and past them, take part in a report's rounds: the former suit near
#: CPUs, the latter far ones, and a virtual machine's CPUs move.
FEW = 2

#: Pairs of ways to store and load: as the C library does, the CPU's string move, vectors, past the caches.
WAYS = (
    ("memcpy", "memcpy"), ("string", "string"), ("string", "memcpy"), ("memcpy", "string"), ("avx2", "avx2"),
    ("avx512", "avx512"), ("past-caches", "memcpy"), ("past-caches", "string"), ("past-caches", "avx512"),
)  # fmt: skip
#: Pieces and rings: within L1, L2, neither.
RINGS = (
    (1, 16),
    (2, 16),
    (4, 32),
    (4, 256),
    (16, 256),
    (16, 2048),
    (64, 256),
    (64, 2048),
    (64, 4096),
    (256, 1024),
    (256, 2048),
    (256, 4096),
)
#: Parameters that are varied alone, around the best of the ways.
ALONE: tuple[dict[str, object], ...] = (
    {"turns": "lines"}, {"ahead": 2}, {"ahead": 4096}, {"hint": "own"}, {"hint": "demote"}, {"prefetch": 512},
    {"prefetch": 4096}, {"pages": "huge"}, {"owner": "receiver"}, {"align": 16}, {"apart": 2048},
)  # fmt: skip


def has(flag: str) -> bool:
    """Whether the CPU reports the flag."""
    text = Path("/proc/cpuinfo").read_text()
    return f" {flag} " in text.replace("\n", " ")


def possible(values: dict[str, object]) -> bool:
    wanted = {"avx2": "avx2", "avx512": "avx512f", "demote": "cldemote"}
    return all(has(wanted[str(v)]) for v in values.values() if v in wanted)


def fits(point: Point, values: dict[str, object]) -> bool:
    """Whether the rings have room in a group's shared memory: in most operations each rank has one, else one for each
    other rank."""
    for_each_other = point.operation == "alltoall" or "parts" in values
    rings = point.ranks * (point.ranks - 1 if for_each_other else 1)
    return rings * int(str(values["ring"])) <= MOST_BYTES


def loop(values: dict[str, object]) -> str:
    return LOOP + "".join(f":{name}={value}" for name, value in values.items())


def variations(point: Point) -> list[str]:
    """The loops that are compared at a point: ways by rings, and the rest alone around three ways."""
    exchange = point.operation in ("allreduce", "allgather", "alltoall")
    found: list[dict[str, object]] = []
    for store, load in WAYS:
        for grain, ring in RINGS:
            if (grain << 10) <= max(point.size, 16 << 10):
                found.append({"store": store, "load": load, "grain": grain << 10, "ring": ring << 10})
    for store, load in (WAYS[0], WAYS[1], WAYS[6]):
        base = {"store": store, "load": load, "grain": 16 << 10, "ring": 256 << 10}
        found += [base | alone for alone in ALONE if exchange or not {"turns", "ahead", "apart"} & set(alone)]
        if point.operation == "allreduce":
            found.append(base | {"parts": "slices"})
            found.append(base | {"parts": "slices", "ring": 2 << 20})
    return list(dict.fromkeys(loop(values) for values in found if possible(values) and fits(point, values)))


def limited(point: Point) -> bool:
    """Whether a point has bare loops."""
    return point.operation in SERVED and point.size >= LEAST_BYTES and point.ranks > 1


def best_loops(
    taken: Taken, point: Point, few: int, kind: Callable[[str], object] = lambda _: None
) -> list[str]:
    """The loops with the lowest medians, `few` of each kind."""
    times = {
        subject: statistics.median(by.values())
        for subject, by in taken.ns.get(point, {}).items()
        if subject.startswith(LOOP) and (point, subject) not in taken.wrong
    }
    found: dict[object, list[str]] = {}
    for subject in sorted(times, key=lambda subject: times[subject]):
        found.setdefault(kind(subject), []).append(subject)
    return [subject for of in found.values() for subject in of[:few]]


def past_caches(subject: str) -> bool:
    return "store=past-caches" in subject


def limits_of(
    points: Iterable[Point], systems: Systems, seed: int, seconds: float
) -> tuple[Callable[[Point], list[str]], str, list[Point]]:
    """Tries all loops at the points for some seconds. Returns the few that are each point's limits, how the run ended,
    and the points without limits, where not all loops were tried in the time."""
    wanted = [point for point in points if limited(point)]
    first = take(wanted, variations, systems=systems, rounds=2, seed=seed, cap_ms=4.0, seconds=seconds)
    without = [point for point in wanted if not first.reached(point, variations(point))]

    def few(point: Point) -> list[str]:
        return [] if point in without else best_loops(first, point, FEW, past_caches)

    return few, first.ended, without


def effects(taken: Taken, points: Sequence[Point]) -> str:
    """For each way, and each variation of a base, its time over the best loop's at each size: within rounds."""
    parts = []
    for operation in dict.fromkeys(point.operation for point in points):
        of = [point for point in points if point.operation == operation and point in taken.ns]
        ratios: dict[str, dict[Point, float]] = {}
        for point in of:
            best = best_loops(taken, point, 1)
            if not best:
                continue
            by = taken.ns[point]
            for subject, values in by.items():
                logs = [math.log(values[at] / by[best[0]][at]) for at in values if at in by[best[0]]]
                if logs:
                    ratios.setdefault(subject, {})[point] = math.exp(statistics.median(logs))
        order = sorted(ratios, key=lambda s: statistics.fmean(map(math.log, ratios[s].values())))
        rows = [
            [
                subject.removeprefix(LOOP + ":"),
                *(f"{ratios[subject][p]:.2f}" if p in ratios[subject] else "-" for p in of),
            ]
            for subject in order
        ]
        parts.append(
            f"{operation}: time over that of the best loop at each size\n\n"
            + table(["loop", *(size_text(p.size) for p in of)], rows, (0,))
        )
    return "\n\n".join(parts)


def bests(taken: Taken, points: Sequence[Point]) -> str:
    """The best loop at each point, chosen on odd rounds and shown by the even ones."""
    rows = []
    for point in points:
        by = {s: v for s, v in taken.ns.get(point, {}).items() if s.startswith(LOOP)}
        if not by:
            continue
        odd, even = split({at: 0.0 for values in by.values() for at in values})
        reference = max(by.values(), key=len)
        best = best_of(by, reference, odd or even)
        if best is None:
            continue
        shown = [by[best][at] for at in even if at in by[best]] or list(by[best].values())
        ns = statistics.median(shown)
        copies = taken.copies.get((point, best))
        rows.append(
            [
                point.operation, str(point.ranks), size_text(point.size), number(ns), f"{point.size / ns:.1f}",
                *(number(max(values)) if copies else "-" for values in (copies or ((), ()))),
                best.removeprefix(LOOP + ":"),
            ]
        )  # fmt: skip
    return table(
        ["operation", "ranks", "bytes", "best loop", "GB/s", "in the writer", "in the reader", "it is"], rows, (0, 7)
    )  # fmt: skip


def text_of(taken: Taken, points: Sequence[Point], full: bool) -> str:
    parts = [
        "# Bare loops",
        "A call that does nothing but copy into a ring and out of it; loop, fresh buffers. The best loop is chosen on "
        "odd rounds and shown by even ones. In the writer, in the reader: what the copies into and out of cells take "
        "of it, without waiting. docs/measuring-collectives.md says what the parameters are.",
    ]
    found = states(taken)
    if not found:
        parts.append(bests(taken, points))
    for state in found:
        parts.append(
            f"## {state.name.capitalize()} (a line takes {state.line_ns:.3g} ns, {state.share:.0%} of the rounds)"
        )
        parts.append(bests(state.taken, points))
    if full:
        parts += [f"## All loops, {s.name}\n\n{effects(s.taken, points)}" for s in found] or [
            "## All loops\n\n" + effects(taken, points)
        ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operations", default=TOLD_APART, help=f"default: {TOLD_APART}")
    parser.add_argument("--sizes", default=SIZES, help=f"default: {SIZES}")
    parser.add_argument("--ranks", default="2", help="default: 2")
    parser.add_argument("--rounds", type=int, default=64, help="at most (default: 64)")
    parser.add_argument("--budget", type=float, default=60.0, metavar="S", help="seconds (default: 60)")
    parser.add_argument(
        "--few",
        type=int,
        default=6,
        help="loops of each kind that go on after the first round; 0: all (default: 6)",
    )
    parser.add_argument("--cpus", help="rank r on the (r mod n)-th of these (default: the first two allowed)")
    parser.add_argument("--seed", type=int, help="default: drawn")
    parser.add_argument("--out", type=Path, help="write the tables here too")
    parser.add_argument("--full", action="store_true", help="every loop's ratio to the best, too")
    a = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if a.seed is None else a.seed
    cpus = [int(c) for c in a.cpus.split(",")] if a.cpus else sorted(os.sched_getaffinity(0))[:2]
    points = [
        Point(operation, int(ranks), "loop", "fresh", size)
        for operation in a.operations.split(",")
        for ranks in a.ranks.split(",")
        for size in mpi_peers.size_list(a.sizes)
    ]
    systems = Systems(cpus)
    taken = take(points, variations, systems=systems, rounds=1 if a.few else a.rounds, seed=seed, cap_ms=4.0,
                 seconds=a.budget)  # fmt: skip
    if a.few and not taken.ended:
        first = taken
        taken = take(
            points, lambda point: [f"{s}:stamps=on" for s in best_loops(first, point, a.few, past_caches)],
            systems=systems, rounds=a.rounds, seed=seed, cap_ms=4.0, seconds=0.6 * a.budget,
        )  # fmt: skip
    text = text_of(taken, points, a.full)
    print(text)
    if a.out is not None:
        a.out.parent.mkdir(parents=True, exist_ok=True)
        a.out.write_text(text)
    return 130 if taken.ended.startswith("interrupted") else 0


if __name__ == "__main__":
    sys.exit(main())
