"""Definitions of words and units."""

from __future__ import annotations

from phicoll.foundations.markup import Html
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.html import facts, number

TITLE = "How it was measured"
ANCHOR = "method"


def body(evidence: Evidence) -> Html:
    empties = [r["empty_ns"] for r in evidence.results.rounds if r.get("empty_ns") is not None]
    empty = f" (here {number(sorted(empties)[len(empties) // 2])} ns a turn)" if empties else ""
    items = (
        ("Loop (back to back)", f"The slowest rank’s mean time of a call, less that of an empty loop{empty}."),
        ("Window (common start)", "Single calls. Each rank enters up to 1 µs after an agreed start; from the last entry to the last exit, the mean of "
                                  "the middle half of the calls."),
        ("Lines", "One line: moving a cache line one way between two CPUs, by a ping-pong in the same round."),
        ("Switches", "One switch: two ranks of a CPU hand over a word by yielding, in the same round; the unit where ranks share CPUs."),
        ("Hand-written reference", "A loop for one case, without checks. Where there are two, the better is chosen on odd rounds and used on even "
                                   "ones."),
        ("Round, place, launch", "A round visits every subject in random order at one place of memory. A launch starts new threads and processes."),
        ("Intervals", "Exact, from order statistics; ratios within rounds, by the sign test, corrected after Holm. The unit is the round, or the "
                      "launch’s median where launches differ. Nothing is dropped."),
        ("Not resolved", "The interval of a ratio contains 1, which does not say that two are equal."),
    )  # fmt: skip
    return facts(items)
