"""The page of all statements in HTML: one file that loads nothing, sorted and filtered in the browser."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING

from phicoll.foundations.markup import STYLE, Html, code, digest, fill, join, page_head
from phicoll.papers.claims.curves import figure

if TYPE_CHECKING:
    from phicoll.papers.claims.rows import Report, StatementRow

__all__ = ["page"]

HEADS = (
    "claim",
    "paper",
    "statement",
    "how",
    "verdict",
    "what was found",
    "power",
    "what would change it",
    "command",
)
TITLE = "The papers' statements and their verdicts"


def page(report: Report) -> Html:
    """The whole page; its policy names the only script and style that run."""
    style, script = STYLE + part("page.css"), part("page.js")
    rows = list(report)
    menus = (
        menu("paper", dict.fromkeys(r.finding.claim.paper for r in rows)),
        menu("how", dict.fromkeys(r.finding.how for r in rows)),
        menu("verdict", dict.fromkeys(r.finding.verdict for r in rows)),
    )
    machines = ", ".join(f"{name} ({by})" for name, by in report.machines.items())
    return fill(
        "{head}<body><h1>{title}</h1><p>{summary}. Orders over seeds 1 to "
        "{seeds}; {machines}.</p>"
        '<form><input type="search" placeholder="words" aria-label="words">{menus} <output></output></form>'
        "<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><script>{script}</script></body></html>\n",
        head=page_head(TITLE, style, policy=f"script-src {digest(script)}"),
        title=TITLE,
        script=Html(script),
        summary=report.summary(),
        seeds=report.seeds,
        machines=machines or "no machine",
        menus=join(" ", menus),
        heads=join("", (fill('<th><button type="button">{}</button></th>', name) for name in HEADS)),
        rows=join("", map(line, rows)),
    )


def part(name: str) -> str:
    return files("phicoll.papers.claims").joinpath(name).read_text(encoding="utf-8")


def menu(name: str, values: Iterable[str]) -> Html:
    options = join("", (fill("<option>{}</option>", value) for value in values))
    return fill(
        '<label>{} <select name="{}"><option value="">all</option>{}</select></label>', name, name, options
    )


def line(row: StatementRow) -> Html:
    of = row.finding
    found = f"{of.measured} ({of.under})" if of.under else of.measured
    return fill(
        '<tr id="claim-{number}"><td>{number}</td><td data-is="paper">{paper}<br>section {section}</td>'
        '<td>{statement}<br><small>{conditions}</small></td><td data-is="how">{how}</td><td data-is="verdict">{verdict}</td>'
        "<td>{found}{figure}</td><td>{power}</td><td>{changes}</td><td>{command}</td></tr>",
        number=row.number,
        paper=of.claim.paper,
        section=of.claim.section,
        statement=of.claim.statement,
        conditions=of.claim.conditions,
        how=of.how,
        verdict=of.verdict,
        found=found,
        figure=figure(of.to_dict()["values"]),
        power=row.power,
        changes=row.changes,
        command=code(row.command) if row.command else "",
    )
