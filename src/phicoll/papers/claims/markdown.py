"""The part of docs/claims.md that is written from the report: a table for each paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phicoll.papers.claims.statement import PAPERS

if TYPE_CHECKING:
    from phicoll.papers.claims.rows import Report, StatementRow

__all__ = ["MARK", "table"]

#: What is written by people ends here.
MARK = "<!-- make claims writes what follows -->"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def table(report: Report) -> str:
    """All rows in Markdown, by paper."""
    machines = ", ".join(f"{name} (`{digest}`)" for name, digest in report.machines.items())
    lines = [
        "",
        "## All statements",
        "",
        f"{report.summary()}. Orders are over seeds 1 to {report.seeds}. Machines: {machines}.",
    ]
    for number, paper in PAPERS.items():
        lines += [
            "",
            f"### {number}: {paper}",
            "",
            "| claim | statement | verdict | what was found | power | what would change it |",
        ]
        lines += [
            "|---|---|---|---|---|---|",
            *(line(row) for row in report if row.number.startswith(number)),
        ]
    return "\n".join([*lines, ""])


def line(row: StatementRow) -> str:
    of = row.finding
    how = f"; {of.how}" if of.how != "none" else ""
    found = f"{of.measured} ({of.under})" if of.under else of.measured
    statement = f"{of.claim.statement} ({of.claim.section}; {of.claim.conditions})"
    return f"| {row.number} | {' | '.join(map(cell, (statement, f'**{of.verdict}**{how}', found, row.power, row.changes)))} |"
