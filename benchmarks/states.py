"""The states of a machine that is not always the same.

The CPUs of a virtual machine move. While two of them share a cache a line between them costs little, and while they do
not it costs several times as much, and whole collectives with it. The probe of each round tells which it was.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from points import Point, Round, Taken

#: There are two states if a line costs this many times as much in a tenth of the rounds as in another tenth.
APART = 2.0


@dataclass(frozen=True)
class State:
    """The rounds of one state: the time of a line (ns, one way), their share of all rounds, and their
    samples."""

    name: str
    line_ns: float
    share: float
    taken: Taken


def border_of(taken: Taken) -> float | None:
    """The time of a line that divides near from far; none where it costs about the same in all rounds."""
    values = sorted(ns for by in taken.line_ns.values() for ns in by.values())
    if len(values) < 10:
        return None
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    return math.sqrt(low * high) if high >= APART * low else None


def is_near(taken: Taken, border: float | None, point: Point, at: Round) -> bool | None:
    """Whether a round was near; none if there is one state, or if the ranks share CPUs, which have no line."""
    line = taken.line_ns.get(point, {}).get(at)
    return None if border is None or line is None else line < border


def states(taken: Taken) -> list[State]:
    """Near and far; none where there is one state. Points whose ranks share CPUs belong to neither."""
    border = border_of(taken)
    if border is None:
        return []
    values = [ns for by in taken.line_ns.values() for ns in by.values()]
    found = []
    for name, near in (("near", True), ("far", False)):
        of = [v for v in values if (v < border) == near]
        part = taken.where(lambda point, at, near=near: is_near(taken, border, point, at) is near)
        found.append(State(name, statistics.median(of), len(of) / len(values), part))
    return found
