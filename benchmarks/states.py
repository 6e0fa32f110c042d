"""The states of a machine that is not always the same.

The CPUs of a virtual machine move. While two of them share a cache a line between them costs little, and while they do
not it costs several times as much, and whole collectives with it. The probe of each round tells which it was.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from points import Taken

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


def states(taken: Taken) -> list[State]:
    """Near and far; none where a line costs about the same in all rounds. Points whose ranks share CPUs have no line
    and belong to neither."""
    values = sorted(ns for by in taken.line_ns.values() for ns in by.values())
    if len(values) < 10:
        return []
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    if high < APART * low:
        return []
    border = math.sqrt(low * high)
    found = []
    for name, of in (
        ("near", [v for v in values if v < border]),
        ("far", [v for v in values if v >= border]),
    ):
        part = taken.where(
            lambda point, at, near=name == "near": (
                (line := taken.line_ns.get(point, {}).get(at)) is not None and (line < border) == near
            )
        )
        found.append(State(name, statistics.median(of), len(of) / len(values), part))
    return found
