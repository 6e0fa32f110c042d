"""The regret of `auto`: its time over that of the best listed algorithm and parameters, point by point.

    python benchmarks/regret.py --budget 150                                  (part of make bench)
    python benchmarks/regret.py --operations allgather --ranks 2 --sizes 32K,256K --rounds 40
    python benchmarks/regret.py --machine epyc-7742 --ranks 16,64,128           (simulated: simulated_regret.py)

One round of all candidates of tuning (phicoll.models.tuning.candidates) finds the few that come close. These and `auto`
then take turns in rounds. The best is chosen on odd rounds and compared on even ones, so that the luckiest of many is
not taken for the best.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mpi_peers
import simulated_regret
from points import Point, Taken, size_text
from rounds import Systems, take
from states import states
from tables import HEADLINE, number, table
from verdicts import Row, best_of, judge, log_ratios, split

from phicoll import _core
from phicoll.models.tuning import candidates

SIZES = "512,4K,16K,64K,256K,2M"
FEW = 4
#: The targets: the geometric mean, and at a point.
MEAN, POINT = 1.10, 1.30
#: The share of the time for the first round.
FIRST_SHARE = 0.45
AUTO = "phicoll"


def specs(point: Point, cpus: Sequence[int]) -> list[str]:
    """The candidates to try beside `auto`: all that can serve the point, each effect once."""
    found: dict[str, str] = {}
    for spec in candidates(point.operation):
        one = _core.candidate(
            operation=point.operation, spec=spec, size=point.size, ranks=point.ranks,
            placement=",".join(map(str, cpus)), machine="",
        )  # fmt: skip
        if not one["unfit"]:
            found.setdefault(one["effective"], one["spec"])
    return [f"{AUTO}:{spec}" for spec in found.values()]


def nearest(first: Taken, point: Point) -> list[str]:
    """`auto` and the few that were the fastest in the first round."""
    times = {
        subject: statistics.median(by.values())
        for subject, by in first.ns.get(point, {}).items()
        if subject != AUTO and (point, subject) not in first.wrong
    }
    return [AUTO, *sorted(times, key=lambda subject: times[subject])[:FEW]]


def regrets(taken: Taken) -> list[Row]:
    """A row a point: auto over the best of the others."""
    rows = []
    for point in sorted(taken.ns):
        by = dict(taken.ns[point])
        mine = by.pop(AUTO, None)
        median = taken.median(point, AUTO)
        if not mine or median is None:
            continue
        odd, even = split(mine)
        best = best_of(by, mine, odd or even)
        if best is None:
            continue
        row = Row(point, AUTO, median, best.removeprefix(f"{AUTO}:"), taken.median(point, best))
        row.logs = log_ratios(mine, by[best], even)
        row.effective = taken.effective.get((point, AUTO), "")
        rows.append(row)
    judge(rows)
    return rows


def mean(rows: Sequence[Row]) -> float:
    """Geometric mean. Where auto is ahead of the best listed one, its regret is none."""
    return math.exp(statistics.fmean(max(0.0, math.log(row.ratio.median)) for row in rows if row.ratio))


def word(row: Row) -> str:
    """Whether the regret at a point is above the target, with a question mark if its interval is not."""
    if row.ratio is None or row.ratio.median <= POINT:
        return ""
    return "above" if row.ratio.low > POINT else "above?"


def regret_table(rows: Sequence[Row]) -> str:
    return table(
        ["operation", "ranks", "bytes", "auto", "best listed", "regret [95 %]", "", "auto took", "best listed is"],
        [
            [
                row.point.operation, str(row.point.ranks), size_text(row.point.size), number(row.ns),
                number(row.opponent_ns), str(row.ratio),
                word(row),
                row.effective, row.opponent or "-",
            ]
            for row in rows
        ],
        (0, 6, 7, 8),
    )  # fmt: skip


def summary(rows: Sequence[Row]) -> str:
    rows = [row for row in rows if row.ratio is not None]
    if not rows:
        return "no rounds"
    worst = max(rows, key=lambda row: row.ratio.median if row.ratio else 0.0)
    words = [
        f"{len(rows)} points: geometric mean {mean(rows):.3f} (at most {MEAN:g}: "
        f"{'met' if mean(rows) <= MEAN else 'missed'}); worst {worst.ratio} at {worst.point} (at most {POINT:g})."
    ]
    for ranks in sorted({row.point.ranks for row in rows}):
        of = [row for row in rows if row.point.ranks == ranks]
        above = sum(row.ratio is not None and row.ratio.median > POINT for row in of)
        words.append(f"{ranks} ranks: {mean(of):.3f}, {above} of {len(of)} points above {POINT:g}.")
    return " ".join(words)


def text_of(taken: Taken) -> str:
    rows = regrets(taken)
    parts = [
        "# The regret of auto",
        "`auto`'s time over that of the best listed algorithm and parameters, chosen on odd rounds and compared on "
        "even ones; loop, fresh buffers. " + summary(rows),
        regret_table(rows),
    ]
    for state in states(taken):
        parts.append(
            f"## {state.name.capitalize()} ({state.line_ns:.3g} ns a line, {state.share:.0%} of the rounds)\n\n"
            + summary(regrets(state.taken))
        )
    return "\n\n".join(parts) + "\n"


def written(text: str, out: Path | None) -> None:
    print(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--operations", default=",".join(HEADLINE))
    parser.add_argument("--sizes", default=SIZES, help=f"bytes of the count argument (default: {SIZES})")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--budget", type=float, default=150.0, metavar="S", help="seconds in all")
    parser.add_argument("--cap-ms", type=float, default=5.0, help="a sample's time")
    parser.add_argument("--seed", type=int, help="default: drawn")
    parser.add_argument("--out", type=Path, help="write the table here too")
    parser.add_argument("--machine", help="a simulated machine")
    parser.add_argument("--placement", default="balanced", help="simulated: of ranks (default: balanced)")
    parser.add_argument(
        "--definition", default="loop", choices=("loop", "window"), help="simulated (default: loop)"
    )
    parser.add_argument("--calls", type=int, default=3, help="simulated: calls of a point (default: 3)")
    parser.add_argument(
        "--only", default="", help="simulated: candidates, names of algorithms (default: all)"
    )
    parser.add_argument("--jobs", type=int, default=2, help="simulated: points at once (default: 2)")
    parser.add_argument("--cache", type=Path, help="simulated: a file that keeps the times")
    a = parser.parse_args()
    if a.machine:
        only = frozenset(filter(None, a.only.split(",")))
        setting = simulated_regret.Setting(
            a.machine, a.placement, a.definition, a.calls, warm_up=1, only=only
        )
        text = simulated_regret.run(
            a.operations.split(","), [int(ranks) for ranks in a.ranks.split(",")], mpi_peers.size_list(a.sizes),
            setting, seconds=a.budget, jobs=a.jobs, cache=a.cache,
        )  # fmt: skip
        written(text, a.out)
        return 0
    seed = random.SystemRandom().randrange(1 << 32) if a.seed is None else a.seed
    cpus = sorted(os.sched_getaffinity(0))[:2]
    points = [
        Point(operation, int(ranks), "loop", "fresh", size)
        for operation in a.operations.split(",")
        for ranks in a.ranks.split(",")
        for size in mpi_peers.size_list(a.sizes)
    ]
    tried = {point: [AUTO, *specs(point, cpus)] for point in points}
    systems = Systems(cpus)
    first = take(
        points, lambda point: tried[point], systems=systems, rounds=1, seed=seed, cap_ms=a.cap_ms,
        seconds=a.budget * FIRST_SHARE,
    )  # fmt: skip
    chosen = {point: nearest(first, point) for point in points if point in first.ns}
    taken = take(
        list(chosen), lambda point: chosen[point], systems=systems, rounds=a.rounds, seed=seed + 1, cap_ms=a.cap_ms,
        seconds=a.budget * (1 - FIRST_SHARE),
    )  # fmt: skip
    written(text_of(taken), a.out)
    return 1 if taken.wrong else 130 if taken.ended.startswith("interrupted") else 0


if __name__ == "__main__":
    sys.exit(main())
