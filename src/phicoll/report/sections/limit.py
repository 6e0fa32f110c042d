"""Ratios to the hand-written reference where every rank has a CPU: loop and window separately, with intervals."""

from __future__ import annotations

from phicoll.report.evidence import Evidence, crowded
from phicoll.report.figures import figures
from phicoll.report.html import details, figure, paragraph
from phicoll.report.parts import Part
from phicoll.report.sections.common import comparison_table, made, place_of, raw, where

TITLE = "Beside the hand-written reference"
ANCHOR = "reference"


def body(evidence: Evidence) -> str:
    parts = [part for part in evidence.mains if not crowded(part)]
    if not parts:
        return ""
    intro = paragraph(
        "The hand-written reference is a loop for exactly two ranks: one flag for each, nothing checked, nothing configurable. It ran in "
        "the same rounds, at the same places, and everything is given as a multiple of it. "
        "Back to back, the best hand-written loop keeps both flags in one line: the line that brings the partner’s flag is also the "
        "one that a rank stores its next flag to. With time between barriers that advantage is gone."
    )
    return intro + "".join(one(evidence, part) for part in parts)


def one(evidence: Evidence, part: Part) -> str:
    """The figures and tables of one number of ranks."""
    assert part.results is not None
    settings = part.settings
    known = figures(evidence)
    heading = f"<h3>{where(part)}</h3>"
    name = f"reference-{part.ranks}"
    parts = [heading]
    if any(setting.hands for setting in settings.values()):
        parts.append(
            figure(
                name,
                known[name](),
                "Time of a call over that of the hand-written reference in the same rounds, with the exact 95 % interval of the median "
                "ratio (Holm-corrected over the rows). Filled: threads; open: processes; grey: the "
                "hand-written loops. The dashed line is the reference; what is left of it is faster. A number at the right edge is a ratio beyond the axis.",
                "Ratios to the hand-written loop for every barrier, loop and window",
                made(name, part),
                raw(part),
            )
        )
    for definition in ("loop", "window"):
        if not any(key[0] == definition for key in settings):
            continue
        name = f"{definition}-{part.ranks}"
        label = "Back to back (loop)" if definition == "loop" else "From a common start (window)"
        parts.append(
            figure(
                name,
                known[name](),
                f"{label}: every round is a point, in {place_of(part)} of its own round; each round lies at another place of memory. "
                "Median and 95 % interval in black; the medians in ns at the right. “+3 ▸”: three rounds lie beyond the axis.",
                f"Distribution over rounds of every barrier, {definition}",
                made(name, part),
                raw(part),
            )
        )
        parts.append(
            details(f"All numbers, {definition}", comparison_table(evidence, part, settings, definition))
        )
    return "".join(parts)
