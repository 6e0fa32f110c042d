"""The first screen: a figure and five lines made from the run's numbers."""

from __future__ import annotations

from phicoll.foundations.markup import Html, code, fill, join
from phicoll.papers.claims import report
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.figures import figures
from phicoll.report.material.html import bullets, duration, figure, number
from phicoll.report.material.parts import Part
from phicoll.report.material.ratios import hand_written_of
from phicoll.report.sections.common import made, times, where
from phicoll.results.compare import Row
from phicoll.results.reading.subject import size_text

TITLE = "In short"
ANCHOR = "short"


def body(evidence: Evidence) -> Html:
    points = [] if evidence.mains else [Html("<b>Nothing was measured and verified.</b>")]
    points += [barrier_point(part) for part in evidence.mains[:1] + evidence.mains[1:][-1:]]
    points += [data_point(evidence.data), claims_point(), trust_point(evidence)]
    known = figures(evidence)
    drawn = Html()
    if "overview" in known:
        drawn = figure(
            "overview",
            known["overview"](),
            "Green: phicoll’s fastest; grey: written by hand; brown: the best of other systems.",
            "The fastest barriers, and data over sizes",
            made("overview", evidence),
        )
    return drawn + bullets(points)


def barrier_point(part: Part) -> Html:
    """The fastest barrier back to back, beside the hand-written reference and other systems."""
    setting = next(iter(part.settings.values()))
    tied = setting.tied()
    if tied is None:
        return Html()
    best, _ = tied
    assert best.time is not None
    words = fill("<b>{}, {}.</b> The fastest barrier is ", where(part), setting.mode)
    words += fill("{}: {} a call", code(best.name), duration(best.time.median))
    hand = hand_written_of(setting)
    if hand and best.subject in hand.ratios:
        ratio = times(hand.ratios[best.subject])
        words += fill(", {} as long as the hand-written reference, {}", ratio, code(hand.name))
    lead = setting.lead()
    if lead is not None:
        words += fill(". The best of other systems, {}, takes {} as long", code(lead.ours), times(lead))
        words += ": not resolved" if lead.low <= 1 <= lead.high else ""
    return words + "."


def data_point(parts: list[Part]) -> Html:
    """What ``auto`` takes for the smallest and the largest size between the fewest processes."""
    found, fewest = [], 0
    for part in parts:
        fewest = min(row.subject.ranks for row in part.comparison)
        rows = [
            r
            for r in part.comparison
            if r.subject.ranks == fewest and r.subject.algorithm == "auto" and r.time
        ]
        rows.sort(key=lambda row: row.subject.size_bytes)
        if rows:
            article = "an" if part.operation[0] in "aeiou" else "a"
            found.append(f"for {article} {part.operation} {at_size(rows[0])} and {at_size(rows[-1])}")
    if not found:
        return Html()
    return fill("<b>Data, {} processes.</b> {} takes {}.", fewest, code("auto"), "; ".join(found))


def at_size(row: Row) -> str:
    assert row.time is not None
    words = f"of {size_text(row.subject.size_bytes)} {duration(row.time.median)}"
    rate = row.gigabytes_a_second
    return words + (f" ({number(rate)} GB/s)" if rate and row.subject.size_bytes >= 1 << 16 else "")


def claims_point() -> Html:
    return fill('<b>The papers’ claims.</b> {} (<a href="#claims">each</a>).', report().summary())


def trust_point(evidence: Evidence) -> Html:
    """What a reader has to know before quoting a number."""
    words: list[str] = []
    bad = evidence.results.unverified
    if bad:
        words.append(fill("<b>{} points failed verification</b> and are not counted anywhere.", len(bad)))
    elif evidence.results.points:
        words.append("Every subject was verified before it was timed.")
    load = ((evidence.context.get("host") or {}).get("load") or [0])[0] or 0
    if load > 0.5:
        words.append(f"The machine was not idle: load {load:.1f} when the run began.")
    rounds = evidence.results.rounds
    pings = sorted(r["pingpong_ns"] for r in rounds if r.get("pingpong_ns") and r.get("label") == "remote")
    if pings:
        tenth, ninth = pings[len(pings) // 10], pings[(len(pings) * 9) // 10]
        words.append(
            f"A line took {number(tenth)} to {number(ninth)} ns between two CPUs (middle 80 % of the rounds)."
        )
    same = sum(r.get("label") == "same-core" for r in rounds)
    if same:
        words.append(f"{same} rounds ran on one physical core and are kept separate.")
    return Html("<b>How far to trust it.</b> ") + join(" ", words)
