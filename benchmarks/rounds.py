"""Rounds: every system at every point, in a random order from a seed, with probes; and what the rounds say.

Ratios are taken within rounds. "The best of the others" is chosen on odd rounds and compared on even ones; the interval
is the sign test's, corrected after Holm over the rows of one table.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import mpi_peers
from phicoll_peer import OPERATIONS, PeerError, PhicollPeer

MPI_NAMES = {ours: theirs for theirs, ours in OPERATIONS.items()}
MOST_BYTES = 1 << 30  # of all buffers of all ranks
LEAST_COPY_BYTES = 1 << 16
SMALLEST_NS = 1e-3


@dataclass(frozen=True, order=True)
class Point:
    """What is called: `size` is the bytes of the count argument."""

    operation: str
    ranks: int
    definition: str
    buffers: str
    size: int

    @property
    def total_bytes(self) -> int:
        """Of all send and receive buffers of all ranks."""
        p, n = self.ranks, self.size
        return {
            "barrier": 0, "broadcast": p * n, "reduce": (p + 1) * n, "allreduce": 2 * p * n, "gather": 2 * p * n,
            "scatter": 2 * p * n, "allgather": p * n + p * p * n, "alltoall": 2 * p * p * n, "scan": 2 * p * n,
            "reduce_scatter": p * p * n + p * n,
        }[self.operation]  # fmt: skip

    def title(self) -> str:
        return f"{self.operation}, {self.ranks} ranks, {self.definition}, {self.buffers}"


Round = tuple[int, int]  # launch, round


@dataclass
class Taken:
    """The samples of a run. `ns[point][subject][round]`; probes by point and round."""

    ns: dict[Point, dict[str, dict[Round, float]]] = field(default_factory=dict)
    line_ns: dict[Point, dict[Round, float]] = field(default_factory=dict)
    copy_ns: dict[Point, dict[Round, float]] = field(default_factory=dict)
    heap_ns: dict[Point, dict[Round, float]] = field(default_factory=dict)
    effective: dict[tuple[Point, str], str] = field(default_factory=dict)
    wrong: set[tuple[Point, str]] = field(default_factory=set)
    failed: dict[tuple[Point, str], str] = field(default_factory=dict)

    def add(self, record: dict[str, Any]) -> None:
        point = Point(**record["point"])
        at = (record["launch"], record["round"])
        if "probe" in record:
            for name, to in (
                ("pingpong_ns", self.line_ns), ("private_ns", self.copy_ns), ("heap_ns", self.heap_ns),
            ):  # fmt: skip
                # Where ranks share CPUs a line is no unit.
                if record["probe"].get(name) and (
                    name != "pingpong_ns" or not record["probe"].get("switch_ns")
                ):
                    to.setdefault(point, {})[at] = record["probe"][name]
            return
        subject = record["subject"]
        if "error" in record and "ns" not in record:
            self.failed[point, subject] = record["error"]
            return
        if not record["verified"]:
            self.wrong.add((point, subject))
        self.ns.setdefault(point, {}).setdefault(subject, {})[at] = max(record["ns"], SMALLEST_NS)
        if record.get("effective"):
            self.effective[point, subject] = record["effective"]

    def median(self, point: Point, subject: str) -> float | None:
        values = self.ns.get(point, {}).get(subject)
        return statistics.median(values.values()) if values and (point, subject) not in self.wrong else None

    def subjects(self) -> list[str]:
        """phicoll's first."""
        return sorted(
            {s for by in self.ns.values() for s in by}, key=lambda s: (not s.startswith("phicoll"), s)
        )


