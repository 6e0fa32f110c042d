"""The papers' claims with their verdicts."""

from __future__ import annotations

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
from phicoll.report.evidence import Evidence
from phicoll.report.html import details, paragraph, text

TITLE = "The papers’ claims, checked"
ANCHOR = "claims"

CLASSES = {HOLDS: "holds", FAILS: "fails", ELSEWHERE: "elsewhere", UNRESOLVED: "open", CANNOT: "cannot"}


def body(evidence: Evidence) -> str:
    if not evidence.findings:
        return ""
    chips = " ".join(
        f'<span class="verdict {CLASSES[v]}">{in_words(v, count)}</span>'
        for v, count in tally(evidence.findings).items()
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
        parts.append("<h3>Measured on this machine</h3>" + "".join(map(card, native)))
    if exact:
        parts.append("<h3>Counted, exact for any machine</h3>" + "".join(map(card, exact)))
    parts.append(waiting())
    return "".join(parts)


def card(finding: Finding) -> str:
    """A claim with its verdict; the evidence where it was measured or is against the claim."""
    claim = finding.claim
    evidence = ""
    if finding.how != "counted" or finding.verdict != HOLDS:
        evidence = f'<p class="small">{text(finding.measured)}</p>'
    title = ". ".join(words for words in (f"Stated for: {claim.conditions}", finding.under) if words)
    return (
        f'<div class="claim {CLASSES[finding.verdict]}" id="claim-{claim.number}" title="{text(title)}"><p><span class="number">{claim.number}</span> '
        f'{text(claim.statement)} <span class="verdict">{finding.verdict}</span></p>{evidence}</div>'
    )


def waiting() -> str:
    """The other statements on barriers, by what it would take to check them."""
    total = sum(len(numbers) for _, numbers in WAITING)
    listed = "".join(f"<li>{len(numbers)} need {text(why)}</li>" for why, numbers in WAITING)
    return details(f"{total} more statements on barriers cannot be checked here", f"<ul>{listed}</ul>")
