"""The papers' claims with their verdicts."""

from __future__ import annotations

from phicoll.papers.claims import CANNOT, ELSEWHERE, FAILS, HOLDS, UNRESOLVED, WAITING, Finding, tally
from phicoll.report.evidence import Evidence
from phicoll.report.html import details, paragraph, table, text

TITLE = "The papers’ claims, checked"
ANCHOR = "claims"

CLASSES = {HOLDS: "holds", FAILS: "fails", ELSEWHERE: "elsewhere", UNRESOLVED: "open", CANNOT: "cannot"}
HOW = {
    "counted": "Counted exactly, on the counting port",
    "measured": "Measured in this run",
    "none": "Not measured",
}


def body(evidence: Evidence) -> str:
    if not evidence.findings:
        return ""
    plural = {HOLDS: "hold", FAILS: "do not hold", ELSEWHERE: "do not carry over"}
    chips = " ".join(
        f'<span class="verdict {CLASSES[v]}">{count} {v if count == 1 else plural.get(v, v)}</span>'
        for v, count in tally(evidence.findings).items()
    )
    intro = paragraph(
        "Statements of the papers in our own words, each with its number. Numbers of rounds and messages are checked exactly. What is measured "
        "here is measured on this machine, which is not the papers’: “does not carry over” says nothing about the paper’s own."
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
    claim = finding.claim
    under = f"Checked for: {text(finding.under)}." if finding.under else ""
    return (
        f'<div class="claim {CLASSES[finding.verdict]}" id="claim-{claim.number}"><p class="head"><span class="number">{claim.number}</span>'
        f'<span class="verdict">{finding.verdict}</span><span class="small">{text(claim.paper)}</span></p>'
        f'<p>{text(claim.statement)}</p><p class="small">Stated for: {text(claim.conditions)}. {under}</p>'
        f'<p class="small"><b>{HOW[finding.how]}.</b> {text(finding.measured)}</p></div>'
    )


def waiting() -> str:
    """The other statements on barriers, by what it would take to check them."""
    rows = [[str(len(numbers)), text(why), text(", ".join(numbers))] for why, numbers in WAITING]
    total = sum(len(numbers) for _, numbers in WAITING)
    listed = table(["claims", "need", "numbers"], rows, left=(1, 2)).replace(
        "<table>", '<table class="text">'
    )
    return details(f"{total} more statements on barriers cannot be checked here, and why", listed)
