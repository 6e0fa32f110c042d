"""Over places and launches: threads against processes, and what an address changes."""

from __future__ import annotations

from phicoll.report.evidence import Evidence
from phicoll.report.figures import figures
from phicoll.report.html import figure, paragraph
from phicoll.report.parts import PLACES, Part
from phicoll.report.sections.common import made, place_of, raw, where

TITLE = "Places and launches"
ANCHOR = "places"


def visits(part: Part) -> str:
    """How many rounds, each at a place, and how many launches."""
    assert part.results is not None
    rounds = {(r.get("run"), r["launch"], r["round"]) for r in part.results.rounds}
    return f"{len(rounds)} rounds at {len({r.get('place') for r in part.results.rounds})} places in {len({r[:2] for r in rounds})} launches"


def body(evidence: Evidence) -> str:
    known = figures(evidence)
    parts = []
    if evidence.mains:
        parts.append(
            paragraph(
                "A time depends on where the flags happen to lie, and on the launch: new threads or processes, new pages. Every round "
                "therefore moves all barriers and probes to another place, and every launch starts anew. Threads and processes run the same "
                "code; where their curves coincide they are equally fast."
            )
        )
    for part in evidence.mains:
        name = f"modes-{part.ranks}"
        parts.append(
            figure(
                name,
                known[name](),
                f"{where(part)}, {visits(part)}: the share of rounds up to a time, in {place_of(part)} of the same round, for the three fastest. Ticks under the "
                "curves are the medians of the launches. Each axis shows the middle of the values; the rest of a curve up to 100 % lies beyond it.",
                "Cumulative distributions of threads and processes",
                made(name, part),
                raw(part),
            )
        )
    places = evidence.one(PLACES)
    if places is not None and "places" in known:
        parts.append(
            figure(
                "places",
                known["places"](),
                "One launch that visits the same places again and again. Where the points of a place stay together and differ from those of "
                'its neighbours, the address decides. For the verdict see claims <a href="#claim-001-24">001-24</a> and '
                '<a href="#claim-001-25">001-25</a>.',
                "Times by place, each place visited several times",
                made("places", places),
                raw(places),
            )
        )
    return "".join(parts)
