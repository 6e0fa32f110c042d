"""The points to measure, and their samples."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 30  # of all buffers of all ranks

Round = tuple[int, int]  # launch, round


@dataclass(frozen=True, order=True)
class Point:
    """A call: `size` is the bytes of the count argument."""

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
            "reduce_scatter_block": p * p * n + p * n,
        }[self.operation]  # fmt: skip

    @property
    def setting(self) -> tuple[str, int, str, str]:
        """All but the size: the key of a table or a curve."""
        return (self.operation, self.ranks, self.definition, self.buffers)

    def title(self) -> str:
        return f"{self.operation}, {self.ranks} ranks, {self.definition}, {self.buffers}"

    def __str__(self) -> str:
        return f"{self.title()}, {size_text(self.size)}"


def size_text(size: int) -> str:
    for shift, unit in ((20, "M"), (10, "K")):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


@dataclass
class Taken:
    """The samples of a run. `ns[point][subject][round]`; probes by point and round."""

    ns: dict[Point, dict[str, dict[Round, float]]] = field(default_factory=dict)
    line_ns: dict[Point, dict[Round, float]] = field(default_factory=dict)
    #: Of bare loops with stamps: what each rank's copies into rings took in a call, and those out of them, last seen.
    copies: dict[tuple[Point, str], tuple[list[float], list[float]]] = field(default_factory=dict)
    effective: dict[tuple[Point, str], str] = field(default_factory=dict)
    #: Who was asked for a sample where, whatever came of it.
    asked: set[tuple[Point, str]] = field(default_factory=set)
    wrong: set[tuple[Point, str]] = field(default_factory=set)
    failed: dict[tuple[Point, str], str] = field(default_factory=dict)
    #: By subject, operation and ranks: the size from which on it takes no further part, and why.
    dropped: dict[tuple[str, str, int], tuple[int, str]] = field(default_factory=dict)
    #: The reasons that kept systems out of whole launches.
    notes: list[str] = field(default_factory=list)
    #: What each system says of itself: its library, its settings.
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Why the run ended, if not because all rounds were done.
    ended: str = ""
    #: The settings and the machine, as the file's writer noted them when it began; none in older files.
    made: dict[str, Any] = field(default_factory=dict)
    #: The host's numbers that phicoll had, in words, and at how many starts and ends of launches.
    numbers: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Taken:
        """From a file of samples; a last line that was cut short is left out."""
        taken = cls()
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                taken.add(json.loads(line))
        return taken

    def few(self, point: Point, subject: str) -> int:
        """The number of rounds in which a system took part there, if that is less than half of any other's;
        else 0."""
        count, most = len(self.ns[point].get(subject, {})), max(map(len, self.ns[point].values()))
        return count if 2 * count < most else 0

    def add(self, record: dict[str, Any]) -> None:
        if "facts" in record:
            self.facts[record["system"]] = record["facts"]
            return
        if "note" in record:
            self.notes.append(record["note"])
            return
        if "made" in record:
            self.made = record["made"]
            return
        if "ended" in record:
            self.ended = record["ended"]
            return
        if "numbers" in record:
            self.numbers[record["numbers"]] = self.numbers.get(record["numbers"], 0) + 1
            return
        point = Point(**record["point"])
        at = (record["launch"], record["round"])
        if "probe" in record:
            # Where ranks share CPUs, times in lines say nothing.
            if record["probe"].get("pingpong_ns") and not record["probe"].get("switch_ns"):
                self.line_ns.setdefault(point, {})[at] = record["probe"]["pingpong_ns"]
            return
        subject = record["subject"]
        self.asked.add((point, subject))
        if "error" in record and "ns" not in record:
            self._leave_out(point, subject, record["error"], bool(record.get("timeout")))
            return
        if not record["verified"]:
            self.wrong.add((point, subject))
        # If the machine's speed changes between the writes alone and the loop, their difference may be zero or less.
        if record["ns"] > 0:
            self.ns.setdefault(point, {}).setdefault(subject, {})[at] = record["ns"]
        if "store_ns" in record:
            self.copies[point, subject] = (record["store_ns"], record["load_ns"])
        if record.get("effective"):
            self.effective[point, subject] = record["effective"]

    def _leave_out(self, point: Point, subject: str, error: str, timeout: bool) -> None:
        """A system that refuses or dies is out at that point; one that is too slow is out from that size
        on."""
        if not timeout:
            self.failed[point, subject] = error
            return
        key = (subject, point.operation, point.ranks)
        if key not in self.dropped or point.size < self.dropped[key][0]:
            self.dropped[key] = (point.size, error)

    def is_out(self, point: Point, subject: str) -> bool:
        """Whether the subject is out at a point."""
        size, _ = self.dropped.get((subject, point.operation, point.ranks), (1 << 62, ""))
        return (point, subject) in self.failed or point.size >= size

    def reached(self, point: Point, subjects: Iterable[str]) -> bool:
        """Whether all of the subjects were asked there, but for those that are out."""
        return all((point, s) in self.asked or self.is_out(point, s) for s in subjects)

    def out_at(self, point: Point) -> list[str]:
        """The subjects that are out at a point."""
        names = {s for s, _, _ in self.dropped} | {s for _, s in self.failed}
        return sorted(s for s in names if self.is_out(point, s))

    def where(self, keep: Callable[[Point, Round], bool]) -> Taken:
        """A copy with the samples of some rounds only."""
        ns: dict[Point, dict[str, dict[Round, float]]] = {}
        for point, by in self.ns.items():
            for subject, values in by.items():
                if kept := {at: v for at, v in values.items() if keep(point, at)}:
                    ns.setdefault(point, {})[subject] = kept
        return replace(self, ns=ns)

    def median(self, point: Point, subject: str) -> float | None:
        values = self.ns.get(point, {}).get(subject)
        return statistics.median(values.values()) if values and (point, subject) not in self.wrong else None

    def subjects(self) -> list[str]:
        """phicoll's first."""
        return sorted(
            {s for by in self.ns.values() for s in by}, key=lambda s: (not s.startswith("phicoll"), s)
        )
