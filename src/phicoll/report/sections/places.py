"""What varied: the time of a line during the run, and the times at fixed places."""

from __future__ import annotations

from phicoll.foundations.markup import Html, fill
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.figures import figures
from phicoll.report.material.html import figure, number, paragraph
from phicoll.report.material.levels import find_levels
from phicoll.report.sections.common import made, raw

TITLE = "What varied"
ANCHOR = "varied"


def body(evidence: Evidence) -> Html:
    known = figures(evidence)
    text = Html()
    if "probes" in known:
        text += paragraph(
            "On a virtual machine the cost of a line jumps within seconds, and at times two virtual CPUs share a core. Every round measures it "
            "again, and ratios are taken within rounds. " + levels_words(evidence)
        )
        text += figure(
            "probes",
            known["probes"](),
            "Probes of every round. Ping-pong: one line, one way. Read: a chase through lines that the other CPU just wrote. Switch: one "
            "hand-over between two ranks of one CPU. Same-core rounds are shaded.",
            "Probes over time",
            made("probes", evidence),
            raw(evidence),
        )
    if "places" in known:
        text += figure(
            "places",
            known["places"](),
            Html(
                "One launch that visits the same places of memory again and again: where the points of a place stay together, the address "
                'decides (claims <a href="#claim-001-24">001-24</a> and <a href="#claim-001-25">001-25</a>).'
            ),
            "Times by place, each place visited several times",
            made("places", evidence),
            raw(evidence),
        )
    return text


def levels_words(evidence: Evidence) -> Html:
    rounds = evidence.results.rounds
    same = sum(record.get("label") == "same-core" for record in rounds)
    words = Html(f"{same} of {len(rounds):,} rounds were same-core." if same else "No round was same-core.")
    levels = find_levels(
        [r["pingpong_ns"] for r in rounds if r.get("pingpong_ns") and r.get("label") == "remote"]
    )
    if levels is not None:
        words += fill(
            " A line cost <b>{} ns</b> in {:.0%} of the remote rounds and <b>{} ns</b> in the others, with nothing between: "
            "ns from such a run are a mixture, lines and ratios are not.",
            number(levels.low_ns),
            levels.low_share,
            number(levels.high_ns),
        )
    return words
