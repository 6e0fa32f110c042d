"""The papers' claims with their verdicts."""

from __future__ import annotations

from phicoll.foundations.markup import Html, fill, join
from phicoll.papers.claims import (
    CANNOT,
    ELSEWHERE,
    FAILS,
    HOLDS,
    UNRESOLVED,
    WAITING,
    Finding,
    in_words,
    tally,
)
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.html import details, paragraph

TITLE = "The papers’ claims, checked"
ANCHOR = "claims"

CLASSES = {HOLDS: "holds", FAILS: "fails", ELSEWHERE: "elsewhere", UNRESOLVED: "open", CANNOT: "cannot"}


def body(evidence: Evidence) -> Html:
    if not evidence.findings:
        return Html()
    chips = join(
        " ",
        (
            fill('<span class="verdict {}">{}</span>', CLASSES[v], in_words(v, count))
            for v, count in tally(evidence.findings).items()
        ),
    )
    intro = paragraph(
        "The papers’ statements in our own words. What is measured is measured on this machine, which is not the papers’: “does not carry "
        "over” says nothing about their own."
    )
    intro += paragraph(chips)
    exact = [finding for finding in evidence.findings if finding.how == "counted"]
    native = [finding for finding in evidence.findings if finding.how != "counted"]
    parts = [intro]
    if native:
        parts.append(Html("<h3>Measured on this machine</h3>") + join("", map(card, native)))
    if exact:
        parts.append(Html("<h3>Counted, exact for any machine</h3>") + join("", map(card, exact)))
    parts.append(waiting())
    return join("", parts)


def card(finding: Finding) -> Html:
    """A claim with its verdict; the evidence where it was measured or is against the claim."""
    claim = finding.claim
    evidence = Html()
    if finding.how != "counted" or finding.verdict != HOLDS:
        evidence = paragraph(finding.measured, "small")
    title = ". ".join(words for words in (f"Stated for: {claim.conditions}", finding.under) if words)
    return fill(
        '<div class="claim {kind}" id="claim-{number}" title="{title}"><p><span class="number">{number}</span> '
        '{statement} <span class="verdict">{verdict}</span></p>{evidence}</div>',
        kind=CLASSES[finding.verdict],
        number=claim.number,
        title=title,
        statement=claim.statement,
        verdict=finding.verdict,
        evidence=evidence,
    )


def waiting() -> Html:
    """The other statements on barriers, by what it would take to check them."""
    total = sum(len(numbers) for _, numbers in WAITING)
    listed = join("", (fill("<li>{} need {}</li>", len(numbers), why) for why, numbers in WAITING))
    return details(f"{total} more statements on barriers cannot be checked here", fill("<ul>{}</ul>", listed))