class Field:
    """The systems that take part, with one number of ranks; started for a launch."""

    def __init__(self, ranks: int, cpus: Sequence[int], mpis: Sequence[str], kind: str) -> None:
        self.ranks, self.cpus, self.kind = ranks, cpus, kind
        self.phicoll = PhicollPeer(ranks, cpus, kind=kind)
        self.mpis: dict[str, mpi_peers.MpiPeer] = {}
        for name in mpis:
            self.start_mpi(name)

    def start_mpi(self, name: str) -> None:
        try:
            self.mpis[name] = mpi_peers.MpiPeer(name, self.ranks, self.cpus)
        except mpi_peers.PeerError as error:
            print(f"collectives: {error}", file=sys.stderr)

    def sample(self, point: Point, subject: str, seed: int, calls: int, cap_ms: float) -> dict[str, Any]:
        """One sample; a system that died is started again for the next one."""
        name, _, algorithm = subject.partition(":")
        count = calls or calls_for(point)
        try:
            if name == "phicoll":
                return self.phicoll.run(
                    point.operation, point.size, count, point.definition, point.buffers,
                    algorithm=algorithm or "auto", cap_ms=cap_ms, seed=seed,
                )  # fmt: skip
            if name not in self.mpis:
                return {"error": "did not start"}
            found = self.mpis[name].run(
                MPI_NAMES[point.operation], point.size, count, point.definition, point.buffers,
                cap_ms=cap_ms, seed=seed, offset=64 * (seed % 64),
            )  # fmt: skip
            return {k: found[k] for k in ("ns", "calls", "capped", "verified")}
        except (PeerError, mpi_peers.PeerError) as error:
            if name == "phicoll" and self.phicoll.failed is not None:
                self.phicoll = PhicollPeer(self.ranks, self.cpus, kind=self.kind)
            elif name in self.mpis and self.mpis[name].failed is not None:
                self.start_mpi(name)
            return {"error": str(error)}

    def probe(self, point: Point, seed: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            found = self.phicoll.probe(seed)
            if point.size >= LEAST_COPY_BYTES:
                copy = self.phicoll.copy(point.operation, point.size, point.buffers, seed)
                found |= {name: copy[name] for name in ("private_ns", "heap_ns", "ways")}
        except PeerError as error:
            print(f"collectives: {error}", file=sys.stderr)
        return found

    def close(self) -> None:
        for peer in (self.phicoll, *self.mpis.values()):
            peer.close()


def calls_for(point: Point) -> int:
    """Many of small messages, few of large ones; a window's calls are stamped one by one."""
    most = 32 if point.definition == "window" else 1000
    return max(4, min(most, (4 << 20) // max(1, point.size * point.ranks)))


def take(
    points: Sequence[Point],
    subjects: Sequence[str],
    *,
    beside: Callable[[Point], Sequence[str]] = lambda point: (),
    cpus: Sequence[int],
    rounds: int,
    launches: int = 1,
    seed: int = 1,
    calls: int = 0,
    cap_ms: float = 20.0,
    kind: str = "processes",
    seconds: float = math.inf,
    out: Path | None = None,
) -> Taken:
    """Measures `launches` x `rounds` rounds of all points, fewer where `seconds` are over; a round that began is
    finished. `beside`: more subjects at some points."""
    taken = Taken()
    draw = random.Random(seed)
    started = time.monotonic()
    mpis = [name for name in dict.fromkeys(s.partition(":")[0] for s in subjects) if name != "phicoll"]
    counts = sorted({point.ranks for point in points})
    stream = out.open("a") if out is not None else None

    def note(record: dict[str, Any]) -> None:
        taken.add(record)
        if stream is not None:
            stream.write(json.dumps(record) + "\n")
            stream.flush()

    try:
        parts = launches * len(counts)
        done = 0
        for launch in range(launches):
            for ranks in draw.sample(counts, len(counts)):
                # An equal share of the time that is left for each part that is left.
                share = (seconds - (time.monotonic() - started)) / (parts - done)
                end = time.monotonic() + share
                done += 1
                mine = [point for point in points if point.ranks == ranks]
                field_ = Field(ranks, cpus, mpis, kind)
                try:
                    for turn in range(rounds):
                        if turn >= 2 and time.monotonic() > end:
                            break
                        for point in draw.sample(mine, len(mine)):
                            base = {"point": asdict(point), "launch": launch, "round": turn}
                            note({**base, "probe": field_.probe(point, draw.randrange(1 << 32))})
                            turn_of = [*subjects, *beside(point)]
                            for subject in draw.sample(turn_of, len(turn_of)):
                                if (point, subject) in taken.failed:
                                    continue
                                found = field_.sample(point, subject, draw.randrange(1 << 32), calls, cap_ms)
                                if "ns" not in found:
                                    print(
                                        f"collectives: {point.title()}, {point.size} B: {found['error']}",
                                        file=sys.stderr,
                                    )
                                note({**base, "subject": subject, **found})
                finally:
                    field_.close()
    finally:
        if stream is not None:
            stream.close()
    return taken


# What the rounds say.


@dataclass(frozen=True)
class Ratio:
    """Time over time within rounds: median and interval, at `confidence`."""

    median: float
    low: float
    high: float
    rounds: int
    enough: bool

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.low:.2f}, {self.high:.2f}]" + ("" if self.enough else "?")


@dataclass
class Row:
    """One point: phicoll against the best of the others."""

    point: Point
    subject: str
    ns: float
    opponent: str | None = None
    opponent_ns: float | None = None
    logs: list[float] = field(default_factory=list)
    ratio: Ratio | None = None
    lines: float | None = None
    copy_share: float | None = None
    heap_share: float | None = None
    effective: str = ""

    @property
    def verdict(self) -> str:
        if self.ratio is None:
            return "-"
        if self.ratio.high <= 1.03:
            return "not slower"
        return "slower" if self.ratio.low > 1.03 else "unresolved"


def split(rounds: Iterable[Round]) -> tuple[list[Round], list[Round]]:
    """Odd and even ones by their position: launches may have an odd number each."""
    ordered = sorted(rounds)
    return ordered[1::2], ordered[0::2]


def log_ratios(over: dict[Round, float], under: dict[Round, float], rounds: Iterable[Round]) -> list[float]:
    return [math.log(over[at] / under[at]) for at in rounds if at in over and at in under]


def best_of(by: dict[str, dict[Round, float]], rounds: Sequence[Round]) -> str | None:
    """The one with the lowest median over these rounds."""
    medians = {
        name: statistics.median(values[at] for at in rounds if at in values)
        for name, values in by.items()
        if any(at in values for at in rounds)
    }
    return min(medians, key=lambda name: medians[name]) if medians else None


def rows_of(taken: Taken, subject: str = "phicoll") -> list[Row]:
    """A row a point that the subject was measured at; intervals hold together over the table."""
    rows = []
    for point in sorted(taken.ns):
        mine = taken.ns[point].get(subject)
        median = taken.median(point, subject)
        if mine is None or median is None:
            continue
        row = Row(point, subject, median, effective=taken.effective.get((point, subject), ""))
        others = {
            s: by
            for s, by in taken.ns[point].items()
            if not s.startswith("phicoll") and (point, s) not in taken.wrong
        }
        odd, even = split(mine)
        row.opponent = best_of(others, odd or even)
        if row.opponent is not None:
            row.opponent_ns = taken.median(point, row.opponent)
            row.logs = log_ratios(mine, others[row.opponent], even)
        row.lines = middle(mine, taken.line_ns.get(point))
        row.copy_share = inverse(middle(mine, taken.copy_ns.get(point)))
        row.heap_share = inverse(middle(mine, taken.heap_ns.get(point)))
        rows.append(row)
    judge(rows)
    return rows


def versus(taken: Taken, subject: str, opponent: str) -> list[Row]:
    """A row a point that has both."""
    rows = []
    for point in sorted(taken.ns):
        by = taken.ns[point]
        median, other = taken.median(point, subject), taken.median(point, opponent)
        if median is None or other is None:
            continue
        row = Row(
            point, subject, median, opponent, other, effective=taken.effective.get((point, subject), "")
        )
        row.logs = log_ratios(by[subject], by[opponent], by[subject])
        row.lines = middle(by[subject], taken.line_ns.get(point))
        rows.append(row)
    judge(rows)
    return rows


def inverse(value: float | None) -> float | None:
    return 1 / value if value else None


def middle(over: dict[Round, float], under: dict[Round, float] | None) -> float | None:
    """The median ratio over the rounds that have both."""
    logs = log_ratios(over, under, over) if under else []
    return math.exp(statistics.median(logs)) if logs else None


def judge(rows: Sequence[Row]) -> None:
    """Intervals of all rows at levels after Holm."""
    import numpy as np

    from phicoll import _core
    from phicoll.compare.best import holm_levels
    from phicoll.compare.units import CONFIDENCE, estimate

    with_logs = [row for row in rows if row.logs]
    levels, _ = holm_levels([float(_core.sign_test(np.array(row.logs))) for row in with_logs], CONFIDENCE)
    for row, level in zip(with_logs, levels, strict=True):
        found = estimate(np.array(row.logs), level)
        row.ratio = Ratio(
            math.exp(found.median), math.exp(found.low), math.exp(found.high), len(row.logs), found.enough
        )


def geomean_speed(rows: Iterable[Row]) -> tuple[float, int] | None:
    """Geometric mean of the best other's time over ours, and of how many points."""
    logs = [-math.log(row.ratio.median) for row in rows if row.ratio is not None]
    return (math.exp(statistics.fmean(logs)), len(logs)) if logs else None


#: Operation, and operations that together do at least the same, each with its size over the operation's: 1, or the
#: number of ranks (p) or its inverse.
COMPOSITIONS = (
    ("broadcast", (("allgather", "1"),)),
    ("broadcast", (("scatter", "1/p"), ("allgather", "1/p"))),
    ("reduce", (("allreduce", "1"),)),
    ("reduce", (("reduce_scatter", "1/p"), ("gather", "1/p"))),
    ("allreduce", (("reduce", "1"), ("broadcast", "1"))),
    ("allreduce", (("reduce_scatter", "1/p"), ("allgather", "1/p"))),
    ("gather", (("allgather", "1"),)),
    ("scatter", (("alltoall", "1"),)),
    ("scatter", (("broadcast", "p"),)),
    ("allgather", (("alltoall", "1"),)),
    ("allgather", (("gather", "1"), ("broadcast", "p"))),
    ("reduce_scatter", (("reduce", "p"), ("scatter", "1"))),
    ("reduce_scatter", (("allreduce", "p"),)),
)


def scaled(size: int, factor: str, ranks: int) -> int:
    return size * ranks if factor == "p" else size // ranks if factor == "1/p" else size


def compositions(taken: Taken, subject: str = "phicoll") -> list[Row]:
    """Each operation against its composition from others, in the same rounds; `opponent` names the parts."""
    rows = []
    for point in sorted(taken.ns):
        mine = taken.ns[point].get(subject)
        median = taken.median(point, subject)
        for operation, parts in COMPOSITIONS:
            if operation != point.operation or mine is None or median is None:
                continue
            of_parts = [
                taken.ns.get(
                    replace(point, operation=part, size=scaled(point.size, factor, point.ranks)), {}
                ).get(subject)
                for part, factor in parts
            ]
            if any(values is None for values in of_parts):
                continue
            total = {
                at: sum(v[at] for v in of_parts if v) for at in mine if all(v and at in v for v in of_parts)
            }
            words = " + ".join(part if factor == "1" else f"{part} ({factor})" for part, factor in parts)
            row = Row(point, subject, median, words)
            row.opponent_ns = statistics.median(total.values()) if total else None
            row.logs = log_ratios(mine, total, mine)
            rows.append(row)
    judge(rows)
    return rows
