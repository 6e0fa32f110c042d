"""phicoll's collectives beside those of MPICH, Open MPI and Intel MPI, in the same rounds.

What is measured, and how: docs/measuring-collectives.md.

    python benchmarks/collectives.py --operations broadcast --sizes 8,4K,1M --algorithms auto,ring:cell=4096
    python benchmarks/collectives.py --report bench-out --budget 600 --launches 8 (make bench: a coarse grid)
    python benchmarks/collectives.py --report bench-out/full --budget 0 --full (make bench-full: every power of two)
    python benchmarks/collectives.py --report bench-out --again             (the tables once more, from the samples)

    python benchmarks/collectives.py --report bench-out --operations barrier,broadcast,allreduce --sizes 8,4K,64K,1M \
        --ranks 2 --mode loop --buffers fresh --rounds 14 --budget 900                (these points alone)

The first prints medians side by side and is for tuning; the others also write every sample, tables with intervals, a
figure for each operation, geometric means, the limits, self-consistency and the papers' statements. A report that is
interrupted writes what it has.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mpi_peers
from as_results import as_results
from bare_loops import limits_of
from points import MOST_BYTES, Point
from report import CLAIMS_FILE, HAND, SAMPLES_FILE, Settings, begin, note, write_report
from rounds import Systems, take
from tables import HEADLINE, listed, side_by_side
from verdicts import parts_of

OTHERS = ("gather", "scatter", "scan", "reduce_scatter_block")
COARSE = "8,64,512,4K,32K,256K,2M,16M"
FEW = "8,4K,1M"
#: From here on buffers in the group's heap are to gain; they may take less than half of it.
HEAP_FROM, HEAP_MOST = 256 << 10, 128 << 20
#: Where ranks outnumber CPUs, in the coarse grid.
CROWDED = "8,512,32K,2M"
#: The shares of a report's time for its claims and, at most, for writing it.
CLAIMS_SHARE = 0.12
#: And for finding the bare loops that are its limits, before it begins.
LOOPS_SHARE = 0.1
WRITING_S = 15.0


def powers_of_two(first: int, last: int) -> list[int]:
    return [1 << k for k in range(first.bit_length() - 1, last.bit_length())]


def grid(ranks: Sequence[int], operations: Sequence[str], sizes: Sequence[int], full: bool) -> list[Point]:
    """Loop with fresh buffers everywhere; the other definition and reused buffers everywhere in the full grid, else
    with two ranks, and few sizes with more; of the least ranks large buffers in the heap."""
    points = []
    for operation in operations:
        main = operation in HEADLINE
        for count in ranks:
            for definition in ("loop", "window"):
                for buffers in ("fresh", "reused"):
                    of = sizes
                    if not full and (definition, buffers) != ("loop", "fresh"):
                        if count != ranks[0] or not main or (definition, buffers) == ("window", "reused"):
                            continue
                        of = mpi_peers.size_list(FEW)
                    if not full and count != ranks[0]:
                        of = [size for size in mpi_peers.size_list(CROWDED) if size in sizes]
                    if not full and not main:
                        if count != ranks[0]:
                            continue
                        of = mpi_peers.size_list(FEW)
                    points += [Point(operation, count, definition, buffers, size) for size in of]
        if main:
            heap = [Point(operation, ranks[0], "loop", "heap", size) for size in sizes if size >= HEAP_FROM]
            points += [point for point in heap if point.total_bytes < HEAP_MOST]
    return list(dict.fromkeys(points))


def product(
    a: argparse.Namespace, ranks: Sequence[int], operations: Sequence[str], sizes: Sequence[int]
) -> list[Point]:
    """Every operation at every size with the definitions and buffers asked for; a barrier has no size."""
    buffers = {"both": ("fresh", "reused"), "heap": ("fresh", "heap")}.get(a.buffers, (a.buffers or "fresh",))
    return [
        Point(operation, count, definition, kind, size)
        for operation in operations
        for count in ranks
        for definition in (("loop", "window") if a.mode == "both" else (a.mode or "loop",))
        for kind in buffers
        for size in ([0] if operation == "barrier" else sizes)
    ]


def companions(points: Sequence[Point], sizes: Sequence[int], ranks: int) -> list[Point]:
    """Points that the compositions still need for these sizes and this number of ranks, back to back, fresh
    buffers."""
    found = [
        part
        for point in points
        if (point.definition, point.buffers) == ("loop", "fresh")
        and point.size in sizes
        and point.ranks == ranks
        for _, parts in parts_of(point)
        for part in parts
    ]
    return [
        point
        for point in dict.fromkeys(found)
        if point not in set(points) and point.total_bytes <= MOST_BYTES
    ]


def report(a: argparse.Namespace, cpus: Sequence[int], ranks: Sequence[int], mpis: Sequence[str]) -> int:
    """Measures and writes; the time left after the comparison goes to the papers' statements."""
    a.report.mkdir(parents=True, exist_ok=True)
    sizes = powers_of_two(8, 16 << 20) if a.full else mpi_peers.size_list(a.sizes or COARSE)
    operations = a.operations.split(",") if a.operations else [*HEADLINE, *OTHERS]
    points = (
        product(a, ranks, operations, sizes)
        if a.mode or a.buffers
        else grid(ranks, operations, sizes, a.full)
    )
    large = [p for p in points if p.total_bytes > MOST_BYTES]
    points = [p for p in points if p.total_bytes <= MOST_BYTES]
    settings = Settings(
        a.report, list(cpus), list(mpis), a.seed, a.rounds, a.launches, a.budget, points, large, a.kind
    )
    if a.again:
        return write_report(settings)
    (a.report / CLAIMS_FILE).unlink(missing_ok=True)
    begin(settings)
    alone = [] if a.mode or a.buffers else companions(points, mpi_peers.size_list(FEW), ranks[0])

    def subjects_of(point: Point) -> list[str]:
        if point in alone or point.buffers == "heap":
            return ["phicoll"]
        hand = (
            point.operation in HEADLINE and point.buffers == "fresh" and (point.ranks, point.size) == (2, 8)
        )
        return ["phicoll", *mpis, *([HAND] if hand and len(cpus) > 1 else []), *loops(point)]

    seconds = max(1.0, a.budget - WRITING_S) if a.budget else math.inf
    systems = Systems(cpus, mpis, a.kind)
    loops, settings.ended = no_loops, ""
    if a.loops:
        # Without a budget two rounds of all loops.
        loops, ended, without = limits_of(
            settings.beside_others, Systems(cpus, (), a.kind), a.seed, LOOPS_SHARE * seconds
        )
        if without:
            sizes = listed(without).replace("\n- ", "; ").removeprefix("- ")
            note(
                settings, {"note": f"without a limit, as not all bare loops were tried in the time: {sizes}"}
            )
        if ended.startswith("interrupted"):
            settings.ended = ended
            note(settings, {"ended": ended})
            return write_report(settings)
        seconds *= 1 - LOOPS_SHARE
    taken = take(
        [*points, *alone], subjects_of, systems=systems, rounds=a.rounds, launches=a.launches,
        seed=a.seed, cap_ms=a.cap_ms, seconds=seconds * (1 - CLAIMS_SHARE), out=a.report / SAMPLES_FILE,
    )  # fmt: skip
    if taken.ended.startswith("interrupted"):
        settings.ended = taken.ended
    elif not a.operations:
        settings.ended = take_claims(a, cpus, seconds * CLAIMS_SHARE if a.budget else 600.0)
    return write_report(settings)


