"""More ranks than CPUs: the unit is a switch."""

from __future__ import annotations

from phicoll.report.evidence import Evidence, crowded
from phicoll.report.html import number, paragraph
from phicoll.report.ratios import hand_written_of
from phicoll.report.sections.common import where
from phicoll.report.sections.limit import one

TITLE = "More ranks than CPUs"
ANCHOR = "crowd"


def body(evidence: Evidence) -> str:
    parts = [part for part in evidence.mains if crowded(part)]
    if not parts:
        return ""
    text = paragraph(
        "Where ranks share a CPU, the cost of a barrier is switches: each rank has to get the CPU once before the last one can know that "
        "all have arrived. With p ranks on c CPUs that takes at least p/c - 1 switches on every CPU. One switch is the time in which two "
        "ranks of one CPU hand over a word by yielding, measured in every round. A barrier whose ranks wait for particular other ranks, "
        "in several rounds, needs the right rank to run next; a barrier that counts arrivals can take them in any order."
    )
    for part in parts:
        assert part.results is not None
        cpus = len({cpu for point in part.results.points for cpu in point.get("cpus") or []})
        least = part.ranks / cpus - 1
        loop = next((s for (d, m), s in part.settings.items() if d == "loop"), None)
        hand = hand_written_of(loop) if loop else None
        if loop and hand:
            row = loop.rows[hand.subject]
            if row.switches is not None:
                text += paragraph(
                    f"{where(part)}: at least {number(least)} switches. The best hand-written loop, <code>{hand.name}</code>, takes "
                    f"{number(row.switches.median)}, {number(row.switches.median / least)} times that."
                )
        text += one(evidence, part)
    return text
