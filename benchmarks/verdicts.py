"""Verdicts from the rounds. Ratios are taken within rounds.

"The best of the others" is chosen on odd rounds and compared on even ones; the interval is the sign test's over the
units that `phicoll compare` takes (rounds, or launches where these differ), corrected after Holm over the rows of one
table.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from points import Point, Round, Taken
from states import border_of, is_near

#: "Not slower": the upper bound of the time ratio is at most this.
NOT_SLOWER = 1.03
#: Fewer units have no interval of 95 %.
LEAST_UNITS = 6
#: The bare loops' subjects, and the share of what the best of them reaches that is wanted.
LOOP = "phicoll:bare-loop"
LEAST_SHARE = 0.8


@dataclass(frozen=True)
class Ratio:
    """Time over time within rounds: median and interval. `enough`: whether the units suffice for its confidence."""

    median: float
    low: float
    high: float
    units: int
    enough: bool
    unit: str = "round"  # or "launch", where launches differ
    launches: int = 1

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.low:.2f}, {self.high:.2f}]" + ("" if self.enough else "?")


@dataclass
class Row:
    """One point: phicoll against an opponent (the best of the others, a composition, the best bare loop)."""

    point: Point
    subject: str
    ns: float
    opponent: str | None = None
    opponent_ns: float | None = None
    logs: dict[Round, float] = field(default_factory=dict)
    ratio: Ratio | None = None
    lines: Ratio | None = None
    share: float | None = None  # of the best bare loop's speed
    loop_ratio: Ratio | None = None  # that loop's time over the opponent's
    effective: str = ""
    out: Sequence[str] = ()

    @property
    def verdict(self) -> str:
        found = at_most(self.ratio, NOT_SLOWER)
        return (
            found.replace("met", "not slower")
            .replace("missed", "slower")
            .replace("not resolved", "unresolved")
        )


def at_most(ratio: Ratio | None, most: float) -> str:
    """Whether a time ratio is at most `most`: met, missed or not resolved; "-" without a ratio. "met?",
    "missed?": so in every unit, but these are too few for the table's confidence."""
    if ratio is None:
        return "-"
    doubt = "" if ratio.enough else "?"
    return f"met{doubt}" if ratio.high <= most else f"missed{doubt}" if ratio.low > most else "not resolved"


def tally(words: Iterable[str]) -> dict[str, str]:
    """How often each word came, and how many of these with doubt: "7 (2 of them ?)"."""
    words = list(words)
    found = {}
    for word in dict.fromkeys(w.rstrip("?") for w in words):
        doubted = words.count(word + "?")
        found[word] = f"{words.count(word) + doubted}" + (f" ({doubted} of them ?)" if doubted else "")
    return found


def split(rounds: Iterable[Round]) -> tuple[list[Round], list[Round]]:
    """Odd and even ones by their position in a launch. Every other launch begins with an odd one: its first round may
    differ from the rest, and launches may have one round each."""
    halves: tuple[list[Round], list[Round]] = [], []
    for number, (_, of) in enumerate(groupby(sorted(rounds), key=lambda at: at[0])):
        for position, at in enumerate(of):
            halves[(number + position) % 2].append(at)
    return halves[1], halves[0]


def log_ratios(
    over: dict[Round, float], under: dict[Round, float], rounds: Iterable[Round]
) -> dict[Round, float]:
    return {at: math.log(over[at] / under[at]) for at in rounds if at in over and at in under}


def best_of(
    by: dict[str, dict[Round, float]], mine: dict[Round, float], rounds: Sequence[Round]
) -> str | None:
    """The one with the lowest median over these rounds, each beside ``mine``: not all took part in each."""
    medians = {
        name: statistics.median(logs.values())
        for name, values in by.items()
        if (logs := log_ratios(values, mine, rounds))
    }
    return min(medians, key=lambda name: medians[name]) if medians else None


def rows_of(taken: Taken, subject: str = "phicoll", points: Iterable[Point] | None = None) -> list[Row]:
    """One row per point that the subject was measured at, against the best of the MPIs; the intervals hold
    jointly over the table."""
    rows = []
    lines, shares, loops = [], [], []
    border = border_of(taken)
    for point in sorted(taken.ns if points is None else set(points) & set(taken.ns)):
        mine = taken.ns[point].get(subject)
        median = taken.median(point, subject)
        if mine is None or median is None:
            continue
        row = Row(point, subject, median, effective=taken.effective.get((point, subject), ""))
        row.out = [s for s in taken.out_at(point) if not s.startswith("phicoll")]
        others = {
            s: by
            for s, by in taken.ns[point].items()
            if not s.startswith("phicoll") and (point, s) not in taken.wrong
        }
        odd, even = split(mine)
        row.opponent = best_of(others, mine, odd or even)
        if row.opponent is not None:
            row.opponent_ns = taken.median(point, row.opponent)
            row.logs = log_ratios(mine, others[row.opponent], even)
        lines.append(log_ratios(mine, taken.line_ns.get(point, {}), mine))
        loop = loop_of(taken, point, mine, border)
        shares.append(log_ratios(mine, loop.ns, even))
        loops.append(log_ratios(loop.ns, others.get(row.opponent or "", {}), even))
        rows.append(row)
    judge(rows)
    for row, *found in zip(rows, *map(ratios_of, (lines, shares, loops)), strict=True):
        row.lines, row.share, row.loop_ratio = found[0], share_of(found[1]), found[2]
    return rows


