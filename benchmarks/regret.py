"""The regret of `auto`: its time over that of the best listed algorithm and parameters, point by point.

    python benchmarks/regret.py --budget 150                                  (part of make bench)
    python benchmarks/regret.py --operations allgather --ranks 2 --sizes 32K,256K --rounds 4
    python benchmarks/regret.py --machine epyc-7742 --ranks 16,64,128           (simulated: simulated_regret.py)

One round of all candidates of tuning (phicoll.models.tuning.candidates) finds the few that come close. These and `auto`
then take turns in rounds. The best is chosen on odd rounds and compared on even ones, so that the luckiest of many is
not taken for the best. A point at which not all of them were measured has no verdict and is listed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mpi_peers
import simulated_regret
from points import Point, Taken, size_text
from rounds import Systems, take
from states import states
from tables import HEADLINE, listed, number, table
from verdicts import Ratio, Row, at_most, best_of, judge, log_ratios, mean_of, split, tally

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


def regrets(taken: Taken, points: Iterable[Point] | None = None) -> list[Row]:
    """A row a point: auto over the best of the others."""
    rows = []
    for point in sorted(taken.ns if points is None else set(points) & set(taken.ns)):
        by = {s: values for s, values in taken.ns[point].items() if (point, s) not in taken.wrong}
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


@dataclass(frozen=True)
class Passes:
    """What was measured: all candidates once, and the few that were chosen of them in rounds."""

    points: Sequence[Point]
    tried: dict[Point, list[str]]
    first: Taken
    chosen: dict[Point, list[str]]
    taken: Taken

    def ended(self) -> str:
        """Why it ended early, if so."""
        return self.first.ended or self.taken.ended

    def wrong(self) -> set[tuple[Point, str]]:
        return self.first.wrong | self.taken.wrong

    def why_not(self, point: Point) -> str:
        """Why a point has no verdict; empty if it has one."""
        if (point, AUTO) in self.wrong():
            return "`auto`'s result was wrong"
        if not self.first.reached(point, self.tried[point]):
            return "not reached in the time by all candidates"
        if len(self.chosen[point]) == 1:
            return "no candidate beside `auto`"
        if not self.taken.reached(point, self.chosen[point]):
            return "not reached in the time by the rounds of the best few"
        return "" if regrets(self.taken, [point]) else "no round with `auto` and another"


def mean(rows: Sequence[Row]) -> Ratio | None:
    """Geometric mean. Where auto is ahead of the best listed one, its regret is none."""
    return mean_of(rows, least=1.0)


def regret_table(rows: Sequence[Row]) -> str:
    return table(
        ["operation", "ranks", "bytes", "auto", "best listed", "regret [95 %]", f"at most {POINT:g}", "auto took",
         "best listed is"],
        [
            [
                row.point.operation, str(row.point.ranks), size_text(row.point.size), number(row.ns),
                number(row.opponent_ns), str(row.ratio), at_most(row.ratio, POINT),
                row.effective, row.opponent or "-",
            ]
            for row in rows
        ],
        (0, 6, 7, 8),
    )  # fmt: skip


def summary(rows: Sequence[Row], points: Sequence[Point]) -> str:
    """In words; the mean is judged only if all points have a row."""
    if not rows:
        return f"None of {len(points)} points has a verdict."
    worst = max(rows, key=lambda row: row.ratio.median if row.ratio else 0.0)
    whole = len(rows) == len(points)
    judged = (
        at_most(mean(rows), MEAN) if whole else f"not judged, as {len(points) - len(rows)} points are missing"
    )
    words = [
        f"{len(rows)} of {len(points)} points: geometric mean {mean(rows)} (at most {MEAN:g}: {judged}); worst "
        f"{worst.ratio} at {worst.point}."
    ]
    for ranks in sorted({point.ranks for point in points}):
        of = [row for row in rows if row.point.ranks == ranks]
        if of:
            at = tally(at_most(row.ratio, POINT) for row in of)
            words.append(
                f"{ranks} ranks: {mean(of)}; at most {POINT:g}: "
                + ", ".join(f"{count} {word}" for word, count in at.items())
                + "."
            )
    return " ".join(words)


def text_of(passes: Passes) -> str:
    without: dict[str, list[Point]] = {}
    for point in passes.points:
        if why := passes.why_not(point):
            without.setdefault(why, []).append(point)
    points = [point for point in passes.points if not any(point in of for of in without.values())]
    rows = regrets(passes.taken, points)
    parts = [
        "# The regret of auto",
        "`auto`'s time over that of the best listed algorithm and parameters, chosen on odd rounds and compared on "
        "even ones; loop, fresh buffers. " + summary(rows, passes.points),
    ]
    if passes.ended():
        parts.append(f"It ended early: {passes.ended()}.")
    parts.append(regret_table(rows))
    for why, of in without.items():
        parts.append(f"## Without a verdict: {why}\n\n" + listed(of))
    counts = {point.ranks for point in passes.taken.line_ns}
    for state in states(passes.taken):
        parts.append(
            f"## {state.name.capitalize()} ({state.line_ns:.3g} ns a line, {state.share:.0%} of the rounds)\n\n"
            + summary(regrets(state.taken, points), [p for p in passes.points if p.ranks in counts])
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
    parser.add_argument("--rounds", type=int, default=2, help="in each launch (default: 2)")
    parser.add_argument("--launches", type=int, default=12, help="of the best few (default: 12)")
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
    chosen = {point: nearest(first, point) for point in points if first.reached(point, tried[point])}
    taken = Taken()
    if not first.ended.startswith("interrupted"):
        taken = take(
            list(chosen), lambda point: chosen[point], systems=systems, rounds=a.rounds, launches=a.launches,
            seed=seed + 1, cap_ms=a.cap_ms, seconds=a.budget * (1 - FIRST_SHARE),
        )  # fmt: skip
    passes = Passes(points, tried, first, chosen, taken)
    written(text_of(passes), a.out)
    return 1 if passes.wrong() else 130 if passes.ended().startswith("interrupted") else 0


if __name__ == "__main__":
    sys.exit(main())