def no_loops(_: Point) -> list[str]:
    return []


def take_claims(a: argparse.Namespace, cpus: Sequence[int], seconds: float) -> str:
    """Measures what the papers' statements compare: between threads, where a peer's array is reached by plain
    loads and stores; a pair, and twice as many ranks as CPUs, at least four. Returns how it ended, if by an
    interrupt."""
    from phicoll.papers.claims import wanted

    of: dict[Point, list[str]] = {}
    for operation, ranks, size, spec in wanted((2, max(4, 2 * len(cpus)))):
        of.setdefault(Point(operation, ranks, "loop", "fresh", size), []).append(f"phicoll:{spec}")
    taken = take(
        list(of), lambda point: of[point], systems=Systems(cpus, (), "threads", type="int32"), rounds=a.rounds,
        launches=a.launches, seed=a.seed, cap_ms=a.cap_ms, seconds=seconds, out=a.report / CLAIMS_FILE,
    )  # fmt: skip
    return taken.ended if taken.ended.startswith("interrupted") else ""


class Ended(KeyboardInterrupt):
    """Raised when asked to end."""


def end_at_signals() -> None:
    """Turns Ctrl-C and SIGTERM into an interrupt that says which it was."""

    def end(number: int, frame: object) -> None:
        raise Ended(f"interrupted by {signal.Signals(number).name}")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--operations", help=f"default: {','.join(HEADLINE)}; in a report also {','.join(OTHERS)}"
    )
    parser.add_argument(
        "--sizes", help="bytes of the count argument (default: 8,4K,64K,1M; in a report a coarse grid)"
    )
    parser.add_argument("--ranks", help="default: 2; in a report 2,4,8")
    parser.add_argument("--algorithms", default="auto", help="phicoll's, side by side (not in a report)")
    parser.add_argument(
        "--mpi", default=",".join(mpi_peers.available()), help="default: all that are set up; or none"
    )
    parser.add_argument("--mode", help="loop, window or both (default: loop; a report: its grid)")
    parser.add_argument(
        "--buffers",
        help="fresh, reused, both, or heap beside fresh (default: fresh; a report: its grid); with --mode a report has "
        "these points alone",
    )
    parser.add_argument(
        "--kind", default="processes", choices=["processes", "threads"], help="what phicoll's ranks are"
    )
    parser.add_argument("--rounds", type=int, help="in each launch (default: 7; in a report 4)")
    parser.add_argument("--launches", type=int, default=14, help="of a report (default: 14)")
    parser.add_argument("--calls", type=int, default=0, help="0: by size")
    parser.add_argument("--cap-ms", type=float, default=20.0)
    parser.add_argument("--cpus", help="rank r on the (r mod n)-th of these (default: the first two allowed)")
    parser.add_argument("--seed", type=int, help="default: drawn")
    parser.add_argument("--out", type=Path, help="append every sample here (JSON Lines)")
    parser.add_argument(
        "--records",
        type=Path,
        metavar="FILE",
        help="write the samples as records, for phicoll demo (not in a report)",
    )
    parser.add_argument("--report", type=Path, metavar="FOLDER", help="measure and write the whole report")
    parser.add_argument(
        "--budget",
        type=float,
        default=780.0,
        metavar="S",
        help="seconds for a report; 0: as long as it takes",
    )
    parser.add_argument(
        "--full", action="store_true", help="every power of two, every definition, all buffers"
    )
    parser.add_argument(
        "--no-loops", dest="loops", action="store_false", help="a report without the bare loops as limits"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="write the report from the samples in FOLDER, which have their settings and machine",
    )
    a = parser.parse_args()
    a.seed = random.SystemRandom().randrange(1 << 32) if a.seed is None else a.seed
    cpus = [int(c) for c in a.cpus.split(",")] if a.cpus else sorted(os.sched_getaffinity(0))[:2]
    mpis = [name for name in a.mpi.split(",") if name and name != "none"]
    end_at_signals()
    if a.report is not None:
        a.rounds = a.rounds or 4
        return report(a, cpus, [int(r) for r in (a.ranks or "2,4,8").split(",")], mpis)
    rounds = a.rounds or 7
    operations, sizes = (
        (a.operations or ",".join(HEADLINE)).split(","),
        mpi_peers.size_list(a.sizes or "8,4K,64K,1M"),
    )
    points = product(a, [int(r) for r in (a.ranks or "2").split(",")], operations, sizes)
    algorithms = a.algorithms.split(",")
    subjects = ["phicoll" if one == "auto" else f"phicoll:{one}" for one in algorithms] + mpis
    taken = take(
        points, lambda point: [s for s in subjects if point.buffers != "heap" or s.startswith("phicoll")],
        systems=Systems(cpus, mpis, a.kind), rounds=rounds, seed=a.seed, calls=a.calls, cap_ms=a.cap_ms, out=a.out,
    )  # fmt: skip
    if a.records is not None:
        as_results(taken, a.kind, len(cpus), mpis).save(a.records)
    print(side_by_side(taken, subjects, rounds))
    return 130 if taken.ended else 0


if __name__ == "__main__":
    sys.exit(main())