def versus(taken: Taken, subject: str, opponent: str) -> list[Row]:
    """One row per point that has both."""
    rows, lines = [], []
    for point in sorted(taken.ns):
        by = taken.ns[point]
        median, other = taken.median(point, subject), taken.median(point, opponent)
        if median is None or other is None:
            continue
        row = Row(
            point, subject, median, opponent, other, effective=taken.effective.get((point, subject), "")
        )
        row.logs = log_ratios(by[subject], by[opponent], by[subject])
        lines.append(log_ratios(by[subject], taken.line_ns.get(point, {}), by[subject]))
        rows.append(row)
    judge(rows)
    for row, line in zip(rows, ratios_of(lines), strict=True):
        row.lines = line
    return rows


def heap_rows(taken: Taken, subject: str = "phicoll") -> list[Row]:
    """A row for each point with buffers in the group's heap: its time over that with private ones, fresh as well."""
    rows = []
    for point in sorted(taken.ns):
        private = replace(point, buffers="fresh")
        mine, other = taken.median(point, subject), taken.median(private, subject)
        if point.buffers != "heap" or mine is None or other is None:
            continue
        row = Row(point, subject, mine, "private", other, effective=taken.effective.get((point, subject), ""))
        row.logs = log_ratios(taken.ns[point][subject], taken.ns[private][subject], taken.ns[point][subject])
        rows.append(row)
    judge(rows)
    return rows


@dataclass(frozen=True)
class Loop:
    """The best bare loop of a point, and its times. Near rounds may have another than far ones."""

    names: Sequence[str]
    ns: dict[Round, float]

    def median(self) -> float | None:
        return statistics.median(self.ns.values()) if self.ns else None


def loop_of(taken: Taken, point: Point, mine: dict[Round, float], border: float | None) -> Loop:
    """The bare loop that was the best on odd rounds, near and far by themselves: some suit the one, some the other.
    Without bare loops it has no times."""
    loops = {
        s: by for s, by in taken.ns[point].items() if s.startswith(LOOP) and (point, s) not in taken.wrong
    }
    odd, even = split(mine)
    names: list[str] = []
    ns: dict[Round, float] = {}
    for near in (True, False, None):
        of = {at for at in mine if is_near(taken, border, point, at) is near}
        best = best_of(loops, mine, [at for at in odd if at in of] or odd or even) if of else None
        if best is not None:
            names.append(best)
            ns |= {at: loops[best][at] for at in of if at in loops[best]}
    return Loop(list(dict.fromkeys(names)), ns)


def limits(taken: Taken, subject: str = "phicoll", points: Iterable[Point] | None = None) -> list[Row]:
    """A row for each point that has bare loops: phicoll over the best of them, chosen on odd rounds and compared on
    even ones."""
    rows = []
    border = border_of(taken)
    for point in sorted(taken.ns if points is None else set(points) & set(taken.ns)):
        median = taken.median(point, subject)
        if median is None:
            continue
        mine = taken.ns[point][subject]
        loop = loop_of(taken, point, mine, border)
        if not loop.ns:
            continue
        names = " or ".join(name.removeprefix("phicoll:") for name in loop.names)
        row = Row(point, subject, median, names, loop.median())
        row.logs = log_ratios(mine, loop.ns, split(mine)[1])
        row.effective = taken.effective.get((point, subject), "")
        rows.append(row)
    judge(rows)
    for row in rows:
        row.share = share_of(row.ratio)
    return rows


def at_limit(row: Row) -> str:
    """The verdict on a row of `limits`: at least LEAST_SHARE."""
    return at_most(row.ratio, 1 / LEAST_SHARE)


def share_of(ratio: Ratio | None) -> float | None:
    """What part of the other's speed it is."""
    return None if ratio is None else 1 / ratio.median


def judge(rows: Sequence[Row]) -> None:
    """Gives the rows their intervals, which hold jointly."""
    for row, ratio in zip(rows, ratios_of([row.logs for row in rows]), strict=True):
        row.ratio = ratio


