"""Statements about order, judged over seeds. Each seed places lines and starts ranks differently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from phicoll.papers.claims import CALIBRATED, FAILS, HOLDS, UNRESOLVED, Finding, claim

__all__ = ["by_rank", "geomean", "judged", "medians", "spread", "verdict_over"]

SIMULATED = "simulated"

#: Known causes of statements that do not hold; shown only if they do not.
CAUSES = {
    "000-02": "Only the line's own queue grows with its readers here.",
    "000-03": "A further reader waits while the directory locks the line for the owner's answer; the directory's own share is small.",
    "000-08": "A line is locked for the way to its owner and back, so a ring without distance saves most.",
    "001-04": "From 120 threads on, releasing one line to all is nearly all of both times. At 60, one counter goes from core to core 60 times in a row, a "
    "combining tree's in parallel.",
    "001-05": "Above arity 4 cores share a node's counter, and its hand-overs in a row grow faster than levels are saved.",
    "001-09": "Here a look costs siblings only issue slots, and a parked rank asks for its line once; on the card polling seems to cost more.",
    "001-16": "The counter of acknowledgements lies beside the polled flag; with ack = line-per-sender it is 1.15.",
    "001-21": "A sum over all ranks reads a line of each here, which takes far longer than a barrier, so barriers differ by some hundredths of a run.",
    "001-23": "An operation takes one instruction's time here, not its latency, and OpenMP's own work around each loop is not simulated.",
    "004-38": "All ranks read their flags from memory at once, while they wait anyway.",
    "004-41": "Pairs share no queue here that small messages could fill.",
    "004-46": "m goes from 5 to 3 at 26 threads and to 6 at 28, as in the paper, but times vary as much from count to count at one m.",
}


def verdict_over(holds: Sequence[bool]) -> str:
    """HOLDS or FAILS if enough seeds agree (sign test at 95 %), else UNRESOLVED."""
    yes, n = sum(holds), len(holds)
    tail = sum(comb(n, k) for k in range(max(yes, n - yes), n + 1)) / 2**n
    if 2 * tail >= 0.05:
        return UNRESOLVED
    return HOLDS if 2 * yes > n else FAILS


def by_rank(number: str, holds: Sequence[bool], text: str, under: str = "", **values: object) -> Finding:
    """A finding on an order that holds or fails in each seed."""
    seeds = f"{sum(holds)}/{len(holds)} seeds" if len(holds) > 1 else f"{sum(holds)}/1 seed"
    verdict = verdict_over(holds)
    return Finding(claim(number), verdict, f"{text} {seeds}.{cause(number, verdict)}", SIMULATED, under,
                   {"seeds": len(holds), "holding": int(sum(holds)), **values})  # fmt: skip


def judged(
    number: str, good: bool, text: str, under: str = "", *, yes: str = HOLDS, **values: object
) -> Finding:
    """A finding on a number or a shape, with the reading that decides it in the text; ``yes`` is the verdict if ``good``."""
    verdict = yes if good else FAILS
    return Finding(claim(number), verdict, text + cause(number, verdict), SIMULATED, under, values)


def cause(number: str, verdict: str) -> str:
    return f" {CAUSES[number]}" if verdict not in (HOLDS, CALIBRATED) and number in CAUSES else ""


def medians(result: Iterable[Mapping[str, Any]]) -> np.ndarray:
    """The median call of each seed of a barrier's point, in nanoseconds."""
    return np.array([float(np.median(one["times_ns"])) for one in result])


def geomean(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.asarray(np.exp(np.log(values).mean(axis=axis)))


def spread(values: Sequence[float] | np.ndarray) -> float:
    """max / min - 1."""
    return float(np.max(values) / np.min(values) - 1)
