"""Operations that move data, over sizes, between processes."""

from __future__ import annotations

from phicoll.report.evidence import Evidence
from phicoll.report.figures import figures
from phicoll.report.html import code, figure, number, paragraph
from phicoll.report.parts import Part
from phicoll.report.sections.common import made, raw

TITLE = "Broadcast and allreduce"
ANCHOR = "data"


def body(evidence: Evidence) -> str:
    if not evidence.data:
        return ""
    text = paragraph(
        "Between processes, back to back, with buffers freshly written. The size is what the root sends, or each rank contributes. "
        + " ".join(map(auto_words, evidence.data))
    )
    drawn = figure(
        "data",
        figures(evidence)["data"](),
        "Median time of a call with its 95 % interval. More processes than CPUs share them.",
        "Broadcast and allreduce over sizes",
        made("data", evidence),
        raw(evidence),
    )
    return text + drawn


def auto_words(part: Part) -> str:
    """Where something faster than ``auto`` was resolved."""
    found = [
        (row.ratio_to_best, row.subject)
        for row in part.comparison
        if row.subject.algorithm == "auto" and row.ratio_to_best
    ]
    slower = [(ratio.median, subject) for ratio, subject in found if ratio.resolved and ratio.median > 1]
    words = (
        f"A faster {part.operation} than {code('auto')} is resolved at {len(slower)} of {len(found)} points"
    )
    if slower:
        most, subject = max(slower, key=lambda pair: pair[0])
        words += f", of {number(most)} times at most ({subject.data}, {subject.ranks} processes)"
    return words + "."
