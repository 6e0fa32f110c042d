"""The machine over the time of the run."""

from __future__ import annotations

from phicoll.report.evidence import Evidence
from phicoll.report.figures import figures
from phicoll.report.html import figure, number, paragraph
from phicoll.report.levels import find_levels
from phicoll.report.sections.common import made

TITLE = "The machine during the run"
ANCHOR = "probes"


def body(evidence: Evidence) -> str:
    known = figures(evidence)
    if "probes" not in known:
        return ""
    same = sum(record.get("label") == "same-core" for record in evidence.results.rounds)
    text = paragraph(
        "The cost of moving a line between two CPUs is not a constant: on a virtual machine it can jump within seconds, and at times two "
        "virtual CPUs run on one physical core. So every round measures it again, and ratios are taken within rounds. "
        + (f"{same} of {len(evidence.results.rounds)} rounds were same-core; they are shaded and summarised separately."
           if same else "In this run no round was labelled same-core.")
    )  # fmt: skip
    levels = find_levels(
        [
            r["pingpong_ns"]
            for r in evidence.results.rounds
            if r.get("pingpong_ns") and r.get("label") == "remote"
        ]
    )
    if levels is not None:
        text += paragraph(
            f"In this run a line cost <b>{number(levels.low_ns)} ns</b> in {levels.low_share:.0%} of the remote rounds and "
            f"<b>{number(levels.high_ns)} ns</b> in the others, with nothing in between: the host moved the virtual CPUs, or gave them "
            "to others as well. Times in ns from such a run are a mixture; lines and ratios within rounds are not."
        )
    commands = [part.command for part in evidence.parts]
    return text + figure(
        "probes",
        known["probes"](),
        "Probes of every round over the time of each part of the run. Ping-pong: one line, one way, no pause. Read: a dependent chase "
        "through lines that the other CPU just wrote. Switch: one hand-over between two ranks of one CPU by yielding. Rounds in which a read "
        "costs less than eight local L1 hits are same-core, and shaded.",
        "Probes over time",
        [*commands, *made("probes")],
        '<a href="results.jsonl">results.jsonl</a>, records of kind <code>round</code>',
    )
