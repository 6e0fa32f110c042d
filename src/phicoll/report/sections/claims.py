"""The papers' claims with their verdicts."""

from __future__ import annotations

from phicoll.foundations.markup import Html, fill, join
from phicoll.papers.claims import (
    BUILT_IN,
    CALIBRATED,
    CANNOT,
    FAILS,
    HOLDS,
    UNRESOLVED,
    Finding,
    StatementRow,
    in_words,
    report,
    tally,
)
from phicoll.report.material.evidence import Evidence
from phicoll.report.material.html import paragraph

TITLE = "The papers’ claims, checked"
ANCHOR = "claims"

CLASSES = {HOLDS: "holds", FAILS: "fails", CALIBRATED: "elsewhere", BUILT_IN: "elsewhere", UNRESOLVED: "open",
           CANNOT: "cannot"}  # fmt: skip


def body(evidence: Evidence) -> Html:
    rows = report()
    chips = join(
        " ",
        (
            fill('<span class="verdict {}">{}</span>', CLASSES[v], in_words(v, count))
            for v, count in tally(row.finding for row in rows).items()
        ),
    )
    intro = paragraph(
        "The papers’ statements in our own words, with the verdicts of phicoll claims: counted, computed, or simulated on the papers’ machines. "
        "What this machine measured stands beside them; it is another one, and decides nothing about theirs."
    )
    here = {finding.claim.number: finding for finding in evidence.findings}
    parts = [intro, paragraph(chips)]
    if here:
        parts.append(
            Html("<h3>Measured on this machine</h3>") + join("", (card(rows[n], here[n]) for n in here))
        )
    counted = [row for row in rows if row.finding.how == "counted" and row.number not in here]
    parts.append(Html("<h3>Counted, exact for any machine</h3>") + join("", map(card, counted)))
    others = len(rows) - len(here) - len(counted)
    parts.append(
        paragraph(
            fill("{} more statements need no run here: <code>phicoll claims --html</code> shows all.", others)
        )
    )
    return join("", parts)


def card(row: StatementRow, here: Finding | None = None) -> Html:
    """A claim with its verdict and its evidence, and what this machine found."""
    finding = row.finding
    claim = finding.claim
    evidence = Html()
    if finding.how != "counted" or finding.verdict != HOLDS:
        evidence = paragraph(finding.measured, "small")
    if here is not None:
        evidence += paragraph(fill("<b>Here {}.</b> {}", here.verdict, here.measured), "small")
    under = here.under if here is not None else finding.under
    title = ". ".join(words for words in (f"Stated for: {claim.conditions}", under) if words)
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