def ratios_of(logs: Sequence[dict[Round, float]]) -> list[Ratio | None]:
    """Medians and intervals at levels after Holm; none without a round."""
    import numpy as np

    from phicoll import _core
    from phicoll.results.compare.best import holm_levels
    from phicoll.results.compare.units import CONFIDENCE, estimate, units_of

    units = [
        units_of([math.exp(v) for v in of.values()], [("", launch) for launch, _ in of]) for of in logs if of
    ]
    levels, _ = holm_levels([float(_core.sign_test(np.log(of.values))) for of in units], CONFIDENCE)
    found = []
    for of, level in zip(units, levels, strict=True):
        at = estimate(np.log(of.values), level)
        median, low, high = (math.exp(value) for value in (at.median, at.low, at.high))
        found.append(Ratio(median, low, high, len(of), at.enough, of.kind, of.launches))
    each = iter(found)
    return [next(each) if of else None for of in logs]


def mean_of(rows: Iterable[Row], least: float = 0.0) -> Ratio | None:
    """The geometric mean of the rows' median ratios, where none counts as less than `least`, and its interval.

    A round moves it by the mean distance of its values from their rows' medians; so it does not matter which points a
    round lacks. Rows of few units do not tell how far they spread, so with any the interval is in doubt. It is not
    corrected for others.
    """
    rows = [row for row in rows if row.ratio is not None]
    of = [(math.log(row.ratio.median), row.logs) for row in rows if row.ratio is not None]
    if not of:
        return None
    floor = math.log(least) if least else -math.inf
    mean = statistics.fmean(max(floor, centre) for centre, _ in of)
    distances: dict[Round, list[float]] = {}
    for centre, logs in of:
        if centre > floor:
            for at, value in logs.items():
                distances.setdefault(at, []).append(value - centre)
    part = sum(centre > floor for centre, _ in of) / len(of)
    (found,) = ratios_of([{at: mean + part * statistics.fmean(by) for at, by in distances.items()}])
    middle = math.exp(mean)
    if found is None:  # all count as `least`
        return Ratio(middle, middle, middle, 0, True)
    enough = found.enough and all(row.ratio is None or row.ratio.units >= LEAST_UNITS for row in rows)
    return replace(
        found, median=middle, low=min(found.low, middle), high=max(found.high, middle), enough=enough
    )


#: Operation, and operations that together do at least the same (data that a part has no use for set to nothing), each
#: with its size over the operation's: 1, or the number of ranks (p) or its inverse.
COMPOSITIONS = (
    ("broadcast", (("allgather", "1"),)),
    ("broadcast", (("scatter", "1/p"), ("allgather", "1/p"))),
    ("reduce", (("allreduce", "1"),)),
    ("reduce", (("reduce_scatter_block", "1/p"), ("gather", "1/p"))),
    ("allreduce", (("reduce", "1"), ("broadcast", "1"))),
    ("allreduce", (("reduce_scatter_block", "1/p"), ("allgather", "1/p"))),
    # The last rank has the sum of all.
    ("allreduce", (("scan", "1"), ("broadcast", "1"))),
    ("gather", (("allgather", "1"),)),
    ("gather", (("alltoall", "1"),)),
    ("scatter", (("alltoall", "1"),)),
    ("scatter", (("broadcast", "p"),)),
    ("allgather", (("alltoall", "1"),)),
    ("allgather", (("gather", "1"), ("broadcast", "p"))),
    ("alltoall", (("allgather", "p"),)),
    ("reduce_scatter_block", (("reduce", "p"), ("scatter", "1"))),
    ("reduce_scatter_block", (("allreduce", "p"),)),
    # Rank q's block for rank r is its operand where q <= r, and the neutral element elsewhere.
    ("scan", (("reduce_scatter_block", "1"),)),
)


def scaled(size: int, factor: str, ranks: int) -> int:
    return size * ranks if factor == "p" else size // ranks if factor == "1/p" else size


def parts_of(point: Point) -> list[tuple[str, list[Point]]]:
    """The compositions of a point: in words, and the points of their parts."""
    found = []
    for operation, parts in COMPOSITIONS:
        divides = all(factor != "1/p" or point.size % (4 * point.ranks) == 0 for _, factor in parts)
        if operation != point.operation or not divides:
            continue
        words = " + ".join(part if factor == "1" else f"{part} ({factor})" for part, factor in parts)
        at = [
            replace(point, operation=part, size=scaled(point.size, factor, point.ranks))
            for part, factor in parts
        ]
        found.append((words, at))
    return found


def compositions(taken: Taken, subject: str = "phicoll") -> list[Row]:
    """Each operation against its composition from others, in the same rounds; `opponent` names the parts."""
    rows = []
    for point in sorted(taken.ns):
        mine = taken.ns[point].get(subject)
        median = taken.median(point, subject)
        if mine is None or median is None:
            continue
        for words, at_points in parts_of(point):
            of_parts = [taken.ns.get(part, {}).get(subject) for part in at_points]
            if any(values is None for values in of_parts):
                continue
            total = {
                at: sum(v[at] for v in of_parts if v) for at in mine if all(v and at in v for v in of_parts)
            }
            row = Row(point, subject, median, words)
            row.opponent_ns = statistics.median(total.values()) if total else None
            row.logs = log_ratios(mine, total, mine)
            rows.append(row)
    judge(rows)
    return rows
