"""Definitions of words and units."""

from __future__ import annotations

from phicoll.report.evidence import Evidence
from phicoll.report.html import number

TITLE = "How it was measured"
ANCHOR = "method"


def body(evidence: Evidence) -> str:
    empties = [r["empty_ns"] for r in evidence.results.rounds if r.get("empty_ns") is not None]
    empty = f" (here {number(sorted(empties)[len(empties) // 2])} ns a turn)" if empties else ""
    items = (
        ("Loop", f"Back-to-back calls. The value is the slowest rank’s mean time of a call, less that of an empty loop{empty}."),
        ("Window", "Single calls. All ranks agree on a start and each waits a random time of up to 1 µs beyond it; a call lasts from the last entry "
                   "to the last exit, on one clock. The value of a sample is the mean of the middle half of its calls."),
        ("Lines", "One line is the time to move one cache line one way between two CPUs, by a ping-pong without pause in the same round. Ratios "
                  "to it carry over between moments, and to some extent between machines, where nanoseconds do not."),
        ("Switches", "One switch is the time in which two ranks of one CPU hand over a word by yielding, in the same round. It is the unit where "
                     "ranks share CPUs."),
        ("Hand-written reference", "Loops for one case, without checks: two flags in one line or in two lines; for ranks that share CPUs, a counter for each CPU before the "
                  "CPUs meet, or flat flags, those of the own CPU first. Where there are two, the better one is chosen on odd rounds and used on even ones. A barrier may be faster."),
        ("Round, place, launch", "A round visits every barrier and reference in a random order, after the probes, at one seeded place of memory. A "
                                 "launch starts new threads and processes."),
        ("Intervals", "Medians with exact intervals from order statistics; ratios are medians of log ratios within rounds with the sign test’s interval, "
                      "corrected after Holm over the rows of a table. The unit is the round, or the launch’s median where launches differ. Nothing is "
                      "dropped as an outlier. A question mark: too few units for 95 %, so the whole range is shown."),
        ("Not resolved", "The interval of a ratio contains 1. It does not say that two barriers are equal."),
        ("Waiting", "The default policy spins, pauses, yields and sleeps in turn, and yields at once to a rank on its own CPU. Ranks are pinned."),
        ("Buffers", "Flags are warm: they stay where the last call left them."),
    )  # fmt: skip
    return (
        '<dl class="facts">' + "".join(f"<dt>{name}</dt><dd>{words}</dd>" for name, words in items) + "</dl>"
    )
